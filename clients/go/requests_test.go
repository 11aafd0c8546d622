package memlane_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

// recorder keeps the requests as they leave the client; they go on to the real server.
type recorder struct {
	mutex    sync.Mutex
	requests []proto.Message
}

func (r *recorder) options() memlane.Option {
	return memlane.WithDialOptions(
		grpc.WithUnaryInterceptor(func(
			ctx context.Context, path string, request, answer any, conn *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
		) error {
			r.add(request)
			return invoke(ctx, path, request, answer, conn, opts...)
		}),
		grpc.WithStreamInterceptor(func(
			ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, path string,
			open grpc.Streamer, opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			stream, err := open(ctx, desc, conn, path, opts...)
			return recordedStream{stream, r}, err
		}),
	)
}

func (r *recorder) add(request any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.requests = append(r.requests, request.(proto.Message))
}

// last is the newest request.
func (r *recorder) last() proto.Message {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.requests[len(r.requests)-1]
}

type recordedStream struct {
	grpc.ClientStream
	recorder *recorder
}

func (s recordedStream) SendMsg(request any) error {
	s.recorder.add(request)
	return s.ClientStream.SendMsg(request)
}

func asked(request any) string {
	consistency := request.(interface {
		GetConsistency() *memlanev1.Consistency
	}).GetConsistency()
	switch {
	case consistency.GetFullyConsistent():
		return "full"
	case consistency.GetMinimizeLatency():
		return "latency"
	case consistency.GetAtLeastAsFresh() != nil:
		return "token"
	}
	return "nothing"
}

func TestWhatReadsAskFor(t *testing.T) {
	seen := &recorder{}
	client := dial(t, seen.options())
	writer, other := newUser(), newUser()
	search := func(user string) *memlanev1.SearchMemoriesRequest { return memlane.SearchText(user, "孩子") }
	check := func(what, want string, call func() error) {
		t.Helper()
		if err := call(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got := asked(seen.last()); got != want {
			t.Errorf("%s asks for %s, not for %s", what, got, want)
		}
	}
	single := func(request *memlanev1.SearchMemoriesRequest) func() error {
		return func() error {
			_, err := client.SearchMemories(limited(t), request)
			return err
		}
	}
	check("a search before any write", "nothing", single(search(writer)))
	create(t, client, writer, "有两个孩子")
	check("a search after a write", "token", single(search(writer)))
	check("a search of another user", "nothing", single(search(other)))
	own := search(writer)
	own.Consistency = memlane.MinimizeLatency()
	check("a search with a wish of its own", "latency", single(own))
	check("a context after a write", "token", func() error {
		_, err := client.BuildContext(limited(t), memlane.ContextFor(writer, "", "孩子"))
		return err
	})
	check("a list", "full", func() error {
		_, err := client.ListMemories(limited(t), &memlanev1.ListMemoriesRequest{UserId: other})
		return err
	})
	check("a check of the audit log", "full", func() error {
		_, err := client.VerifyAuditLog(limited(t), &memlanev1.VerifyAuditLogRequest{})
		return err
	})
	check("rules before they were put", "nothing", func() error {
		_, err := client.GetRules(limited(t), &memlanev1.GetRulesRequest{})
		return err
	})
	if _, err := client.PutRules(limited(t), memlane.Rules("不承诺收益。", "Never promise returns.")); err != nil {
		t.Fatal(err)
	}
	check("rules after they were put", "token", func() error {
		got, err := client.GetRules(limited(t), &memlanev1.GetRulesRequest{})
		if rules := got.GetRuleSet().GetRules(); err == nil && len(rules) != 2 {
			t.Errorf("the rules are %q", rules)
		}
		return err
	})
	check("an export", "token", func() error {
		request := &memlanev1.ExportUserRequest{UserId: writer, Operator: "ops", Reason: "审计"}
		for _, err := range client.ExportUser(limited(t), request) {
			if err != nil {
				return err
			}
		}
		return nil
	})

	searches := []*memlanev1.SearchMemoriesRequest{search(writer), search(other), own}
	want := []string{"token", "nothing", "latency"}
	if _, err := client.BatchSearchMemories(limited(t), searches); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range seen.last().(*memlanev1.BatchSearchMemoriesRequest).GetSearches() {
		got = append(got, asked(one))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the searches of a batch ask for %q", got)
	}
	got = nil
	for outcome, err := range client.SearchEach(limited(t), slices.Values(searches)) {
		if err != nil || outcome.Err != nil {
			t.Fatal(err, outcome.Err)
		}
	}
	for _, one := range seen.requests[len(seen.requests)-3:] {
		got = append(got, asked(one.(*memlanev1.StreamSearchMemoriesRequest).GetSearch()))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the searches of a stream ask for %q", got)
	}
}

func TestWithoutReadYourWritesNothingIsAsked(t *testing.T) {
	seen := &recorder{}
	client := dial(t, seen.options(), memlane.WithoutReadYourWrites())
	user := newUser()
	create(t, client, user, "有两个孩子")
	if _, err := client.SearchMemories(limited(t), memlane.SearchText(user, "孩子")); err != nil {
		t.Fatal(err)
	}
	if got := asked(seen.last()); got != "nothing" {
		t.Errorf("a search asks for %s", got)
	}
	if _, err := client.ListMemories(limited(t), &memlanev1.ListMemoriesRequest{UserId: user}); err != nil {
		t.Fatal(err)
	}
	if got := asked(seen.last()); got != "nothing" {
		t.Errorf("a list asks for %s", got)
	}
}

func TestEveryWriteHasARequestID(t *testing.T) {
	seen := &recorder{}
	client := dial(t, seen.options())
	user := newUser()
	ids := map[string]bool{}
	for range 3 {
		create(t, client, user, "有两个孩子")
		ids[seen.last().(*memlanev1.CreateMemoryRequest).GetRequestId()] = true
	}
	if len(ids) != 3 || ids[""] {
		t.Errorf("three writes have the ids %v", ids)
	}
	// Also the request of a stream, which is sent by another way.
	for range client.Chat(limited(t), memlane.Turn(user, "s-1", "你好")) {
		break
	}
	if id := seen.last().(*memlanev1.ChatRequest).GetRequestId(); id == "" || ids[id] {
		t.Errorf("the turn has the id %q", id)
	}
}
