package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"whittle"
	"whittle/cmdline"
	"whittle/internal/table"
	loaded "whittle/load/report"
	"whittle/profile"
	"whittle/profile/guard"
	"whittle/profile/measure"
	"whittle/profile/report"
)

type guardVerb struct {
	Process string `arg:"" name:"target" placeholder:"TARGET" help:"A Go service's pprof or admin URL, a Node inspector's URL, or a Node process's id."`

	measure.Settings
	Runs     int    `group:"What is measured" default:"5" help:"How many short runs, 2 to 100 (${default})."`
	Baseline string `required:"" placeholder:"FILE" help:"The file with what the service cost when it was healthy."`
	Max      string `name:"max-cpu-per-request" not:"update" default:"+10%" placeholder:"+10%" help:"How much dearer a request may be (${default})."`
	Update   bool   `help:"Write the baseline instead of checking against it."`
	JSON     string `name:"json" not:"update" placeholder:"FILE" help:"Write the verdict as JSON (\"-\": standard output)."`
	JUnit    string `name:"junit" not:"update" placeholder:"FILE" help:"Write the verdict as a JUnit test, for a CI system."`
	GitHub   bool   `name:"github" not:"update" help:"Also print the verdict as a GitHub annotation."`
}

// Help gives the examples.
func (guardVerb) Help() string {
	return `Exit status 1 means: surely above the limit, by the 95 % interval over several short runs, with the
function to blame. If the interval contains the limit, the guard says that it cannot tell, and passes: raise --runs or
--duration.

A service that fails cheaply costs little a request. So exit status 1 can also mean that the responses are clearly not
the baseline's: more of them fail, or more of them have another status. A run is repeated, at most three times, if it
had no CPU time or responses, or if its load was void or ended before a profile began.

Examples:
  whittle profile guard http://127.0.0.1:8091 --during plan.yml --baseline cost.json --update
  whittle profile guard http://127.0.0.1:8091 --during plan.yml --baseline cost.json --max-cpu-per-request +10%`
}

// Run measures, and keeps or checks.
func (v *guardVerb) Run(ctx context.Context, s cmdline.Streams) error {
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
	kept := v.JSON
	if v.Update {
		kept = v.Baseline
	}
	if err := cmdline.Writable(kept, v.JUnit); err != nil {
		return err
	}
	screen := cmdline.NewScreen(s, v.JSON)
	now, err := v.runs(ctx, screen)
	if err != nil {
		return err
	}
	screen.Clear()
	if v.Update {
		return v.keep(now, screen)
	}
	verdict := guard.Check(base, now, limit)
	if err := cmdline.WriteJSON(s, v.JSON, verdict); err != nil {
		return err
	}
	if v.JUnit != "" {
		if err := cmdline.WriteFile(v.JUnit, func(w io.Writer) error { return verdict.WriteJUnit(w, now.Service) }); err != nil {
			return err
		}
	}
	if v.GitHub {
		if err := verdict.WriteGitHub(s.Err, now.Service); err != nil {
			return err
		}
	}
	if v.JSON != "-" {
		fmt.Fprintln(s.Out, verdict.Sentence())
		printBlame(s.Out, "own functions, with what they ask for", verdict.Blame)
		printBlame(s.Out, "any functions, by themselves", verdict.Within)
		for _, w := range verdict.Warnings {
			fmt.Fprintf(s.Out, "note: %s\n", w)
		}
	}
	return verdict.Err()
}

// keep writes the baseline.
func (v *guardVerb) keep(b *guard.Baseline, screen *cmdline.Screen) error {
	if err := cmdline.WriteFile(v.Baseline, b.Write); err != nil {
		return err
	}
	screen.Say("kept %d runs of %s in %s", len(b.Runs), b.Service, v.Baseline)
	switch failed, known := b.Failed(); {
	case !known:
		screen.Say("note: the responses are not known, so a service that fails cheaply will not be noticed")
	case failed > 0:
		screen.Say("note: %.3g %% of the requests failed; take the baseline of a healthy service", 100*failed)
	}
	return nil
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
func (v *guardVerb) runs(ctx context.Context, screen *cmdline.Screen) (*guard.Baseline, error) {
	b := &guard.Baseline{Taken: time.Now().UTC(), Machine: table.ThisMachine()}
	var err error
	b.Runs, err = guard.Take(v.Runs, func(done int) (guard.Run, error) {
		screen.Progress("run %d of %d", done+1, v.Runs)
		m, err := v.Measure(ctx, v.Process, []profile.Kind{profile.CPU}, screen.Progress)
		if ctx.Err() != nil { // what passes must have been measured
			return guard.Run{}, whittle.Errorf(whittle.Canceled, "profile guard: it was interrupted before it could tell")
		}
		if err != nil {
			return guard.Run{}, err
		}
		p := m.Taken[0].Profile
		measure.Relative(p)
		b.Service = p.Service
		return guard.NewRun(p, factsOf(m))
	})
	return b, err
}

// factsOf is what is known of a measurement in addition to its profile.
func factsOf(m *measure.Measured) guard.RunFacts {
	if m.Load == nil {
		if len(m.Classes) == 0 {
			return guard.RunFacts{}
		}
		return guard.RunFacts{Responses: &guard.Responses{Classes: m.Classes, Failed: m.Classes["5xx"]}}
	}
	requests := m.Taken[0].AllRequests()
	return guard.RunFacts{
		CPU:  time.Duration(m.Load.CPUPerRequest * float64(requests) * float64(time.Millisecond)),
		Void: m.Load.Void, Responses: responsesOf(m.Load),
	}
}

// responsesOf is what came of a load's requests. Those that its end cut off are
// nobody's.
func responsesOf(r *loaded.Report) *guard.Responses {
	a := &guard.Responses{Classes: map[string]int64{}, Failed: r.Failed}
	for code, n := range r.Codes {
		a.Classes[code[:1]+"xx"] += n
	}
	if none := r.Requests - r.Completed - r.Unfinished; none > 0 {
		a.Classes[guard.None] = none
	}
	return a
}

func readBaseline(path string) (*guard.Baseline, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, whittle.Errorf(whittle.NotFound, "read baseline: %w", err).WithHint("make one with --update")
	}
	defer f.Close()
	return guard.Read(io.Reader(f))
}
