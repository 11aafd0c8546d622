package memlane

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/memlane/memlane/clients/go/memlanev1"
)

// caller is the connection that the stubs of a client use: it adds to each call what is the same for all of them.
type caller struct {
	transport *grpc.ClientConn
	timeouts  Timeouts
	// Nil where reads need not see this client's writes.
	freshness *freshness
}

var _ grpc.ClientConnInterface = (*caller)(nil)

// Invoke makes a call with one answer.
func (c *caller) Invoke(ctx context.Context, path string, request, answer any, opts ...grpc.CallOption) error {
	call := c.begin(methods[path], request)
	limited, cancel := c.withDeadline(ctx, call.method)
	defer cancel()
	if err := c.transport.Invoke(limited, path, call.request, answer, opts...); err != nil {
		return c.unanswered(ctx, err, call.requestID)
	}
	call.answered(answer)
	return nil
}

// NewStream begins a call whose requests or answers are a stream.
func (c *caller) NewStream(
	ctx context.Context, desc *grpc.StreamDesc, path string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	rpc := methods[path]
	limited, cancel := c.withDeadline(ctx, rpc)
	below, err := c.transport.NewStream(limited, desc, path, opts...)
	if err != nil {
		cancel()
		return nil, c.unanswered(ctx, err, "")
	}
	return &stream{
		ClientStream: below, caller: c, method: rpc, ctx: ctx, cancel: cancel,
		call: &underWay{caller: c, method: rpc},
	}, nil
}

// unanswered is the error of a call of which no answer has come. ctx is that of its caller.
func (c *caller) unanswered(ctx context.Context, err error, requestID string) error {
	failure := fromRPC(err, requestID)
	if errors.Is(ctx.Err(), context.Canceled) || c.transport.GetState() == connectivity.Shutdown {
		return failure
	}
	return refusedUnread(failure)
}

