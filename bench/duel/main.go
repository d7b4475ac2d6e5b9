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

	"whittle/internal/table"
)

// What is compared, as BENCHMARKS.md has it.
const (
	short  = 3 * time.Second        // load of each side in a comparison with itself
	block  = 125 * time.Millisecond // of those
	long   = 140 * time.Second      // load of each side in one with the slower server
	slower = 0.03                   // how much more work that one does
	work   = 2 * time.Millisecond   // of the handler, about
	rate   = 200                    // arrivals per second
	late   = 10 * time.Millisecond  // of the generator, at its 99th percentile, that makes a comparison void
)

type settings struct {
	self, found int // comparisons of the server with itself, and with the slower one
	whittle     string
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
	f.IntVar(&s.found, "found", 3, "how often the slower server is compared, 0 to 100")
	f.StringVar(&s.whittle, "whittle", "bin/whittle", "the `binary` under test")
	out := f.String("out", "out", "`folder` for bench-compare.json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.self < 0 || s.self > 1000 || s.found < 0 || s.found > 100 {
		return errors.New("a flag is out of its range; -h names them")
	}
	r := table.NewResults("compare")
	if err := measure(ctx, s, r); err != nil {
		return err
	}
	return r.Finish(*out)
}

func measure(ctx context.Context, s settings, r *table.Results) error {
	rounds := calibrate(work)
	a, err := startServer(ctx, rounds)
	if err != nil {
		return err
	}
	defer a.Stop()
	b, err := startServer(ctx, int(float64(rounds)*(1+slower)+.5))
	if err != nil {
		return err
	}
	defer b.Stop()
	if err := selves(ctx, s, a, r); err != nil {
		return err
	}
	return withSlower(ctx, s, a, b, r)
}
