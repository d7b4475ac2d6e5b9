package duel

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"whittle"
	"whittle/internal/paired"
	"whittle/internal/units"
	"whittle/load"
	"whittle/load/plan"
	"whittle/load/report"
)

// LevelsFormat names the JSON form of a comparison at several numbers of users.
const LevelsFormat = "whittle.levels/1"

// Levels compares two targets at several numbers of closed users, each level
// in several whole runs of both.
type Levels struct {
	Plan *plan.Plan
	A, B Side
	// Users are the levels, at most 20; Runs is how often each target runs each,
	// at most 100. 0: 3.
	Users []int
	Runs  int
	// Closed gives ramp, loops and duration of every level. Ramp 0: a tenth of a
	// second for each user, and none for a single one. Loops and Duration 0: the
	// plan's own.
	Closed plan.Closed
	// Warmup is how long each target is loaded at each number of users before anything
	// counts. 0: not at all.
	Warmup  time.Duration
	Options load.Options
	// OnProgress is called about once a second, and says which run it is. Nil:
	// not called.
	OnProgress func(run string, p report.Progress)
}

// LevelsReport is the result of Levels. Its JSON form is documented in
// docs/load.md.
type LevelsReport struct {
	Format   string                    `json:"format"`
	Plan     string                    `json:"plan"`
	A        string                    `json:"a"`
	B        string                    `json:"b"`
	Started  time.Time                 `json:"started_at"`
	Seed     uint64                    `json:"seed"`
	Method   string                    `json:"method"`
	Verdict  []string                  `json:"verdict"` // a sentence for each level
	Void     string                    `json:"void"`
	Early    bool                      `json:"ended_early"`
	Levels   []Level                   `json:"levels"`
	Warnings []string                  `json:"warnings,omitempty"`
	scripts  [2][]report.ScriptFailure // of all runs of each target
}

// Level is one number of users.
type Level struct {
	Users int `json:"users"`
	// Void is empty, or why this level's figures may not be used though those of other
	// levels may.
	Void    string     `json:"void,omitempty"`
	Figures []Compared `json:"figures"`
	Runs    []LevelRun `json:"runs"`
}

// LevelRun is one run of one target.
type LevelRun struct {
	Side      string  `json:"side"` // "a" or "b"
	Run       int     `json:"run"`  // from 1
	Rate      float64 `json:"rate"`
	Requests  int64   `json:"requests"`
	Completed int64   `json:"completed"`
	Failed    int64   `json:"failed"`
	Median    float64 `json:"median_ms"`
	P95       float64 `json:"p95_ms"`
	P99       float64 `json:"p99_ms"`
	CPU       float64 `json:"cpu_ms_per_request"`
	Void      string  `json:"void,omitempty"`
	// LateFrom is the least quantile of users at which the generator was late, of a void
	// run; see report.Report.LateFrom.
	LateFrom float64 `json:"late_from,omitempty"`
}

// onlyTail reports whether what makes the run void does so for its tail alone.
func (r *LevelRun) onlyTail() bool { return r.LateFrom >= tailFrom }

// The bounds of a comparison by levels.
const (
	maxLevels    = 20
	maxLevelRuns = 100
	defaultRuns  = 3
	rampPerUser  = 100 * time.Millisecond
)

// Run runs all levels. When ctx ends, the current pair of runs is discarded and
// the report covers those before it.
func (l Levels) Run(ctx context.Context) (*LevelsReport, error) {
	l.Options = l.Options.WithDefaults()
	if l.Runs == 0 {
		l.Runs = defaultRuns
	}
	if len(l.Users) == 0 || len(l.Users) > maxLevels || l.Runs < 1 || l.Runs > maxLevelRuns {
		return nil, whittle.Errorf(whittle.Invalid, "compare: %d levels of %d runs are not within 1 to %d and 1 to %d", len(l.Users), l.Runs, maxLevels, maxLevelRuns)
	}
	target := func(c Side) string {
		shown, _ := plan.SplitLogin(cmp.Or(c.Target, l.Plan.Target))
		return shown
	}
	out := &LevelsReport{
		Format: LevelsFormat, Plan: l.Plan.Name, A: target(l.A), B: target(l.B), Started: l.Options.Now().UTC(),
		Seed: l.Options.Seed, Method: methodRuns,
	}
	rng := rand.New(rand.NewPCG(l.Options.Seed, 0x6c6576656c))
	for _, users := range l.Users {
		level, err := l.level(ctx, users, rng, out)
		if err != nil {
			return nil, err
		}
		if len(level.Runs) > 0 {
			out.Levels = append(out.Levels, *level)
		}
		if ctx.Err() != nil {
			out.Early = true
			break
		}
	}
	out.judge(l.Runs)
	out.Warnings = append(out.Warnings, scriptWarnings(out.scripts[0], out.scripts[1])...)
	return out, nil
}