func (c *caller) withDeadline(ctx context.Context, rpc *method) (context.Context, context.CancelFunc) {
	timeout := c.timeouts.of(rpc.pace)
	if _, has := ctx.Deadline(); has || timeout == NoTimeout {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}

// stream is a call under way, from its first request to its end.
type stream struct {
	grpc.ClientStream
	caller *caller
	method *method
	// The context that the caller gave: done only if the caller is.
	ctx    context.Context
	cancel context.CancelFunc
	// An answer has come, or the call has ended.
	answered bool

	// Guards call, because one goroutine may send while another receives.
	mutex sync.Mutex
	// Of the only request; of a stream of requests the last one.
	call *underWay
}

// SendMsg sends one request.
func (s *stream) SendMsg(request any) error {
	call := s.caller.begin(s.method, request)
	s.mutex.Lock()
	s.call = call
	s.mutex.Unlock()
	// Never CANCELLED of the server's: that is io.EOF here, and RecvMsg gives the cause.
	return fromRPC(s.ClientStream.SendMsg(call.request), call.requestID)
}

// RecvMsg receives one answer; io.EOF at the end of a stream that succeeded.
func (s *stream) RecvMsg(answer any) error {
	err := s.ClientStream.RecvMsg(answer)
	s.mutex.Lock()
	call := s.call
	s.mutex.Unlock()
	unanswered := !s.answered
	s.answered = true
	switch {
	case err == nil:
		call.answered(answer)
		return nil
	case unanswered && !errors.Is(err, io.EOF):
		err = s.caller.unanswered(s.ctx, err, call.requestID)
	default:
		err = fromRPC(err, call.requestID)
	}
	s.cancel()
	return err
}

// underWay is one call from its request to its answer.
type underWay struct {
	caller    *caller
	method    *method
	request   any
	requestID string
	// The caller gave the request id itself: the answer may be that of an earlier call.
	replay bool
	scopes []string
	// The read asks for full consistency, because it could not be told which of several writes came last.
	settles bool
	began   int64
}

// begin completes a request. The caller's own message stays as it is.
func (c *caller) begin(rpc *method, request any) *underWay {
	call := &underWay{caller: c, method: rpc, request: request}
	given, ok := request.(proto.Message)
	if !ok {
		return call
	}
	if rpc.requestID != nil {
		named := request.(interface{ GetRequestId() string })
		call.requestID = named.GetRequestId()
		call.replay = call.requestID != ""
	}
	var changes changes
	if rpc.requestID != nil && call.requestID == "" {
		call.requestID = rand.Text()
		changes = append(changes, change{rpc.requestID, protoreflect.ValueOfString(call.requestID)})
	}
	if c.freshness != nil {
		call.scopes = rpc.scopes(request)
		if rpc.consistency != nil && !given.ProtoReflect().Has(rpc.consistency) {
			if wanted := c.wanted(rpc, call.scopes); wanted != nil {
				call.settles = wanted.GetFullyConsistent()
				changes = append(changes, change{rpc.consistency, protoreflect.ValueOfMessage(wanted.ProtoReflect())})
			}
		}
		// Last: a write that began before this has no place among those that this call must see.
		call.began = c.freshness.begin()
	}
	switch given := given.(type) {
	case *memlanev1.BatchSearchMemoriesRequest:
		call.request = c.freshBatch(given)
	case *memlanev1.StreamSearchMemoriesRequest:
		call.request = c.freshSearchOfStream(given)
	default:
		call.request = changes.applied(given)
	}
	return call
}

func (c *caller) wanted(rpc *method, scopes []string) *memlanev1.Consistency {
	if rpc.scope == scopeEverything {
		return FullyConsistent()
	}
	return c.freshness.wanted(scopes...)
}

// freshSearch is a search that sees what this client wrote, the search itself where it does already.
func (c *caller) freshSearch(search *memlanev1.SearchMemoriesRequest) *memlanev1.SearchMemoriesRequest {
	if c.freshness == nil || search == nil || search.Consistency != nil {
		return search
	}
	wanted := c.freshness.wanted(search.GetUserId())
	if wanted == nil {
		return search
	}
	fresh := shallowCopy(search)
	fresh.Consistency = wanted
	return fresh
}

func (c *caller) freshBatch(batch *memlanev1.BatchSearchMemoriesRequest) *memlanev1.BatchSearchMemoriesRequest {
	fresh := shallowCopy(batch)
	fresh.Searches = make([]*memlanev1.SearchMemoriesRequest, len(batch.GetSearches()))
	for i, search := range batch.GetSearches() {
		fresh.Searches[i] = c.freshSearch(search)
	}
	return fresh
}

func (c *caller) freshSearchOfStream(
	request *memlanev1.StreamSearchMemoriesRequest,
) *memlanev1.StreamSearchMemoriesRequest {
	search := c.freshSearch(request.GetSearch())
	if search == request.GetSearch() {
		return request
	}
	fresh := shallowCopy(request)
	fresh.Search = search
	return fresh
}

// answered takes note of what an answer says about the state that was written or read.
func (u *underWay) answered(answer any) {
	fresh := u.caller.freshness
	if fresh == nil {
		return
	}
	if token := writtenAt(answer).GetToken(); token != "" {
		scopes := u.scopes
		if named, ok := u.request.(interface{ GetUserId() string }); ok && len(scopes) == 0 {
			scopes = []string{named.GetUserId()}
		}
		// A read that tells of a write (an ingestion), or a repeat under the caller's own request id, may tell of an
		// old one.
		replay := u.replay || u.method.requestID == nil
		for _, scope := range scopes {
			fresh.wrote(scope, token, u.began, replay)
		}
		return
	}
	if u.settles {
		fresh.read(u.scopes, readAt(answer).GetToken(), u.began)
	}
}

func writtenAt(answer any) *memlanev1.ConsistencyToken {
	switch answer := answer.(type) {
	case *memlanev1.ChatResponse:
		return answer.GetDone().GetWrittenAt()
	case interface {
		GetWrittenAt() *memlanev1.ConsistencyToken
	}:
		return answer.GetWrittenAt()
	}
	return nil
}

func readAt(answer any) *memlanev1.ConsistencyToken {
	switch answer := answer.(type) {
	case *memlanev1.ExportUserResponse:
		return answer.GetSummary().GetReadAt()
	case interface {
		GetReadAt() *memlanev1.ConsistencyToken
	}:
		return answer.GetReadAt()
	}
	return nil
}

// change is a field of a request that the client fills in.
type change struct {
	field protoreflect.FieldDescriptor
	value protoreflect.Value
}

type changes []change

// applied is the message itself where there is nothing to change, otherwise a changed copy.
func (c changes) applied(given proto.Message) proto.Message {
	if len(c) == 0 {
		return given
	}
	changed := shallowCopy(given)
	for _, one := range c {
		changed.ProtoReflect().Set(one.field, one.value)
	}
	return changed
}

// shallowCopy shares the messages, lists and maps of the original; only its own fields may be set.
func shallowCopy[M proto.Message](given M) M {
	from := given.ProtoReflect()
	to := from.New()
	from.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		to.Set(field, value)
		return true
	})
	to.SetUnknown(from.GetUnknown())
	return to.Interface().(M)
}
