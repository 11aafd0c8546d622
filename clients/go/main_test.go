package memlane_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"testing"
	"time"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/internal/memlanetest"
)

// callLimit is far above what any call takes here, so that a test that hangs fails.
const callLimit = 60 * time.Second

var (
	// target is the address of the one server of these tests.
	target string
	// plainTarget is a server in plain text and without credentials: the same one, unless it has TLS.
	plainTarget string
	// access are the options with which a client may do everything on it: none in plain text.
	access []memlane.Option
	// secured is set where the server has TLS and tokens.
	secured *memlanetest.Secured
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run starts the server: in plain text, or with MEMLANE_GO_TEST_SECURE=1 with TLS and tokens. Go's test cache sees
// neither this variable nor the server: run these tests with -count=1.
func run(m *testing.M) (int, error) {
	var settings map[string]string
	if os.Getenv("MEMLANE_GO_TEST_SECURE") == "1" {
		dir, err := os.MkdirTemp("", "memlane-go-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		ctx, cancel := context.WithTimeout(context.Background(), callLimit)
		defer cancel()
		if secured, err = memlanetest.Secure(ctx, dir); err != nil {
			return 0, err
		}
		token, err := secured.Token(
			ctx, "", "memory:read", "memory:write", "knowledge:write", "rules:write", "compliance", "admin",
		)
		if err != nil {
			return 0, err
		}
		settings = secured.Settings
		access = []memlane.Option{memlane.WithCACert(secured.CAFile), memlane.WithToken(token)}
	}
	server, err := memlanetest.Start(settings)
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	target, plainTarget = server.Address, server.Address
	if secured != nil {
		plain, err := memlanetest.Start(nil)
		if err != nil {
			return 0, err
		}
		defer plain.Stop()
		plainTarget = plain.Address
	}
	return m.Run(), nil
}

// dial gives a client that may do everything.
func dial(t testing.TB, options ...memlane.Option) *memlane.Client {
	t.Helper()
	return dialTo(t, target, options...)
}

func dialTo(t testing.TB, address string, options ...memlane.Option) *memlane.Client {
	t.Helper()
	client, err := memlane.Dial(address, append(append([]memlane.Option{}, access...), options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// dialOwn gives a client of a server of the test's own, in plain text, with these settings.
func dialOwn(t testing.TB, settings map[string]string) *memlane.Client {
	t.Helper()
	server, err := memlanetest.Start(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	client, err := memlane.Dial(server.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// proxied gives a proxy in front of the server.
func proxied(t testing.TB) *memlanetest.Proxy {
	t.Helper()
	proxy, err := memlanetest.NewProxy(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy
}

func limited(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	t.Cleanup(cancel)
	return ctx
}

// newUser is a user id that no other test has.
func newUser() string { return "客户-" + rand.Text() }