// closed are the users of one level.
func (l *Levels) closed(users int) plan.Closed {
	c := l.Closed
	c.Users = users
	if c.Ramp == 0 && users > 1 {
		c.Ramp = time.Duration(users) * rampPerUser
	}
	return c
}

func (l *Levels) level(ctx context.Context, users int, rng *rand.Rand, all *LevelsReport) (*Level, error) {
	runs, err := l.Plan.WithUsers(l.closed(users))
	if err != nil {
		return nil, err
	}
	level := &Level{Users: users}
	sides := [2]Side{l.A, l.B}
	if err := l.warm(ctx, users, sides); err != nil {
		return nil, err
	}
	for run := 1; run <= l.Runs; run++ {
		var pair [2]*report.Report
		first := rng.IntN(2)
		for _, i := range []int{first, 1 - first} {
			o := sides[i].of(l.Options)
			o.Seed += uint64(run - 1)
			if f := l.OnProgress; f != nil {
				name := fmt.Sprintf("%s, run %d of %d, target %c", units.Counted(users, "user"), run, l.Runs, 'A'+i)
				o.OnProgress = func(p report.Progress) { f(name, p) }
			}
			if pair[i], err = load.Run(ctx, runs, o); err != nil {
				return nil, err
			}
			if ctx.Err() != nil {
				return level, nil //nolint:nilerr // ending early is not an error
			}
		}
		for i, r := range pair {
			level.Runs = append(level.Runs, LevelRun{
				Side: string(rune('a' + i)), Run: run, Rate: r.Rate, Requests: r.Requests, Completed: r.Completed, Failed: r.Failed,
				Median: r.Median, P95: r.P95, P99: r.P99, CPU: r.CPUPerRequest, Void: r.Void,
			})
			for _, f := range r.ScriptFailures {
				all.scripts[i] = report.AddScriptFailure(all.scripts[i], f)
			}
			if r.Void != "" {
				level.Runs[len(level.Runs)-1].LateFrom = r.LateFrom()
			}
		}
	}
	return level, nil
}

// warm loads both targets with a level's users, and keeps no result.
func (l *Levels) warm(ctx context.Context, users int, sides [2]Side) error {
	if l.Warmup <= 0 {
		return nil
	}
	warm, err := l.Plan.WithUsers(plan.Closed{Users: users, Ramp: min(l.closed(users).Ramp, l.Warmup/2), Duration: l.Warmup})
	if err != nil {
		return err
	}
	for i := range sides {
		o := sides[i].of(l.Options)
		o.Watch, o.WatchURLs, o.OnProgress = nil, nil, nil
		if _, err := load.Run(ctx, warm, o); err != nil {
			return fmt.Errorf("warm up target %c: %w", 'A'+i, err)
		}
	}
	return nil
}

// side returns one figure of every run of one target.
func (l *Level) side(side string, of func(*LevelRun) float64) []float64 {
	var out []float64
	for i := range l.Runs {
		if l.Runs[i].Side == side {
			out = append(out, of(&l.Runs[i]))
		}
	}
	return out
}

// failed is the part of one target's requests that failed.
func (l *Level) failed(side string) float64 {
	var n, of int64
	for i := range l.Runs {
		if l.Runs[i].Side == side {
			n, of = n+l.Runs[i].Failed, of+l.Runs[i].Requests
		}
	}
	return float64(n) / float64(max(of, 1))
}

// which names a run.
func (l *Level) which(r *LevelRun) string {
	return fmt.Sprintf("run %d of target %s with %s", r.Run, strings.ToUpper(r.Side), units.Counted(l.Users, "user"))
}

// void says why the level's figures may not be used, empty where they may. A
// run without responses has no figures, and the means over the other runs would
// not show that it was there.
func (l *Level) void() string {
	for i := range l.Runs {
		r := &l.Runs[i]
		switch {
		case r.Void != "" && !r.onlyTail():
			return l.which(r) + ": " + r.Void
		case r.Completed == 0:
			return fmt.Sprintf("%s responded to none of its %d requests", l.which(r), r.Requests)
		}
	}
	if l.failed("a") == 1 && l.failed("b") == 1 {
		return fmt.Sprintf("with %s not one request succeeded, to A or to B", units.Counted(l.Users, "user"))
	}
	return ""
}

