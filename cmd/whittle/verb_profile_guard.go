package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"whittle"
	"whittle/bench/table"
	"whittle/profile"
	"whittle/profile/guard"
	"whittle/profile/report"
)

type guardVerb struct {
	Process string `arg:"" name:"target" placeholder:"TARGET" help:"A Go service's pprof or admin URL, a Node inspector's URL, or a Node process's id."`

	measuring
	Runs     int    `group:"What is measured" default:"5" help:"How many short runs, 2 to 100 (${default})."`
	Baseline string `required:"" placeholder:"FILE" help:"What the service cost when it was found good."`
	Max      string `name:"max-cpu-per-request" default:"+10%" placeholder:"+10%" help:"How much dearer a request may be (${default})."`
	Update   bool   `help:"Write the baseline instead of checking against it."`
	JSON     string `name:"json" placeholder:"FILE" help:"Write the verdict as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (guardVerb) Help() string {
	return `Exit status 1 means: surely above the limit, by the 95 % interval over several short runs, with the function to blame. Where the interval holds the limit, the guard says that it cannot tell, and passes: raise --runs or --duration.

Examples:
  whittle profile guard http://127.0.0.1:6667 --during plan.yml --baseline cost.json --update
  whittle profile guard http://127.0.0.1:6667 --during plan.yml --baseline cost.json --max-cpu-per-request +10%`
}

// Run measures, and keeps or checks.
func (v *guardVerb) Run(ctx context.Context, s streams) error {
	limit, err := guard.ParseLimit(v.Max)
	if err != nil {
		return err
	}
	if v.Runs < 2 || v.Runs > 100 {
		return whittle.Errorf(whittle.Invalid, "profile guard: --runs is 2 to 100, not %d", v.Runs)
	}
	var base *guard.Baseline
	if !v.Update {
		if base, err = readBaseline(v.Baseline); err != nil {
			return err
		}
	}
	screen := newScreen(s)
	if v.JSON == "-" {
		screen.w, screen.tty = s.err, false
	}
	runs, service, err := v.runs(ctx, screen)
	if err != nil {
		return err
	}
	screen.clear()
	if v.Update {
		b := guard.Baseline{Service: service, Taken: time.Now().UTC(), Machine: table.ThisMachine(), Runs: runs}
		if err := writeFile(v.Baseline, b.Write); err != nil {
			return err
		}
		screen.say("kept %d runs of %s in %s", len(runs), service, v.Baseline)
		return nil
	}
	verdict := guard.Check(base, runs, limit)
	if v.JSON != "" {
		if err := writeJSON(s, v.JSON, verdict); err != nil {
			return err
		}
	}
	if v.JSON != "-" {
		fmt.Fprintln(s.out, verdict.Sentence())
		printBlame(s.out, "own functions, with what they ask for", verdict.Blame)
		printBlame(s.out, "any functions, by themselves", verdict.Within)
	}
	return verdict.Err()
}

func printBlame(w io.Writer, heading string, all []guard.Blame) {
	var rows [][]string
	for _, b := range all {
		rows = append(rows, []string{b.Function, fmt.Sprintf("%.1f µs", b.Before/1e3), fmt.Sprintf("%.1f µs", b.After/1e3)})
	}
	if len(rows) > 0 {
		report.WriteTable(w, []string{heading, "before", "now"}, rows)
	}
}

// runs measures several times.
func (v *guardVerb) runs(ctx context.Context, screen *screen) (runs []guard.Run, service string, err error) {
	runs, err = guard.Take(v.Runs, func(done int) (guard.Run, error) {
		screen.progress("run %d of %d", done+1, v.Runs)
		m, err := v.measure(ctx, v.Process, []profile.Kind{profile.CPU}, screen)
		if err != nil {
			return guard.Run{}, err
		}
		p := m.taken[0].Profile
		relative(p)
		var used time.Duration
		if m.load != nil && m.load.CPUPerRequest > 0 {
			used = time.Duration(m.load.CPUPerRequest * float64(p.AllRequests()) * float64(time.Millisecond))
		}
		service = p.Service
		return guard.NewRun(p, used)
	})
	return runs, service, err
}

func readBaseline(path string) (*guard.Baseline, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, whittle.Errorf(whittle.NotFound, "read baseline: %w", err).WithHint("make one with --update")
	}
	defer f.Close()
	return guard.Read(io.Reader(f))
}
