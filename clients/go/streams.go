package memlane

import (
	"context"
	"errors"
	"io"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/memlane/memlane/clients/go/memlanev1"
)

// SearchOutcome is the outcome of one search of a batch or stream: an answer or an error.
type SearchOutcome struct {
	// The mark of the search; only in streams.
	CorrelationID string
	// Nil where the search failed.
	Response *memlanev1.SearchMemoriesResponse
	// An [*Error]; nil where the search succeeded.
	Err error
}

// BatchSearchMemories makes many searches, also of many users, in one call. There is one outcome per search, in their
// order: one that fails does not fail the others. The error is that of the call as a whole.
func (c *Client) BatchSearchMemories(
	ctx context.Context, searches []*memlanev1.SearchMemoriesRequest, opts ...grpc.CallOption,
) ([]SearchOutcome, error) {
	request := &memlanev1.BatchSearchMemoriesRequest{Searches: searches}
	answer, err := c.MemoryServiceClient.BatchSearchMemories(ctx, request, opts...)
	if err != nil {
		return nil, err
	}
	outcomes := make([]SearchOutcome, len(answer.GetResponses()))
	for i, one := range answer.GetResponses() {
		outcomes[i] = SearchOutcome{Response: one.GetResponse(), Err: StatusError(one.GetStatus())}
	}
	return outcomes, nil
}

// SearchStream is an open stream of searches: the least latency per search. One goroutine may send while another
// receives; neither may be done by two at once.
type SearchStream struct {
	stream grpc.BidiStreamingClient[
		memlanev1.StreamSearchMemoriesRequest, memlanev1.StreamSearchMemoriesResponse,
	]
	cancel context.CancelFunc
}

// StreamSearchMemories opens a stream of searches. It has no deadline but that of ctx, and is not begun anew when the
// connection is lost. Close it, or receive until io.EOF.
func (c *Client) StreamSearchMemories(ctx context.Context, opts ...grpc.CallOption) (*SearchStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	opened, err := c.MemoryServiceClient.StreamSearchMemories(ctx, opts...)
	if err != nil {
		cancel()
		return nil, err
	}
	return &SearchStream{stream: opened, cancel: cancel}, nil
}

// Send sends one search. The mark may be empty; it comes back with the outcome. An error is io.EOF where the stream
// has broken: Recv then gives the cause.
func (s *SearchStream) Send(correlationID string, search *memlanev1.SearchMemoriesRequest) error {
	return s.stream.Send(&memlanev1.StreamSearchMemoriesRequest{CorrelationId: correlationID, Search: search})
}

// CloseSend says that no more searches come. Outcomes of those that were sent may still be received.
func (s *SearchStream) CloseSend() error { return s.stream.CloseSend() }

// Recv gives the outcome of the next search, in the order in which they were sent. A search that failed is an outcome
// with an error, and the stream goes on. The error of Recv is io.EOF at the end, otherwise that of the whole stream.
func (s *SearchStream) Recv() (SearchOutcome, error) {
	answer, err := s.stream.Recv()
	if err != nil {
		s.cancel()
		return SearchOutcome{}, err
	}
	return SearchOutcome{
		CorrelationID: answer.GetCorrelationId(),
		Response:      answer.GetResponse(),
		Err:           StatusError(answer.GetStatus()),
	}, nil
}

// Close ends the stream at once.
func (s *SearchStream) Close() { s.cancel() }

// SearchEach makes each of the searches over one stream and gives their outcomes in order, while further searches are
// being sent. The searches are taken in a goroutine of its own, up to the end or to where the loop is left. The error
// of the loop is that of the whole stream and comes last; that of one search stands in its outcome.
//
//	for outcome, err := range client.SearchEach(ctx, slices.Values(searches)) {
//		if err != nil {
//			return err
//		}
//		...
//	}
func (c *Client) SearchEach(
	ctx context.Context, searches iter.Seq[*memlanev1.SearchMemoriesRequest], opts ...grpc.CallOption,
) iter.Seq2[SearchOutcome, error] {
	return func(yield func(SearchOutcome, error) bool) {
		open, err := c.StreamSearchMemories(ctx, opts...)
		if err != nil {
			yield(SearchOutcome{}, err)
			return
		}
		defer open.Close()
		go func() {
			for search := range searches {
				if open.Send("", search) != nil {
					// Recv gives the cause.
					return
				}
			}
			if open.CloseSend() != nil {
				open.Close()
			}
		}()
		for {
			outcome, err := open.Recv()
			if errors.Is(err, io.EOF) || !yield(outcome, err) || err != nil {
				return
			}
		}
	}
}

// Chat is one turn of the assistant: a context, then delta after delta, then done. The call is made anew each time
// that the sequence is ranged over, and ends when the loop is left. An error comes last; so does one where the
// stream ended before its done, which means that the turn did not take place.
//
//	for event, err := range client.Chat(ctx, memlane.Turn("c-1001", "s-7", "帮我看看新的方案")) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(event.GetDelta())
//	}
func (c *Client) Chat(
	ctx context.Context, request *memlanev1.ChatRequest, opts ...grpc.CallOption,
) iter.Seq2[*memlanev1.ChatResponse, error] {
	return messages(
		ctx,
		func(ctx context.Context) (grpc.ServerStreamingClient[memlanev1.ChatResponse], error) {
			return c.ContextServiceClient.Chat(ctx, request, opts...)
		},
		func(event *memlanev1.ChatResponse) bool { return event.GetDone() != nil },
		"the turn ended before it was done",
	)
}

// ExportUser gives everything that is kept about one user, record by record; the last is the summary. The call is made
// anew each time that the sequence is ranged over, and ends when the loop is left. An error comes last; so does one
// where the stream ended before its summary: an export is never silently short.
func (c *Client) ExportUser(
	ctx context.Context, request *memlanev1.ExportUserRequest, opts ...grpc.CallOption,
) iter.Seq2[*memlanev1.ExportUserResponse, error] {
	return messages(
		ctx,
		func(ctx context.Context) (grpc.ServerStreamingClient[memlanev1.ExportUserResponse], error) {
			return c.ComplianceServiceClient.ExportUser(ctx, request, opts...)
		},
		func(record *memlanev1.ExportUserResponse) bool { return record.GetSummary() != nil },
		"the export ended before its summary",
	)
}

// messages is a stream of answers as a sequence. isLast knows the message that every complete stream ends with.
func messages[M any](
	ctx context.Context,
	open func(context.Context) (grpc.ServerStreamingClient[M], error),
	isLast func(*M) bool,
	incomplete string,
) iter.Seq2[*M, error] {
	return func(yield func(*M, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		opened, err := open(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		complete := false
		for {
			message, err := opened.Recv()
			switch {
			case errors.Is(err, io.EOF) && complete:
				return
			case errors.Is(err, io.EOF):
				yield(nil, &Error{Code: codes.Internal, Message: incomplete})
				return
			case err != nil:
				yield(nil, err)
				return
			}
			complete = isLast(message)
			if !yield(message, nil) {
				return
			}
		}
	}
}
