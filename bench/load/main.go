// Load compares what sending a request costs: whittle's load generator and the
// ones that are installed, in turn, for several rounds, against an nginx that
// responds with a few bytes. It also measures how late whittle sends at a fixed rate.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"whittle/internal/table"
)

// settings are the same for every tool.
type settings struct {
	rounds   int
	duration time.Duration // of one measurement
	conns    int           // keep-alive connections
	rate     int           // of the paced measurements, per second
	whittle  string
	folder   string // for configs, plans and reports
}

func main() { table.Main("bench-load", run) }

func run(ctx context.Context, args []string) (err error) {
	var s settings
	f := flag.NewFlagSet("bench-load", flag.ContinueOnError)
	f.IntVar(&s.rounds, "rounds", 5, "how often each tool is measured, 2 to 100")
	f.DurationVar(&s.duration, "duration", 4*time.Second, "of one measurement, 1s to 1m")
	f.IntVar(&s.conns, "conns", 32, "keep-alive connections")
	f.IntVar(&s.rate, "rate", 10_000, "requests per second of the paced measurements")
	f.StringVar(&s.whittle, "whittle", "bin/whittle", "the `binary` under test")
	out := f.String("out", "out", "`folder` for bench-load.json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.rounds < 2 || s.rounds > 100 || s.duration < time.Second || s.duration > time.Minute || s.duration%time.Second != 0 ||
		s.conns < 1 || s.conns > 1000 || s.rate < 100 || s.rate > 1_000_000 {
		return errors.New("a flag is out of its range: rounds 2 to 100, duration 1s to 1m in whole seconds, conns 1 to 1000, rate 100 to 1000000")
	}
	if s.folder, err = os.MkdirTemp("", "bench-load-"); err != nil {
		return fmt.Errorf("make folder for configs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.folder)) }()
	target, err := startTarget(ctx, s)
	if err != nil {
		return err
	}
	defer target.Stop()
	tools, err := findTools(ctx, s, target.Addr, target.h2)
	if err != nil {
		return err
	}
	r := table.NewResults("load")
	if err := costs(ctx, s, target, tools, r); err != nil {
		return err
	}
	return r.Finish(*out)
}
