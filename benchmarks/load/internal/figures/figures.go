// Package figures counts and times calls, and sums up what was counted.
package figures

import (
	"maps"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	lowest      = int64(time.Microsecond)
	highest     = int64(5 * time.Minute)
	significant = 3
)

// Series holds the calls of one scenario. Not safe for concurrent use: each caller has its own, merged at the end.
type Series struct {
	answered *hdrhistogram.Histogram
	failed   *hdrhistogram.Histogram
	byCode   map[codes.Code]int64
	messages map[codes.Code]string // one of each, for whoever wonders
	window   time.Duration
	bySecond []int64 // answers within the window by the second in which they came
	late     int64   // answers after the window
}

// NewSeries makes an empty series of calls that are begun within `window`, which must be more than 0.
func NewSeries(window time.Duration) *Series {
	seconds := int((window + time.Second - 1) / time.Second)
	return &Series{
		answered: hdrhistogram.New(lowest, highest, significant),
		failed:   hdrhistogram.New(lowest, highest, significant),
		byCode:   map[codes.Code]int64{},
		messages: map[codes.Code]string{},
		window:   window,
		bySecond: make([]int64, seconds),
	}
}

// Record notes a call that took `latency` and ended `at` after the beginning, with `err` or well.
func (s *Series) Record(err error, latency, at time.Duration) {
	value := min(max(int64(latency), 0), highest)
	if err != nil {
		outcome := status.Convert(err)
		s.byCode[outcome.Code()]++
		s.messages[outcome.Code()] = outcome.Message()
		_ = s.failed.RecordValue(value) // cannot fail: the value is in range
		return
	}
	_ = s.answered.RecordValue(value)
	if at < s.window {
		s.bySecond[at/time.Second]++
	} else {
		s.late++
	}
}

// Merge adds what `other` holds; both must have been made for the same window.
func (s *Series) Merge(other *Series) {
	s.answered.Merge(other.answered)
	s.failed.Merge(other.failed)
	for code, count := range other.byCode {
		s.byCode[code] += count
	}
	maps.Copy(s.messages, other.messages)
	for second, count := range other.bySecond {
		s.bySecond[second] += count
	}
	s.late += other.late
}

// Summary of a series, ready to be written as JSON. Latencies are microseconds.
type Summary struct {
	Calls         int64             `json:"calls"`
	OK            int64             `json:"ok"`
	OKPerSecond   float64           `json:"ok_per_s"`
	Errors        map[string]int64  `json:"errors"`
	Messages      map[string]string `json:"error_messages"`
	Latency       *Latency          `json:"latency_us,omitempty"`
	FailedLatency *Latency          `json:"failed_latency_us,omitempty"`
	OKBySecond    []int64           `json:"ok_by_second"`
	Late          int64             `json:"ok_after_the_end"`
}

// Latency in microseconds.
type Latency struct {
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	P50  float64 `json:"p50"`
	P75  float64 `json:"p75"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99.9"`
	Max  float64 `json:"max"`
}

// Summarize sums up a series. Answers after the end of the window count in `calls` and in the latencies, not in the
// rate.
func (s *Series) Summarize() Summary {
	summary := Summary{
		OK:            s.answered.TotalCount(),
		Errors:        map[string]int64{},
		Messages:      map[string]string{},
		Latency:       NewLatency(s.answered),
		FailedLatency: NewLatency(s.failed),
		OKBySecond:    s.bySecond,
		Late:          s.late,
	}
	summary.Calls = summary.OK
	for code, count := range s.byCode {
		summary.Errors[code.String()] = count
		summary.Messages[code.String()] = s.messages[code]
		summary.Calls += count
	}
	summary.OKPerSecond = float64(summary.OK-s.late) / s.window.Seconds()
	return summary
}

// NewLatency reads the percentiles off a histogram of nanoseconds; nil when it is empty.
func NewLatency(histogram *hdrhistogram.Histogram) *Latency {
	if histogram.TotalCount() == 0 {
		return nil
	}
	at := func(percentile float64) float64 { return micros(histogram.ValueAtQuantile(percentile)) }
	return &Latency{
		Mean: histogram.Mean() / 1e3,
		Min:  micros(histogram.Min()),
		P50:  at(50),
		P75:  at(75),
		P90:  at(90),
		P95:  at(95),
		P99:  at(99),
		P999: at(99.9),
		Max:  micros(histogram.Max()),
	}
}

func micros(nanoseconds int64) float64 {
	return float64(nanoseconds) / 1e3
}
