package scenario

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	pb "github.com/memlane/memlane/clients/go/memlanev1"
)

// call is a session that holds nothing open.
type call func(ctx context.Context) error

func (c call) Call(ctx context.Context) error { return c(ctx) }
func (call) Close()                           {}

func openEcho(_ *Shared, connection *grpc.ClientConn) Session {
	client, request := pb.NewDiagnosticsServiceClient(connection), &pb.EchoRequest{}
	return call(func(ctx context.Context) error {
		_, err := client.Echo(ctx, request)
		return err
	})
}

func openHealth(_ *Shared, connection *grpc.ClientConn) Session {
	client, request := healthpb.NewHealthClient(connection), &healthpb.HealthCheckRequest{}
	return call(func(ctx context.Context) error {
		answer, err := client.Check(ctx, request)
		if err == nil && answer.Status != healthpb.HealthCheckResponse_SERVING {
			return status.Errorf(codes.Unavailable, "health is %v", answer.Status)
		}
		return err
	})
}

// input fills what a search looks for.
type input func(s *Shared, number uint64, request *pb.SearchMemoriesRequest)

func givenVector(s *Shared, number uint64, request *pb.SearchMemoriesRequest) {
	request.Input = &pb.SearchMemoriesRequest_EmbeddingF32{EmbeddingF32: s.vectors[number%vectorCount]}
}

func cachedText(_ *Shared, number uint64, request *pb.SearchMemoriesRequest) {
	request.Input = &pb.SearchMemoriesRequest_Query{Query: question("", number%CachedTextCount)}
}

func newText(s *Shared, number uint64, request *pb.SearchMemoriesRequest) {
	request.Input = &pb.SearchMemoriesRequest_Query{Query: question(s.options.Run+"-", number)}
}

// search gives the next search; users take turns, so that with more users than the server can hold all are cold.
func (s *Shared) search(fill input) *pb.SearchMemoriesRequest {
	number := s.searches.Add(1)
	users := s.options.Users
	request := &pb.SearchMemoriesRequest{UserId: users[number%uint64(len(users))], TopK: s.options.TopK}
	fill(s, number, request)
	return request
}

func openSearch(fill input) Opener {
	return func(s *Shared, connection *grpc.ClientConn) Session {
		client := pb.NewMemoryServiceClient(connection)
		return call(func(ctx context.Context) error {
			_, err := client.SearchMemories(ctx, s.search(fill))
			return err
		})
	}
}

func openBatch(s *Shared, connection *grpc.ClientConn) Session {
	client := pb.NewMemoryServiceClient(connection)
	return call(func(ctx context.Context) error {
		searches := make([]*pb.SearchMemoriesRequest, s.options.Batch)
		for i := range searches {
			searches[i] = s.search(givenVector)
		}
		answer, err := client.BatchSearchMemories(ctx, &pb.BatchSearchMemoriesRequest{Searches: searches})
		if err != nil {
			return err
		}
		if len(answer.Responses) != len(searches) {
			return fmt.Errorf("%d answers to %d searches", len(answer.Responses), len(searches))
		}
		for _, outcome := range answer.Responses {
			if err := failure(outcome.Status); err != nil {
				return err
			}
		}
		return nil
	})
}

// failure is nil for an unset status, which is success.
func failure(part *pb.Status) error {
	if part.GetCode() == 0 {
		return nil
	}
	return status.Error(codes.Code(part.GetCode()), part.GetMessage())
}

// stream keeps one StreamSearchMemories open and has one search under way on it.
type stream struct {
	shared *Shared
	client pb.MemoryServiceClient
	open   grpc.BidiStreamingClient[pb.StreamSearchMemoriesRequest, pb.StreamSearchMemoriesResponse]
	cancel context.CancelFunc
}

func openStream(s *Shared, connection *grpc.ClientConn) Session {
	return &stream{shared: s, client: pb.NewMemoryServiceClient(connection)}
}

func (s *stream) Call(ctx context.Context) error {
	if s.open == nil {
		// The stream outlives the call that begins it, so it cannot have that call's deadline.
		lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
		open, err := s.client.StreamSearchMemories(lasting)
		if err != nil {
			cancel()
			return err
		}
		s.open, s.cancel = open, cancel
	}
	stop := context.AfterFunc(ctx, s.cancel)
	err := s.exchange()
	if !stop() || err != nil {
		s.Close()
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && err != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	return err
}

func (s *stream) exchange() error {
	if err := s.open.Send(&pb.StreamSearchMemoriesRequest{Search: s.shared.search(givenVector)}); err != nil {
		// Send only says that the stream is over; the reason comes with the next message.
		if _, reason := s.open.Recv(); reason != nil {
			return reason
		}
		return err
	}
	answer, err := s.open.Recv()
	if err != nil {
		return err
	}
	return failure(answer.Status)
}

func (s *stream) Close() {
	if s.open != nil {
		_ = s.open.CloseSend()
		s.cancel()
		s.open = nil
	}
}

func openContext(s *Shared, connection *grpc.ClientConn) Session {
	client := pb.NewContextServiceClient(connection)
	return call(func(ctx context.Context) error {
		number := s.searches.Add(1)
		users := s.options.Users
		_, err := client.BuildContext(ctx, &pb.BuildContextRequest{
			UserId:           users[number%uint64(len(users))],
			SessionId:        s.options.SessionID,
			Input:            &pb.BuildContextRequest_Query{Query: question("", number%CachedTextCount)},
			TopK:             s.options.TopK,
			IncludeKnowledge: &s.options.Knowledge,
		})
		return err
	})
}

// openChurn makes a connection for each call: the dearest way to use a server.
func openChurn(s *Shared, _ *grpc.ClientConn) Session {
	return call(func(ctx context.Context) error {
		connection, err := s.dialer.Dial()
		if err != nil {
			return err
		}
		defer connection.Close()
		_, err = pb.NewMemoryServiceClient(connection).SearchMemories(ctx, s.search(givenVector))
		return err
	})
}
