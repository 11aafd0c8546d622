package memlane_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

// patient makes tries until long after a connection that was refused is made anew.
var patient = memlane.WithRetry(memlane.RetryPolicy{
	MaxAttempts: 5, InitialBackoff: time.Second, MaxBackoff: 2 * time.Second,
})

func TestARefusedConnectionIsTriedAgain(t *testing.T) {
	for name, call := range map[string]func(*memlane.Client) error{
		"read": func(client *memlane.Client) error {
			_, err := client.SearchMemories(limited(t), memlane.SearchText(newUser(), "孩子"))
			return err
		},
		"write": func(client *memlane.Client) error {
			_, err := client.Remember(limited(t), memlane.RememberFacts(newUser(), "Prefers e-mail"))
			return err
		},
		"stream": func(client *memlane.Client) error {
			export := &memlanev1.ExportUserRequest{UserId: newUser(), Operator: "ops", Reason: "审计"}
			for _, err := range client.ExportUser(limited(t), export) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := proxied(t)
			proxy.RefuseNext(1)
			if err := call(dialTo(t, proxy.Address, patient)); err != nil {
				t.Error(err)
			}
			if proxy.Refused() != 1 {
				t.Errorf("%d connections were refused", proxy.Refused())
			}
		})
	}
}

func TestWithoutRetriesTheFirstFailureStands(t *testing.T) {
	proxy := proxied(t)
	proxy.RefuseNext(1000)
	client := dialTo(t, proxy.Address, memlane.WithRetry(memlane.RetryPolicy{MaxAttempts: 1}))
	_, err := client.Echo(limited(t), &memlanev1.EchoRequest{})
	if !errors.Is(err, memlane.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// The answer of a write is lost after the server has done it: the second try must not do it again.
func TestAWriteWhoseAnswerIsLostHappensOnce(t *testing.T) {
	proxy := proxied(t)
	client, witness := dialTo(t, proxy.Address, patient), dial(t)
	if _, err := client.Echo(limited(t), &memlanev1.EchoRequest{}); err != nil {
		t.Fatal(err)
	}
	user := newUser()
	// More than gRPC keeps for another try by itself (256 KiB): about 1 MiB of context around the one fact.
	said := []*memlanev1.Message{memlane.User("我有两个孩子"), memlane.Assistant("好的")}
	for range 30 {
		said = append(said, memlane.Assistant(strings.Repeat("利率", 5_000)))
	}
	proxy.Mute()
	type outcome struct {
		answer *memlanev1.RememberResponse
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		answer, err := client.Remember(limited(t), memlane.RememberMessages(user, said...))
		done <- outcome{answer, err}
	}()
	for len(listed(t, witness, user)) == 0 {
		select {
		case early := <-done:
			t.Fatalf("the call ended without its answer: %v", early.err)
		default:
		}
	}
	proxy.Cut()
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	operations := got.answer.GetOperations()
	if len(operations) != 1 || operations[0].GetAction() != memlanev1.Action_ACTION_ADD {
		t.Errorf("the repeat was not given the first answer: %v", operations)
	}
	if texts := listed(t, witness, user); len(texts) != 1 {
		t.Errorf("it happened more than once: %q", texts)
	}
}

func TestARepeatWithTheSameRequestIDGivesTheFirstAnswer(t *testing.T) {
	client := dial(t)
	user := newUser()
	request := &memlanev1.CreateMemoryRequest{UserId: user, Content: "住在杭州", RequestId: "order-78"}
	var ids []string
	for range 2 {
		answer, err := client.CreateMemory(limited(t), request)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, answer.GetMemory().GetMemoryId())
	}
	if ids[0] != ids[1] {
		t.Errorf("two memories were made: %q", ids)
	}
	// Without an id of the caller's, two calls are two writes.
	create(t, client, user, "住在杭州")
	if texts := listed(t, client, user); len(texts) != 2 {
		t.Errorf("there are %q", texts)
	}
}
