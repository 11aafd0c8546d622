package memlane_test

import (
	"context"
	"errors"
	"maps"
	"sync/atomic"
	"testing"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/internal/memlanetest"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

func needSecured(t *testing.T) {
	t.Helper()
	if secured == nil {
		t.Skip("the server of this run is in plain text; MEMLANE_GO_TEST_SECURE=1 gives it TLS and tokens")
	}
}

func search(t *testing.T, user string, options ...memlane.Option) error {
	t.Helper()
	client, err := memlane.Dial(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.SearchMemories(limited(t), memlane.SearchText(user, "孩子"))
	return err
}

func TestCredentialsOpenWhatTheyAreMadeFor(t *testing.T) {
	needSecured(t)
	user := newUser()
	bound, err := secured.Token(limited(t), user, "memory:read")
	if err != nil {
		t.Fatal(err)
	}
	writer, err := secured.Token(limited(t), "", "memory:write")
	if err != nil {
		t.Fatal(err)
	}
	ca := memlane.WithCACert(secured.CAFile)
	for name, test := range map[string]struct {
		user    string
		options []memlane.Option
		want    error
	}{
		"its own user":      {user, []memlane.Option{ca, memlane.WithToken(bound)}, nil},
		"another user":      {newUser(), []memlane.Option{ca, memlane.WithToken(bound)}, memlane.ErrPermissionDenied},
		"a missing scope":   {user, []memlane.Option{ca, memlane.WithToken(writer)}, memlane.ErrPermissionDenied},
		"no token":          {user, []memlane.Option{ca}, memlane.ErrUnauthenticated},
		"no token in it":    {user, []memlane.Option{ca, memlane.WithToken("")}, memlane.ErrUnauthenticated},
		"a forged token":    {user, []memlane.Option{ca, memlane.WithToken(bound + "x")}, memlane.ErrUnauthenticated},
		"unknown authority": {user, []memlane.Option{memlane.WithTLS(), memlane.WithToken(bound)}, memlane.ErrUnavailable},
		"another name": {
			user, []memlane.Option{ca, memlane.WithServerName("bank.example"), memlane.WithToken(bound)},
			memlane.ErrUnavailable,
		},
		"plain text": {user, []memlane.Option{memlane.WithToken(bound)}, memlane.ErrUnavailable},
	} {
		if err := search(t, test.user, test.options...); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATokenSourceIsAskedForEachCall(t *testing.T) {
	needSecured(t)
	token, err := secured.Token(limited(t), "", "memory:read")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	broken := errors.New("the vault is sealed")
	client, err := memlane.Dial(target, memlane.WithCACert(secured.CAFile), memlane.WithTokenSource(
		func(context.Context) (string, error) {
			if asked.Add(1) == 3 {
				return "", broken
			}
			return token, nil
		},
	))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for call := range 4 {
		_, err := client.SearchMemories(limited(t), memlane.SearchText(newUser(), "孩子"))
		if (call == 2) != errors.Is(err, memlane.ErrUnauthenticated) || (call != 2 && err != nil) {
			t.Errorf("call %d: %v", call, err)
		}
	}
	if asked.Load() != 4 {
		t.Errorf("four calls asked %d times", asked.Load())
	}
}

func TestAClientCertificateIsACredential(t *testing.T) {
	needSecured(t)
	settings := maps.Clone(secured.Settings)
	maps.Copy(settings, map[string]string{
		"MEMLANE_SERVER__TLS_CLIENT_CA":   secured.CAFile,
		"MEMLANE_SERVER__TLS_CLIENT_AUTH": "required",
		"MEMLANE_AUTH__CLIENTS": `[{"common_name": "client", "tenant": "default",
			"scopes": ["memory:read", "memory:write"]}]`,
	})
	server, err := memlanetest.Start(settings)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	call := func(options ...memlane.Option) error {
		client, err := memlane.Dial(server.Address, options...)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		request := &memlanev1.CreateMemoryRequest{UserId: newUser(), Content: "有两个孩子"}
		_, err = client.CreateMemory(limited(t), request)
		return err
	}
	ca := memlane.WithCACert(secured.CAFile)
	if err := call(ca, memlane.WithMTLS(secured.ClientCertFile, secured.ClientKeyFile)); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if err := call(ca); !errors.Is(err, memlane.ErrUnavailable) {
		t.Errorf("without a certificate: %v", err)
	}
}
