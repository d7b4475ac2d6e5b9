// Gateway compares what passing a request on costs: through whittle and through
// the proxies that are installed, in turn, for several rounds, in plain text, over TLS
// and over HTTP/2; how much longer a user waits where all of the traffic is shadowed and
// compared, and where all of it is recorded.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"whittle/bench/server"
	"whittle/internal/table"
)

// settings are the same for every subject.
type settings struct {
	rounds   int
	duration time.Duration // of one measurement
	conns    int           // keep-alive connections of the load
	rate     int           // requests per second of the paced load
	workers  int           // threads of each proxy: the machine's cores
	whittle  string
	// binaries has the peers' that need not be in PATH, by peer.
	binaries map[string]string
	folder   string // for configs, state and logs
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == upstreamRole {
		os.Exit(respond())
	}
	table.Main("bench-gateway", run)
}

func run(ctx context.Context, args []string) (err error) {
	s := settings{workers: runtime.NumCPU()}
	f := flag.NewFlagSet("bench-gateway", flag.ContinueOnError)
	f.IntVar(&s.rounds, "rounds", 5, "how often each subject is measured, 2 to 100")
	f.DurationVar(&s.duration, "duration", 4*time.Second, "of one measurement, 1s to 1m")
	f.IntVar(&s.conns, "conns", 32, "keep-alive connections of the load")
	f.IntVar(&s.rate, "rate", 1000, "requests per second of the paced load, well below saturation")
	f.StringVar(&s.whittle, "whittle", "bin/whittle", "the `binary` under test")
	envoy := f.String("envoy", os.Getenv("ENVOY"), "Envoy's `binary`, where it is not in PATH; also by the variable ENVOY")
	only := f.String("only", "", "one `part` of the measurements: pass or shadow; empty: both")
	out := f.String("out", "out", "`folder` for bench-gateway.json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.rounds < 2 || s.rounds > 100 || s.duration < time.Second || s.duration > time.Minute || s.conns < 1 || s.conns > 1000 || s.rate < 1 || s.rate > 2000 {
		return errors.New("a flag is out of its range: rounds 2 to 100, duration 1s to 1m, conns 1 to 1000, rate 1 to 2000")
	}
	s.binaries = map[string]string{"envoy": *envoy}
	if s.folder, err = os.MkdirTemp("", "bench-gateway-"); err != nil {
		return fmt.Errorf("make folder for configs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.folder)) }()
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		return fmt.Errorf("find the load: %w (apt-get install wrk)", err)
	}
	if _, err := server.Certificate(s.folder, "localhost"); err != nil {
		return err
	}
	r := table.NewResults("gateway")
	measured := false
	for _, p := range parts {
		if *only != "" && *only != p.name {
			continue
		}
		measured = true
		if err := p.measure(ctx, r, s, wrk); err != nil {
			return err
		}
	}
	if !measured {
		return fmt.Errorf("there is no part %q", *only)
	}
	return r.Finish(*out)
}

// parts are what is measured, one after the other.
var parts = []struct {
	name    string
	measure func(ctx context.Context, r *table.Results, s settings, wrk string) error
}{{"pass", passThrough}, {"shadow", shadow}}