// takeVoid takes the figures away that may not be used: all of a void level, those of
// the tail where the generator was late for it in some run. It returns why, by their keys.
func (l *Level) takeVoid(figures []figure) map[string]string {
	out := map[string]string{}
	l.Void = l.void()
	for i := range figures {
		f := &figures[i]
		if l.Void != "" {
			out[f.key] = l.Void
		}
		for k := range l.Runs {
			if r := &l.Runs[k]; out[f.key] == "" && r.onlyTail() && tails[f.key] >= r.LateFrom {
				out[f.key] = l.which(r) + ": " + r.Void
			}
		}
		if out[f.key] != "" {
			f.takeRatio()
		}
	}
	return out
}

// figures compares one level's runs.
func (l *Level) figures() []figure {
	var out []figure
	for _, f := range []struct {
		key, name, unit string
		of              func(*LevelRun) float64
	}{
		{"rate", "rate", "/s", func(r *LevelRun) float64 { return r.Rate }},
		{"median", "median", "ms", func(r *LevelRun) float64 { return r.Median }},
		{"p95", "p95", "ms", func(r *LevelRun) float64 { return r.P95 }},
		{"p99", "p99", "ms", func(r *LevelRun) float64 { return r.P99 }},
		{"cpu", "CPU per request", "ms", func(r *LevelRun) float64 { return r.CPU }},
	} {
		r := paired.Runs(l.side("a", f.of), l.side("b", f.of))
		if f.key == "cpu" && r.Pairs == 0 {
			continue
		}
		out = append(out, figure{f.key, f.name, f.unit, r})
	}
	a, b := l.failed("a"), l.failed("b")
	return append(out, figure{"errors", "error rate", "", paired.Ratio{
		A: a, B: b, Ratio: b / a, High: math.Inf(1), P: math.NaN(),
	}})
}

// judge adjusts all figures of all levels together. It is void where all levels are.
func (r *LevelsReport) judge(runs int) {
	var figures []figure
	void := make([]map[string]string, len(r.Levels))
	sound := 0
	for i := range r.Levels {
		l := &r.Levels[i]
		own := l.figures()
		void[i] = l.takeVoid(own)
		figures = append(figures, own...)
		switch {
		case l.Void == "":
			sound++
			r.Warnings = append(r.Warnings, voidWarnings(void[i])...)
		case r.Void == "":
			r.Void = l.Void
		}
		if a, b := l.failed("a"), l.failed("b"); failuresDiffer(a, b) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("with %s, %s", units.Counted(l.Users, "user"), otherWork(a, b)))
		}
	}
	if sound > 0 {
		r.Void = ""
	}
	all, tested := judged(figures)
	for i, at := 0, 0; i < len(r.Levels); i++ {
		l, begin := &r.Levels[i], at
		for range l.figures() {
			compared := figures[at].compared(&all[at], tested)
			compared.Void = void[i][compared.Key]
			l.Figures = append(l.Figures, compared)
			at++
		}
		verdict := paired.Sentence(all[begin:at])
		if l.Void != "" {
			verdict = "void: " + l.Void + "."
		}
		r.Verdict = append(r.Verdict, fmt.Sprintf("With %s: %s", units.Counted(l.Users, "user"), verdict))
	}
	if len(r.Levels) == 0 {
		r.Void = "no pair of runs was completed"
	}
	if runs < 3 {
		r.Warnings = append(r.Warnings, "fewer than three runs of each target say next to nothing of how runs differ")
	}
}

// Err reports whether the comparison counts as a success, as
// Comparison.Err; a gate's condition is looked at on every level, and one level that is
// void is an error even though the others stand.
func (r *LevelsReport) Err(gates []Gate) error {
	if r.Void != "" {
		return whittle.Errorf(whittle.Unavailable, "the comparison is void: %s", r.Void)
	}
	for i := range r.Levels {
		if l := &r.Levels[i]; l.Void != "" {
			return whittle.Errorf(whittle.Unavailable, "a part of the comparison is void: %s", l.Void)
		}
	}
	for i := range r.Levels {
		l := &r.Levels[i]
		if err := (&Comparison{Figures: l.Figures}).Err(gates); err != nil {
			return fmt.Errorf("with %s: %w", units.Counted(l.Users, "user"), err)
		}
		for _, side := range []string{"a", "b"} {
			if l.failed(side) == 1 && !onErrors(gates) {
				return whittle.Errorf(whittle.FallsShort, "with %s not one request to target %s succeeded", units.Counted(l.Users, "user"), strings.ToUpper(side))
			}
		}
	}
	return nil
}
