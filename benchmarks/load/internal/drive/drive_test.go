package drive

import (
	"context"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/memlane/memlane/benchmarks/load/internal/connect"
	"github.com/memlane/memlane/benchmarks/load/internal/scenario"
	pb "github.com/memlane/memlane/clients/go/memlanev1"
)

// server answers health and echo on a real socket; `gate` may hold an answer back.
type server struct {
	healthpb.UnimplementedHealthServer
	pb.UnimplementedDiagnosticsServiceServer
	gate   func(ctx context.Context) error
	health atomic.Int64
	echoes atomic.Int64
}

func (s *server) Check(
	ctx context.Context, _ *healthpb.HealthCheckRequest,
) (*healthpb.HealthCheckResponse, error) {
	s.health.Add(1)
	if s.gate != nil {
		if err := s.gate(ctx); err != nil {
			return nil, err
		}
	}
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_SERVING}, nil
}

func (s *server) Echo(context.Context, *pb.EchoRequest) (*pb.EchoResponse, error) {
	s.echoes.Add(1)
	return &pb.EchoResponse{}, nil
}

// load serves `s` and returns a load on it.
func load(t *testing.T, s *server, plan string, connections int) *Load {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serving := grpc.NewServer()
	healthpb.RegisterHealthServer(serving, s)
	pb.RegisterDiagnosticsServiceServer(serving, s)
	go func() { _ = serving.Serve(listener) }()
	t.Cleanup(serving.Stop)
	dialer, err := connect.NewDialer(connect.Target{Address: listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	made := &Load{Timeout: 10 * time.Second, Seed: 1, Shared: scenario.NewShared(scenario.Options{}, dialer)}
	if made.Plan, err = ParsePlan(plan); err != nil {
		t.Fatal(err)
	}
	for range connections {
		connection, err := dialer.Dial()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		made.Connections = append(made.Connections, connection)
	}
	return made
}

func TestOpenLoopBeginsEveryCallThatIsDue(t *testing.T) {
	s := &server{}
	const perSecond, window = 400.0, 300 * time.Millisecond
	result := load(t, s, "health", 2).Open(t.Context(), perSecond, false, 1000, window)
	summary := result.Series["health"].Summarize()
	if want := int64(perSecond * window.Seconds()); summary.OK != want || s.health.Load() != want {
		t.Errorf("%d answers, the server saw %d, want %d", summary.OK, s.health.Load(), want)
	}
	if result.NotStarted != 0 || result.StartDelay.TotalCount() != summary.Calls {
		t.Errorf("%d not started, %d delays", result.NotStarted, result.StartDelay.TotalCount())
	}
}

// A closed loop would make one call while the server hangs, and report one slow call.
func TestAServerThatHangsIsChargedForAllCallsThatWereDue(t *testing.T) {
	const perSecond, window = 200.0, 250 * time.Millisecond
	held := make(chan struct{})
	timer := time.AfterFunc(2*window, func() { close(held) })
	defer timer.Stop()
	s := &server{gate: func(context.Context) error { <-held; return nil }}
	result := load(t, s, "health", 1).Open(t.Context(), perSecond, false, 1000, window)
	summary := result.Series["health"].Summarize()
	if summary.OK != 50 || summary.Late != 50 || summary.OKPerSecond != 0 {
		t.Errorf("%d answers, %d of them late, %v a second in time; want 50, 50, 0",
			summary.OK, summary.Late, summary.OKPerSecond)
	}
	// The last call was due at the end of the window and could not be answered for as long again.
	if shortest := float64((window - 10*time.Millisecond).Microseconds()); summary.Latency.Min < shortest {
		t.Errorf("a call took %v µs, none can have taken less than %v", summary.Latency.Min, shortest)
	}
}

func TestLatencyCountsFromWhenTheCallWasDue(t *testing.T) {
	l := load(t, &server{}, "health", 1)
	made := l.recorders(time.Second)
	c := l.caller(0, made)
	now := time.Now()
	c.call(t.Context(), 0, now, now.Add(-3*time.Second))
	result := l.merge(made, time.Second)
	if got := result.Series["health"].Summarize().Latency.P50; got < 2.99e6 {
		t.Errorf("latency %v µs of a call that began 3 s late", got)
	}
	if got := result.StartDelay.Max(); got < int64(2900*time.Millisecond) {
		t.Errorf("start delay %v", time.Duration(got))
	}
}

func TestWhatIsDueWhileTooManyAreUnderWayIsCounted(t *testing.T) {
	held := make(chan struct{})
	s := &server{gate: func(context.Context) error { <-held; return nil }}
	l := load(t, s, "health", 1)
	const perSecond, window = 200.0, 250 * time.Millisecond
	timer := time.AfterFunc(2*window, func() { close(held) })
	defer timer.Stop()
	result := l.Open(t.Context(), perSecond, false, 3, window)
	summary := result.Series["health"].Summarize()
	if summary.Calls != 3 || result.NotStarted != 47 {
		t.Errorf("%d calls, %d not started; want 3 and 47", summary.Calls, result.NotStarted)
	}
}

func TestTurnsAreCallByCall(t *testing.T) {
	s := &server{}
	result := load(t, s, "health,echo", 1).Closed(t.Context(), 1, 100*time.Millisecond)
	health := result.Series["health"].Summarize().OK
	echoes := result.Series["echo"].Summarize().OK
	if health == 0 || math.Abs(float64(health-echoes)) > 1 {
		t.Errorf("%d health checks and %d echoes", health, echoes)
	}
	if s.health.Load() != health || s.echoes.Load() != echoes {
		t.Errorf("the server saw %d and %d", s.health.Load(), s.echoes.Load())
	}
}

func TestErrorsAreCountedByCode(t *testing.T) {
	var number atomic.Int64
	s := &server{gate: func(context.Context) error {
		if number.Add(1)%2 == 0 {
			return status.Error(codes.ResourceExhausted, "full")
		}
		return nil
	}}
	result := load(t, s, "health", 4).Closed(t.Context(), 4, 100*time.Millisecond)
	summary := result.Series["health"].Summarize()
	refused := summary.Errors["ResourceExhausted"]
	if refused == 0 || refused+summary.OK != summary.Calls || summary.Calls != number.Load() {
		t.Errorf("%d calls, %d answered, %d refused, the server saw %d",
			summary.Calls, summary.OK, refused, number.Load())
	}
	if summary.FailedLatency == nil || summary.Latency == nil {
		t.Errorf("no latency for answers or refusals: %+v", summary)
	}
}

func TestACallWithoutAnswerEndsAtItsDeadline(t *testing.T) {
	s := &server{gate: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	l := load(t, s, "health", 1)
	l.Timeout = 30 * time.Millisecond
	result := l.Closed(t.Context(), 2, 100*time.Millisecond)
	summary := result.Series["health"].Summarize()
	if summary.OK != 0 || summary.Errors["DeadlineExceeded"] != summary.Calls || summary.Calls < 2 {
		t.Errorf("got %+v", summary)
	}
}

func TestARunThatIsBrokenOffBlamesNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &server{gate: func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }}
	result := load(t, s, "health", 1).Closed(ctx, 1, time.Minute)
	if calls := result.Series["health"].Summarize().Calls; calls != 0 {
		t.Errorf("%d calls recorded", calls)
	}
}
