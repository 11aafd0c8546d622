// memload drives a memlane server with calls and tells how long they took.
//
// Closed loop: --workers N callers, each waiting for its answer before the next call. Open loop: --rate R calls a
// second begin whatever the server does, and a call's latency counts from when it was due. One JSON object goes to
// standard output, progress to standard error.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/memlane/memlane/benchmarks/load/internal/connect"
	"github.com/memlane/memlane/benchmarks/load/internal/drive"
	"github.com/memlane/memlane/benchmarks/load/internal/figures"
	"github.com/memlane/memlane/benchmarks/load/internal/process"
	"github.com/memlane/memlane/benchmarks/load/internal/scenario"
	pb "github.com/memlane/memlane/clients/go/memlanev1"
)

const (
	clientMemoryBytes = 1 << 30
	setUpTime         = 20 * time.Second
)

// report is what is printed.
type report struct {
	Generator   string                     `json:"generator"`
	Address     string                     `json:"address"`
	Scenario    string                     `json:"scenario"`
	Loop        string                     `json:"loop"`
	Workers     int                        `json:"workers,omitempty"`
	RatePerS    float64                    `json:"rate_per_s,omitempty"`
	Connections int                        `json:"connections"`
	Seed        uint64                     `json:"seed"`
	Seconds     float64                    `json:"seconds"`
	Series      map[string]figures.Summary `json:"series"`
	StartDelay  *figures.Latency           `json:"start_delay_us,omitempty"`
	NotStarted  int64                      `json:"not_started"`
	Server      *serverReport              `json:"server,omitempty"`
}

// serverReport is what the watched process used, children included.
type serverReport struct {
	CPUSeconds   float64          `json:"cpu_s"`
	CPUUsPerCall float64          `json:"cpu_us_per_call"`
	Samples      []process.Sample `json:"samples"`
}

func main() {
	options, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "memload:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	// The generator's own garbage collection is not part of what is measured.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(clientMemoryBytes)
	dialer, err := connect.NewDialer(o.target)
	if err != nil {
		return err
	}
	connections := make([]*grpc.ClientConn, o.connections)
	for i := range connections {
		if connections[i], err = dialer.Dial(); err != nil {
			return err
		}
		defer connections[i].Close()
	}
	if err := prepare(ctx, connections, &o.scenario); err != nil {
		return fmt.Errorf("no memlane server answers at %s: %w", o.target.Address, err)
	}
	load := &drive.Load{
		Plan:        o.plan,
		Shared:      scenario.NewShared(o.scenario, dialer),
		Connections: connections,
		Timeout:     o.timeout,
		Seed:        o.scenario.Seed,
	}
	if o.warmUp > 0 {
		fmt.Fprintf(os.Stderr, "warming up for %v\n", o.warmUp)
		load.Closed(ctx, o.connections, o.warmUp)
	}
	runtime.GC()
	fmt.Fprintf(os.Stderr, "%s for %v\n", o.describe(), o.window)
	printed, err := measure(ctx, o, load)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return json.NewEncoder(os.Stdout).Encode(printed)
}

// prepare establishes every connection and learns the dimension of the server's vectors, outside of measured time.
func prepare(ctx context.Context, connections []*grpc.ClientConn, options *scenario.Options) error {
	limited, cancel := context.WithTimeout(ctx, setUpTime)
	defer cancel()
	for _, connection := range connections {
		client := pb.NewDiagnosticsServiceClient(connection)
		info, err := client.GetServerInfo(limited, &pb.GetServerInfoRequest{}, grpc.WaitForReady(true))
		if err != nil {
			return err
		}
		options.Dimension = int(info.GetEmbedder().GetDimension())
	}
	return nil
}

func measure(ctx context.Context, o options, load *drive.Load) (report, error) {
	printed := report{
		Generator:   "memload, " + runtime.Version(),
		Address:     o.target.Address,
		Scenario:    o.planText,
		Loop:        "closed",
		Connections: o.connections,
		Seed:        o.scenario.Seed,
		Seconds:     o.window.Seconds(),
		Series:      map[string]figures.Summary{},
	}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	var samples <-chan []process.Sample
	var before process.Usage
	if o.serverPID != 0 {
		var err error
		if before, err = process.Read(o.serverPID); err != nil {
			return report{}, err
		}
		samples = process.Watch(watching, o.serverPID, time.Second)
	}
	var result drive.Result
	if o.rate > 0 {
		printed.Loop, printed.RatePerS = "open", o.rate
		result = load.Open(ctx, o.rate, o.poisson, o.outstanding, o.window)
		printed.StartDelay = figures.NewLatency(result.StartDelay)
		printed.NotStarted = result.NotStarted
	} else {
		printed.Workers = o.workers
		result = load.Closed(ctx, o.workers, o.window)
	}
	var calls int64
	for name, series := range result.Series {
		summary := series.Summarize()
		printed.Series[name] = summary
		calls += summary.Calls
	}
	if o.serverPID != 0 {
		after, err := process.Read(o.serverPID)
		if err != nil {
			return report{}, fmt.Errorf("the server is gone: %w", err)
		}
		stopWatching()
		used := after.CPU - before.CPU
		printed.Server = &serverReport{
			CPUSeconds:   used.Seconds(),
			CPUUsPerCall: float64(used.Microseconds()) / float64(max(calls, 1)),
			Samples:      <-samples,
		}
	}
	return printed, nil
}
