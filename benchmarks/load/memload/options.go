package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/memlane/memlane/benchmarks/load/internal/connect"
	"github.com/memlane/memlane/benchmarks/load/internal/drive"
	"github.com/memlane/memlane/benchmarks/load/internal/scenario"
)

const tokenVariable = "MEMLANE_TOKEN"

// options of one run.
type options struct {
	target      connect.Target
	planText    string
	plan        drive.Plan
	scenario    scenario.Options
	connections int
	workers     int
	rate        float64 // 0 = closed loop
	poisson     bool
	outstanding int
	window      time.Duration
	warmUp      time.Duration
	timeout     time.Duration
	serverPID   int
}

func (o *options) describe() string {
	if o.rate > 0 {
		return fmt.Sprintf("%s, %g a second on %d connections", o.planText, o.rate, o.connections)
	}
	return fmt.Sprintf("%s, %d workers on %d connections", o.planText, o.workers, o.connections)
}

func parse(arguments []string) (options, error) {
	var o options
	var users, writeUsers string
	var topK uint
	set := flag.NewFlagSet("memload", flag.ContinueOnError)
	set.StringVar(&o.target.Address, "address", "127.0.0.1:7070", "host:port of the server")
	set.StringVar(&o.target.Token, "token", "", "bearer token; better given as "+tokenVariable+", where ps does not show it")
	set.BoolVar(&o.target.TLS, "tls", false, "use TLS, trusting the system's authorities")
	set.StringVar(&o.target.CA, "ca", "", "use TLS, trusting the authorities in this file")
	set.StringVar(&o.target.Certificate, "cert", "", "client certificate for mutual TLS")
	set.StringVar(&o.target.Key, "key", "", "its key")
	set.StringVar(&o.target.ServerName, "server-name", "", "name to expect in the server's certificate")
	set.StringVar(&o.planText, "scenario", "search",
		"what to call: one of "+scenario.Names()+"; a,b for turns call by call; a=90,b=10 for a mix by weight; "+
			"mixed for search=90,remember=10")
	set.StringVar(&users, "users", "bench-1000", "users to read, with commas between; they take turns")
	set.StringVar(&writeUsers, "write-users", "", "users to write (default: those of --users)")
	set.UintVar(&topK, "top-k", 5, "results of a search")
	set.IntVar(&o.scenario.Batch, "batch", 64, "searches of a batch")
	set.IntVar(&o.scenario.Facts, "facts", 1, "facts of a Remember")
	set.StringVar(&o.scenario.SessionID, "session", "", "session whose window BuildContext takes")
	set.BoolVar(&o.scenario.Knowledge, "knowledge", false, "BuildContext with shared knowledge")
	set.Uint64Var(&o.scenario.Seed, "seed", 1, "of vectors, turns and arrivals")
	set.StringVar(&o.scenario.Run, "run", "", "mark of this run's new texts and request ids (default: the time)")
	set.IntVar(&o.connections, "connections", 1, "connections; callers are spread over them")
	set.IntVar(&o.workers, "workers", 0, "closed loop: callers (default: one for each connection)")
	set.Float64Var(&o.rate, "rate", 0, "open loop: calls a second; 0 = closed loop")
	set.BoolVar(&o.poisson, "poisson", false, "open loop: random gaps, as independent callers make them")
	set.IntVar(&o.outstanding, "outstanding", 10_000, "open loop: calls under way at most")
	set.DurationVar(&o.window, "duration", 5*time.Second, "how long to begin calls")
	set.DurationVar(&o.warmUp, "warm-up", 500*time.Millisecond, "calls before it, one worker for each connection")
	set.DurationVar(&o.timeout, "timeout", 10*time.Second, "deadline of each call")
	set.IntVar(&o.serverPID, "server-pid", 0, "process of a server on this machine: adds its CPU, memory and open files")
	if err := set.Parse(arguments); err != nil {
		return options{}, err
	}
	if o.target.Token == "" {
		o.target.Token = os.Getenv(tokenVariable)
	}
	if o.scenario.Run == "" {
		o.scenario.Run = fmt.Sprintf("%x", time.Now().UnixNano())
	}
	if writeUsers == "" {
		writeUsers = users
	}
	if o.workers == 0 {
		o.workers = o.connections
	}
	o.scenario.Users = strings.Split(users, ",")
	o.scenario.WriteUsers = strings.Split(writeUsers, ",")
	o.scenario.TopK = int32(topK)
	var err error
	if o.plan, err = drive.ParsePlan(o.planText); err != nil {
		return options{}, err
	}
	return o, o.check(set.NArg())
}

func (o *options) check(superfluous int) error {
	switch {
	case superfluous > 0:
		return errors.New("every argument needs its --name; try --help")
	case o.rate < 0:
		return errors.New("--rate must not be negative")
	case o.window <= 0 || o.timeout <= 0:
		return errors.New("--duration and --timeout must be more than 0")
	case o.warmUp < 0:
		return errors.New("--warm-up must not be negative")
	}
	for name, value := range map[string]int{
		"connections": o.connections, "workers": o.workers, "outstanding": o.outstanding,
		"batch": o.scenario.Batch, "facts": o.scenario.Facts,
	} {
		if value < 1 {
			return fmt.Errorf("--%s must be at least 1", name)
		}
	}
	return nil
}
