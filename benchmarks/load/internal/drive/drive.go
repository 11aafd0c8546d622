package drive

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc"

	"github.com/memlane/memlane/benchmarks/load/internal/figures"
	"github.com/memlane/memlane/benchmarks/load/internal/pace"
	"github.com/memlane/memlane/benchmarks/load/internal/scenario"
)

// Load is a plan together with the connections it runs on.
type Load struct {
	Plan        Plan
	Shared      *scenario.Shared
	Connections []*grpc.ClientConn
	Timeout     time.Duration // of each call
	Seed        uint64
}

// Result of a run.
type Result struct {
	Series     map[string]*figures.Series
	StartDelay *hdrhistogram.Histogram // how much later than intended the generator began its calls
	NotStarted int64                   // open loop: calls that were due while too many were under way
}

// shards bounds what histograms take: callers share one of this many recorders, seldom at the same moment.
const shards = 8

// recorder notes the calls of some callers. Safe for concurrent use.
type recorder struct {
	lock   sync.Mutex
	series []*figures.Series // by scenario
	delay  *hdrhistogram.Histogram
}

type recorders [shards]*recorder

func (l *Load) recorders(window time.Duration) *recorders {
	var made recorders
	for i := range made {
		made[i] = &recorder{delay: newDelay()}
		for range l.Plan.Names {
			made[i].series = append(made[i].series, figures.NewSeries(window))
		}
	}
	return &made
}

func newDelay() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(longest), 2)
}

// longest start delay that is told apart.
const longest = 5 * time.Minute

func (l *Load) merge(made *recorders, window time.Duration) Result {
	result := Result{Series: map[string]*figures.Series{}, StartDelay: newDelay()}
	for number, name := range l.Plan.Names {
		merged := figures.NewSeries(window)
		for _, r := range made {
			merged.Merge(r.series[number])
		}
		result.Series[name] = merged
	}
	for _, r := range made {
		result.StartDelay.Merge(r.delay)
	}
	return result
}

// caller makes calls one after the other on one connection.
type caller struct {
	recorder *recorder
	sessions []scenario.Session // by scenario
	timeout  time.Duration
}

func (l *Load) caller(number int, made *recorders) *caller {
	connection := l.Connections[number%len(l.Connections)]
	c := &caller{recorder: made[number%shards], timeout: l.Timeout}
	for _, open := range l.Plan.openers {
		c.sessions = append(c.sessions, open(l.Shared, connection))
	}
	return c
}

// call makes one call of the scenario with that number. Its latency counts from `due`, the loop began at `begun`.
func (c *caller) call(ctx context.Context, which int, begun, due time.Time) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	started := time.Now()
	err := c.sessions[which].Call(limited)
	ended := time.Now()
	cancel()
	if err != nil && ctx.Err() != nil {
		return // the whole run was broken off: says nothing about the server
	}
	c.recorder.lock.Lock()
	defer c.recorder.lock.Unlock()
	c.recorder.series[which].Record(err, ended.Sub(due), ended.Sub(begun))
	_ = c.recorder.delay.RecordValue(int64(min(started.Sub(due), longest)))
}

func (c *caller) close() {
	for _, session := range c.sessions {
		session.Close()
	}
}

// Closed lets `workers` make calls for `window`, each as soon as its last one was answered.
func (l *Load) Closed(ctx context.Context, workers int, window time.Duration) Result {
	made := l.recorders(window)
	callers := make([]*caller, workers)
	for number := range callers {
		callers[number] = l.caller(number, made)
	}
	begun := time.Now()
	var running sync.WaitGroup
	for number, c := range callers {
		running.Go(func() {
			defer c.close()
			picks := newPicker(l.Plan, l.Seed, uint64(number))
			for ctx.Err() == nil {
				due := time.Now()
				if due.Sub(begun) >= window {
					return
				}
				c.call(ctx, picks.next(), begun, due)
			}
		})
	}
	running.Wait()
	return l.merge(made, window)
}

// Open begins calls at a fixed rate for `window`, however long their answers take, and waits for the answers. At most
// `outstanding` are under way; what is due beyond that is counted as not started.
func (l *Load) Open(ctx context.Context, perSecond float64, poisson bool, outstanding int, window time.Duration) Result {
	schedule := pace.Even(perSecond)
	if poisson {
		schedule = pace.Poisson(perSecond, rand.New(rand.NewPCG(l.Seed, 1)))
	}
	picks := newPicker(l.Plan, l.Seed, 2)
	pool := &pool{load: l, recorders: l.recorders(window), most: outstanding}
	sleeper := pace.NewSleeper()
	defer sleeper.Close()
	var running sync.WaitGroup
	var notStarted int64
	begun := time.Now()
	for offset := schedule.Next(); offset < window && ctx.Err() == nil; offset = schedule.Next() {
		due := begun.Add(offset)
		sleeper.Until(due)
		which := picks.next()
		c := pool.take()
		if c == nil {
			notStarted++
			continue
		}
		running.Go(func() {
			c.call(ctx, which, begun, due)
			pool.give(c)
		})
	}
	running.Wait()
	result := l.merge(pool.recorders, window)
	for _, c := range pool.all {
		c.close()
	}
	result.NotStarted = notStarted
	return result
}

// pool lends callers; it makes new ones as long as it may.
type pool struct {
	load      *Load
	recorders *recorders
	most      int
	lock      sync.Mutex
	idle      []*caller
	all       []*caller
}

// take returns nil when all callers that there may be are at work.
func (p *pool) take() *caller {
	p.lock.Lock()
	defer p.lock.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		c := p.idle[last]
		p.idle = p.idle[:last]
		return c
	}
	if len(p.all) >= p.most {
		return nil
	}
	c := p.load.caller(len(p.all), p.recorders)
	p.all = append(p.all, c)
	return c
}

func (p *pool) give(c *caller) {
	p.lock.Lock()
	p.idle = append(p.idle, c)
	p.lock.Unlock()
}
