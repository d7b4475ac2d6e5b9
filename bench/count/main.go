// Count compares what 10,000,000 draws cost: on the count service, on the
// service as it was published, and on the Node monolith. Each is a process of
// its own, asked over loopback, in turn, for several rounds; the figure is the
// process's own CPU time.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"whittle/bench/server"
	"whittle/internal/table"
)

const (
	draws = 10_000_000 // per request
	// Requests per round: enough that what a request itself costs and what the
	// process does meanwhile are measured over tenths of a second.
	requests = 10
)

func main() { table.Main("bench-count", run) }

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("bench-count", flag.ContinueOnError)
	rounds := f.Int("rounds", 5, "how often each subject is measured, 3 to 100")
	out := f.String("out", "out", "`folder` for bench-count.json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *rounds < 3 || *rounds > 100 {
		return fmt.Errorf("-rounds is %d, it must be 3 to 100", *rounds)
	}
	bin, err := os.MkdirTemp("", "bench-count-")
	if err != nil {
		return fmt.Errorf("make folder for binaries: %w", err)
	}
	defer func() {
		if err := os.RemoveAll(bin); err != nil {
			fmt.Fprintln(os.Stderr, "bench-count: remove binaries:", err)
		}
	}()
	subjects, err := prepare(ctx, bin)
	defer func() {
		for _, s := range subjects {
			s.Stop()
		}
	}()
	if err != nil {
		return err
	}
	costs, err := measure(ctx, subjects, *rounds)
	if err != nil {
		return err
	}
	t := report(costs)
	t.Print(os.Stdout)
	return t.Write(*out)
}

// prepare builds and starts the three; what has started is released in any
// case.
func prepare(ctx context.Context, bin string) ([]*subject, error) {
	build := exec.CommandContext(ctx, "go", "build", "-o", bin+string(filepath.Separator), "./systems/count/cmd/...")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("build services (run from the repository's root): %w", err)
	}
	const monolith = "systems/count/monolith"
	if _, err := os.Stat(monolith + "/node_modules/express"); err != nil {
		return nil, fmt.Errorf("the npm packages of %s are missing: run make deps, or npm ci in that folder", monolith)
	}
	free := []string{"-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", "", "-log-level", "warn"}
	const twirp = "/twirp/twirp.carved.Carved/Count"
	var all []*subject
	for _, s := range []*subject{
		{name: ours, path: twirp, command: append([]string{filepath.Join(bin, "count")}, free...)},
		{name: published, path: twirp, command: append([]string{filepath.Join(bin, "count-as-published")}, free...)},
		{name: node, path: "/Count", command: []string{"node", monolith + "/server.js", "--port", "0", "--host", "127.0.0.1"}},
	} {
		var err error
		if s.Server, err = server.Start(ctx, []string{"NODE_ENV=production"}, s.command...); err != nil { // as the monolith runs where it has users
			return all, err
		}
		all = append(all, s)
	}
	return all, nil
}

// The subjects, as the rows name them.
const (
	ours      = "count"
	published = "count-as-published"
	node      = "node-monolith"
)

// measure gives each subject's CPU-milliseconds per request of draws, round by
// round, after one round that is not counted, in which V8 compiles its loop.
func measure(ctx context.Context, subjects []*subject, rounds int) (map[string][]float64, error) {
	costs := map[string][]float64{}
	return costs, table.InTurn(subjects, rounds, func(s *subject, counted bool) error {
		cost, err := s.cost(ctx, requests)
		if counted {
			costs[s.name] = append(costs[s.name], cost)
		}
		return err
	})
}

// report makes the rows: every round, the median, and how many times our
// service's median the others' are.
func report(costs map[string][]float64) *table.T {
	t := table.New("count")
	for _, name := range []string{ours, published, node} {
		for i, cost := range costs[name] {
			t.Add(name, fmt.Sprintf("cpu per 10M draws, round %d", i+1), cost, "ms")
		}
	}
	for _, name := range []string{ours, published, node} {
		t.Add(name, "cpu per 10M draws, median", table.Median(costs[name]), "ms")
	}
	for _, name := range []string{published, node} {
		t.Add(name, "times the cpu of count", table.Median(costs[name])/table.Median(costs[ours]), "x")
	}
	return t
}
