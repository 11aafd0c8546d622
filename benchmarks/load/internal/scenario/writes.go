package scenario

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	pb "github.com/memlane/memlane/clients/go/memlanev1"
)

// writer gives the user whose turn it is and the number of the write.
func (s *Shared) writer() (string, uint64) {
	number := s.writes.Add(1)
	users := s.options.WriteUsers
	return users[number%uint64(len(users))], number
}

func (s *Shared) requestID(number uint64) string {
	return fmt.Sprintf("load-%s-%d", s.options.Run, number)
}

// openRemember states facts: each is compared with what is known about its user, and decided on.
func openRemember(s *Shared, connection *grpc.ClientConn) Session {
	client := pb.NewMemoryServiceClient(connection)
	return call(func(ctx context.Context) error {
		user, number := s.writer()
		stated := make([]*pb.Fact, s.options.Facts)
		for i := range stated {
			stated[i] = &pb.Fact{Content: fact(number*uint64(len(stated)) + uint64(i))}
		}
		_, err := client.Remember(ctx, &pb.RememberRequest{
			UserId:    user,
			Source:    &pb.RememberRequest_Facts{Facts: &pb.FactList{Facts: stated}},
			RequestId: s.requestID(number),
		})
		return err
	})
}

func openCreate(s *Shared, connection *grpc.ClientConn) Session {
	client := pb.NewMemoryServiceClient(connection)
	return call(func(ctx context.Context) error {
		user, number := s.writer()
		_, err := client.CreateMemory(ctx, &pb.CreateMemoryRequest{
			UserId: user, Content: fact(number), RequestId: s.requestID(number),
		})
		return err
	})
}
