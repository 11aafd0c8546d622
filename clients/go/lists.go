package memlane

import (
	"context"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// PageRequest is a request of one of the calls that give pages.
type PageRequest interface {
	proto.Message
	GetPageToken() string
}

// PageResponse is an answer of one of the calls that give pages.
type PageResponse interface {
	proto.Message
	GetNextPageToken() string
}

// All gives every item of a list call, over all its pages, from that of the request on. The error comes last.
//
//	list := &memlanev1.ListMemoriesRequest{UserId: "c-1001"}
//	for memory, err := range memlane.All(ctx, client.ListMemories, list, (*memlanev1.ListMemoriesResponse).GetMemories) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(memory.GetContent())
//	}
func All[Q PageRequest, A PageResponse, T any](
	ctx context.Context,
	list func(context.Context, Q, ...grpc.CallOption) (A, error),
	request Q,
	items func(A) []T,
	opts ...grpc.CallOption,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		next := request
		for {
			page, err := list(ctx, next, opts...)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range items(page) {
				if !yield(item, nil) {
					return
				}
			}
			token := page.GetNextPageToken()
			if token == "" {
				return
			}
			next = shallowCopy(request)
			fields := next.ProtoReflect().Descriptor().Fields()
			next.ProtoReflect().Set(fields.ByName("page_token"), protoreflect.ValueOfString(token))
		}
	}
}
