package memlane_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

const tooBusy = "memlane: OVERLOADED: the server was too busy to read the call: try it again after a pause"

// notTooBusy tells how an error differs from that of a call that an overloaded server refused unread; empty = not.
func notTooBusy(err error) string {
	var failure *memlane.Error
	switch {
	case !errors.As(err, &failure):
		return fmt.Sprintf("%v is no *Error", err)
	case !errors.Is(err, memlane.ErrResourceExhausted) || status.Code(err) != codes.ResourceExhausted:
		return fmt.Sprintf("%v is no overload", err)
	case errors.Is(err, memlane.ErrCanceled) || errors.Is(err, context.Canceled):
		return fmt.Sprintf("%v is a cancellation", err)
	case failure.Code != codes.ResourceExhausted || failure.Reason != "OVERLOADED" || failure.RetryAfter != 0:
		return fmt.Sprintf("code %v, reason %q, retry after %v", failure.Code, failure.Reason, failure.RetryAfter)
	case err.Error() != tooBusy:
		return fmt.Sprintf("it reads %q", err)
	case status.Code(errors.Unwrap(err)) != codes.Canceled:
		return fmt.Sprintf("on the wire it was %v", errors.Unwrap(err))
	}
	return ""
}

// scripted gives a client of a server that does the same with every call, and the number of its calls.
func scripted(t *testing.T, answer grpc.StreamHandler) (*memlane.Client, *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(service any, stream grpc.ServerStream) error {
		calls.Add(1)
		return answer(service, stream)
	}))
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	client, err := memlane.Dial(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client, &calls
}

func chatOnce(ctx context.Context, client *memlane.Client) error {
	for _, err := range client.Chat(ctx, memlane.Turn("c-1", "s-1", "你好")) {
		if err != nil {
			return err
		}
	}
	return nil
}

func searchOverStream(ctx context.Context, client *memlane.Client) error {
	searches := slices.Values([]*memlanev1.SearchMemoriesRequest{memlane.SearchText("c-1", "孩子")})
	for outcome, err := range client.SearchEach(ctx, searches) {
		if err != nil {
			return err
		}
		if outcome.Err != nil {
			return outcome.Err
		}
	}
	return nil
}

var kindsOfCalls = map[string]func(context.Context, *memlane.Client) error{
	"read": func(ctx context.Context, client *memlane.Client) error {
		_, err := client.SearchMemories(ctx, memlane.SearchText("c-1", "孩子"))
		return err
	},
	"write": func(ctx context.Context, client *memlane.Client) error {
		_, err := client.CreateMemory(ctx, &memlanev1.CreateMemoryRequest{
			UserId: "c-1", Content: "有三个孩子", RequestId: "order-77",
		})
		return err
	},
	"stream of answers":  chatOnce,
	"stream of searches": searchOverStream,
}

func TestACallRefusedUnreadIsAnOverload(t *testing.T) {
	client, calls := scripted(t, func(any, grpc.ServerStream) error { return status.Error(codes.Canceled, "") })
	for name, call := range kindsOfCalls {
		t.Run(name, func(t *testing.T) {
			before := calls.Load()
			err := call(limited(t), client)
			if differs := notTooBusy(err); differs != "" {
				t.Error(differs)
			}
			if tries := calls.Load() - before; tries != 1 {
				t.Errorf("it was tried %d times", tries)
			}
			var failure *memlane.Error
			if errors.As(err, &failure); name == "write" && failure.RequestID != "order-77" {
				t.Errorf("the request id is %q", failure.RequestID)
			}
		})
	}
}

func TestACancellationByTheCallerStaysOne(t *testing.T) {
	began := make(chan struct{}, 1)
	client, _ := scripted(t, func(_ any, stream grpc.ServerStream) error {
		began <- struct{}{}
		<-stream.Context().Done()
		return nil
	})
	for name, call := range kindsOfCalls {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(limited(t))
			go func() {
				<-began
				cancel()
			}()
			err := call(ctx, client)
			if !errors.Is(err, memlane.ErrCanceled) || !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
			if errors.Is(err, memlane.ErrResourceExhausted) || status.Code(err) != codes.Canceled {
				t.Errorf("%v is an overload", err)
			}
		})
	}
	stream, err := client.StreamSearchMemories(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	stream.Close()
	if _, err := stream.Recv(); !errors.Is(err, memlane.ErrCanceled) {
		t.Errorf("of a stream that was closed: %v", err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	for name, call := range kindsOfCalls {
		if err := call(limited(t), client); !errors.Is(err, memlane.ErrCanceled) {
			t.Errorf("%s on a client that was closed: %v", name, err)
		}
	}
}

func TestAStreamThatIsCutOffWasRead(t *testing.T) {
	client, _ := scripted(t, func(_ any, stream grpc.ServerStream) error {
		event := &memlanev1.ChatResponse{Event: &memlanev1.ChatResponse_Delta{Delta: "半句"}}
		if err := stream.SendMsg(event); err != nil {
			return err
		}
		return status.Error(codes.Canceled, "cut off")
	})
	if err := chatOnce(limited(t), client); !errors.Is(err, memlane.ErrCanceled) {
		t.Errorf("%v", err)
	}
}

func TestACancellationWithAReasonIsTheServersOwnWord(t *testing.T) {
	client, _ := scripted(t, func(any, grpc.ServerStream) error {
		told, err := status.New(codes.Canceled, "told").WithDetails(
			&errdetails.ErrorInfo{Reason: "CANCELLED", Domain: "memlane.io"},
		)
		if err != nil {
			return err
		}
		return told.Err()
	})
	_, err := client.SearchMemories(limited(t), memlane.SearchText("c-1", "孩子"))
	if !errors.Is(err, memlane.ErrCanceled) || err.Error() != "memlane: CANCELLED: told" {
		t.Errorf("%v", err)
	}
}

// A real server with hardly any room, and more calls at once than it reads.
func TestAFloodMeetsAnswersAndOverloadsOnly(t *testing.T) {
	const callers, callsEach = 64, 32
	client := dialOwn(t, map[string]string{"MEMLANE_SERVER__MAX_WAITING_CALLS": "2"})
	echo := func(ctx context.Context, client *memlane.Client) error {
		_, err := client.Echo(ctx, &memlanev1.EchoRequest{Payload: []byte("突发 burst")})
		return err
	}
	for name, call := range map[string]func(context.Context, *memlane.Client) error{
		"call": echo, "stream of searches": searchOverStream,
	} {
		t.Run(name, func(t *testing.T) {
			ctx := limited(t)
			var answered, refused atomic.Int64
			var group sync.WaitGroup
			for range callers {
				group.Go(func() {
					for range callsEach {
						err := call(ctx, client)
						if err == nil {
							answered.Add(1)
						} else if differs := notTooBusy(err); differs == "" {
							refused.Add(1)
						} else {
							t.Error(differs)
						}
					}
				})
			}
			group.Wait()
			if answered.Load()+refused.Load() != callers*callsEach || answered.Load() == 0 || refused.Load() == 0 {
				t.Errorf("%d were answered, %d refused", answered.Load(), refused.Load())
			}
			t.Logf("%d were answered, %d refused", answered.Load(), refused.Load())
			if err := call(ctx, client); err != nil {
				t.Errorf("after the flood: %v", err)
			}
		})
	}
}
