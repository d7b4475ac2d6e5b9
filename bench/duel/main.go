// Duel holds `whittle compare` to its promises on real processes. A server is
// compared with itself many times in short runs, and the verdicts that call it
// different are counted: at most 5 % may. Then a server is compared with one
// whose handler does 3 % more work, within five minutes, and found or not.
package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	"whittle/bench/table"
)

type settings struct {
	self     int           // comparisons of each server with itself
	short    time.Duration // what of a plan each side gets in one of them
	block    time.Duration // of those
	found    int           // comparisons with the slower server
	long     time.Duration // what each side gets in one of them
	slower   float64       // how much more work it does: 0.03 is 3 %
	work     time.Duration // of the handler, about
	rate     float64       // arrivals per second
	late     time.Duration // of the generator, that makes a comparison void
	whittle  string
	progress bool
}

// serving is the first argument of this binary as a server.
const serving = "serve"

func main() {
	run := bench
	if len(os.Args) > 1 && os.Args[1] == serving {
		run = serve
	}
	table.Main("bench-compare", run)
}

func bench(ctx context.Context, args []string) error {
	s := settings{}
	f := flag.NewFlagSet("bench-compare", flag.ContinueOnError)
	f.IntVar(&s.self, "self", 200, "how often each server is compared with itself, 0 to 1000")
	f.DurationVar(&s.short, "short", 3*time.Second, "load of each side in such a comparison, 1s to 5m")
	f.DurationVar(&s.block, "block", 125*time.Millisecond, "their blocks, 20ms to 5s")
	f.IntVar(&s.found, "found", 3, "how often the slower server is compared, 0 to 100")
	f.DurationVar(&s.long, "long", 140*time.Second, "load of each side in that comparison, 1s to 10m")
	f.Float64Var(&s.slower, "slower", 0.03, "how much more work the slower server does, 0 to 1")
	f.DurationVar(&s.work, "work", 2*time.Millisecond, "what the handler's work takes, about, 100µs to 20ms")
	f.Float64Var(&s.rate, "rate", 200, "arrivals per second, 10 to 10000")
	f.DurationVar(&s.late, "late", 10*time.Millisecond, "lateness of the generator, at its 99th percentile, that makes a comparison void, 1ms to 1s")
	f.StringVar(&s.whittle, "whittle", "bin/whittle", "the `binary` under test")
	f.BoolVar(&s.progress, "progress", true, "say what every comparison came to")
	out := f.String("out", "out", "`folder` for bench-compare.json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.self < 0 || s.self > 1000 || s.short < time.Second || s.short > 5*time.Minute || s.block < 20*time.Millisecond ||
		s.block > 5*time.Second || s.found < 0 || s.found > 100 || s.long < time.Second || s.long > 10*time.Minute ||
		!(s.slower >= 0 && s.slower <= 1) || s.work < 100*time.Microsecond || s.work > 20*time.Millisecond || !(s.rate >= 10 && s.rate <= 10_000) ||
		s.late < time.Millisecond || s.late > time.Second {
		return errors.New("a flag is out of its range; -h names them")
	}
	r := table.NewResults("compare")
	if err := measure(ctx, s, r); err != nil {
		return err
	}
	return r.Finish(*out)
}

func measure(ctx context.Context, s settings, r *table.Results) error {
	rounds := calibrate(s.work)
	a, err := startServer(ctx, rounds)
	if err != nil {
		return err
	}
	defer a.Stop()
	b, err := startServer(ctx, int(float64(rounds)*(1+s.slower)+.5))
	if err != nil {
		return err
	}
	defer b.Stop()
	if err := selves(ctx, s, a, r); err != nil {
		return err
	}
	return slower(ctx, s, a, b, r)
}
