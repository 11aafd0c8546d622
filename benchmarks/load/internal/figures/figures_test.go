package figures

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var full = status.Error(codes.ResourceExhausted, "full")

func TestMergeIsAsIfOneHadRecordedAll(t *testing.T) {
	const window = 3 * time.Second
	random := rand.New(rand.NewPCG(1, 1))
	all := NewSeries(window)
	parts := []*Series{NewSeries(window), NewSeries(window), NewSeries(window), NewSeries(window)}
	outcomes := []error{nil, nil, nil, full, status.Error(codes.DeadlineExceeded, "too late")}
	for range 50_000 {
		outcome := outcomes[random.IntN(len(outcomes))]
		latency := time.Duration(random.ExpFloat64() * float64(2*time.Millisecond))
		at := time.Duration(random.Int64N(int64(4 * time.Second)))
		all.Record(outcome, latency, at)
		parts[random.IntN(3)].Record(outcome, latency, at) // the last one stays empty
	}
	merged := NewSeries(window)
	for _, part := range parts {
		merged.Merge(part)
	}
	got, want := merged.Summarize(), all.Summarize()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("merged:\n%+v\nrecorded in one:\n%+v", got, want)
	}
	if got.Calls != 50_000 || got.Late == 0 || got.Messages["ResourceExhausted"] != "full" {
		t.Errorf("counts are wrong: %+v", got)
	}
}

func TestPercentilesAreThoseOfTheValues(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	series := NewSeries(time.Second)
	values := make([]float64, 20_000)
	for i := range values {
		latency := time.Duration(100_000 + random.ExpFloat64()*1e6)
		values[i] = float64(latency) / 1e3
		series.Record(nil, latency, 0)
	}
	slices.Sort(values)
	got := series.Summarize().Latency
	exact := func(percentile float64) float64 {
		return values[int(math.Round(percentile/100*float64(len(values))))-1]
	}
	for name, pair := range map[string][2]float64{
		"p50":   {got.P50, exact(50)},
		"p95":   {got.P95, exact(95)},
		"p99":   {got.P99, exact(99)},
		"p99.9": {got.P999, exact(99.9)},
		"max":   {got.Max, values[len(values)-1]},
	} {
		if math.Abs(pair[0]/pair[1]-1) > 0.002 {
			t.Errorf("%s is %v µs, want %v", name, pair[0], pair[1])
		}
	}
}

func TestOnlyAnswersWithinTheWindowMakeTheRate(t *testing.T) {
	series := NewSeries(2 * time.Second)
	for _, at := range []time.Duration{0, 999 * time.Millisecond, time.Second, 2 * time.Second, 9 * time.Second} {
		series.Record(nil, time.Millisecond, at)
	}
	series.Record(full, time.Millisecond, time.Second)
	got := series.Summarize()
	if got.OKPerSecond != 1.5 || got.Late != 2 || got.OK != 5 || got.Calls != 6 {
		t.Errorf("got %+v", got)
	}
	if !slices.Equal(got.OKBySecond, []int64{2, 1}) {
		t.Errorf("by second: %v, want [2 1]", got.OKBySecond)
	}
}

func TestRefusalsDoNotFlatterTheLatency(t *testing.T) {
	series := NewSeries(time.Second)
	series.Record(nil, 10*time.Millisecond, 0)
	for range 99 {
		series.Record(full, 10*time.Microsecond, 0)
	}
	got := series.Summarize()
	if got.Latency.P50 < 9_900 || got.FailedLatency.P50 > 11 {
		t.Errorf("answered %v µs, refused %v µs", got.Latency.P50, got.FailedLatency.P50)
	}
}

func TestNothingRecordedHasNoLatency(t *testing.T) {
	got := NewSeries(time.Second).Summarize()
	if got.Latency != nil || got.FailedLatency != nil || got.Calls != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestALatencyBeyondAllBoundsIsKeptAsTheGreatest(t *testing.T) {
	series := NewSeries(time.Second)
	series.Record(nil, time.Hour, 0)
	series.Record(nil, -time.Second, 0)
	got := series.Summarize()
	if got.OK != 2 || got.Latency.Max < 290e6 {
		t.Errorf("got %+v", got.Latency)
	}
}
