// Fleet simulates fleets of gateways, seed after seed, until so many steps are done,
// and then plants mutations in the protocol's source, one at a time: each must be found.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle/bench/fleet/sim"
	"whittle/bench/table"
)

// stepsOfOne is how many steps of a run have faults; the rest is quiet.
const stepsOfOne = 5000

func main() {
	steps := flag.Int64("steps", 10_000_000, "how many steps to take, over all seeds")
	first := flag.Uint64("seed", 0, "the first seed")
	one := flag.Bool("one", false, "run the first seed alone, and print what is written to the store")
	mutants := flag.Bool("mutants", true, "plant the mutations")
	doc := flag.String("doc", "", "write the tables into this page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *one {
		sim.Trace = func(line string) { fmt.Println(line) }
		fmt.Printf("%+v\n", sim.Run(*first, stepsOfOne))
		return
	}
	begun := time.Now()
	total, failed := campaign(ctx, *first, *steps)
	for _, r := range failed {
		fmt.Printf("seed %d: %s\n  again: go run ./bench/fleet -one -seed %d\n", r.Seed, r.Fault, r.Seed)
	}
	if len(failed) > 0 {
		os.Exit(1)
	}
	fmt.Printf("%d seeds, %d steps in %v: everything held\n", total.Seed, total.Steps, time.Since(begun).Round(time.Second))
	if !*mutants || ctx.Err() != nil {
		return
	}
	found, err := plant(ctx)
	if err == nil && *doc != "" {
		err = write(*doc, total, found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// campaign runs seeds until the steps are done, or one has failed. Of the total, Seed
// is how many.
func campaign(ctx context.Context, first uint64, steps int64) (total sim.Result, failed []sim.Result) {
	var next, done atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	total.Count = map[string]int{}
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for ctx.Err() == nil && done.Load() < steps {
				r := sim.Run(first+uint64(next.Add(1))-1, stepsOfOne)
				done.Add(int64(r.Steps))
				mu.Lock()
				total.Seed++
				total.Steps += r.Steps
				for what, n := range r.Count {
					total.Count[what] += n
				}
				if r.Fault != "" {
					failed = append(failed, r)
					done.Add(steps)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return total, failed
}

// write puts the tables between the page's marks.
func write(page string, total sim.Result, found []finding) error {
	var t strings.Builder
	var seen []string
	for _, what := range slices.Sorted(maps.Keys(total.Count)) {
		seen = append(seen, fmt.Sprintf("%d %s", total.Count[what], what))
	}
	fmt.Fprintf(&t, "%d fleets, %d steps, and everything held. On the way there were %s", total.Seed, total.Steps, strings.Join(seen, ", "))
	t.WriteString(".\n\n| mutation | found at | by |\n|---|---|---|\n")
	for _, f := range found {
		fmt.Fprintf(&t, "| %s | seed %d, step %d | %s |\n", f.mutation.name, f.seed, f.step, f.fault)
	}
	return table.Replace(page, "<!-- fleet-sim -->\n", "<!-- /fleet-sim -->", t.String())
}
