package duel

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/load"
	"whittle/load/plan"
	"whittle/load/report"
)

func TestLevelsMakeOneTableOfTwoServers(t *testing.T) {
	t.Parallel()
	quick, slow := slowed(0), slowed(100*time.Millisecond)
	defer quick.Close()
	defer slow.Close()
	seen := map[string]bool{}
	r, err := Levels{
		Plan: parsed(t, duelPlan), A: Side{Target: slow.URL}, B: Side{Target: quick.URL},
		Users: []int{1, 5}, Runs: 3, Closed: plan.Closed{Duration: 400 * time.Millisecond, Ramp: time.Millisecond}, Options: load.Options{Seed: 2, MaxLate: time.Minute},
		OnProgress: func(run string, _ report.Progress) { seen[run] = true },
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Levels) != 2 || len(r.Verdict) != 2 || r.Early || r.Void != "" {
		t.Fatalf("%+v", r)
	}
	for _, l := range r.Levels {
		if len(l.Runs) != 6 {
			t.Errorf("%d users: %d runs", l.Users, len(l.Runs))
		}
		for _, f := range l.Figures {
			if f.Key == "median" && (!(f.Ratio < 1) || f.A < 100) || f.Key == "rate" && !(f.Ratio > 1) || f.Key == "cpu" {
				t.Errorf("%d users: %+v", l.Users, f)
			}
		}
	}
	var text, page bytes.Buffer
	if err := r.WriteSummary(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"users  target", "B over A", "With 1 user: ", "With 5 users: "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	needsNothing(t, page.String())
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	gate := func(s string) error {
		g, err := ParseGate(s)
		if err != nil {
			t.Fatal(err)
		}
		return r.Err([]Gate{g})
	}
	if err := gate("median ratio < 1"); whittle.CodeOf(err) != whittle.FallsShort || !strings.Contains(err.Error(), "with 1 user") {
		t.Errorf("gate: %v", err)
	}
	if err := gate("median ratio > 2"); err != nil {
		t.Errorf("gate: %v", err)
	}
}

// A target without responses has no figures: there is nothing to compare, and no
// condition is passed by that.
func TestLevelsAgainstATargetThatResponsesNothing(t *testing.T) {
	t.Parallel()
	srv, gone := slowed(0), slowed(0)
	defer srv.Close()
	gone.Close()
	r, err := Levels{
		Plan: parsed(t, duelPlan), A: Side{Target: srv.URL}, B: Side{Target: gone.URL}, Users: []int{2}, Runs: 2,
		Closed: plan.Closed{Loops: 3, Ramp: time.Millisecond}, Options: load.Options{Seed: 2, MaxLate: time.Minute},
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g, err := ParseGate("p99 ratio > 1.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, gates := range [][]Gate{nil, {g}} {
		if err := r.Err(gates); whittle.CodeOf(err) != whittle.Unavailable || !strings.Contains(err.Error(), "of target B with 2 users responded to none of its") {
			t.Errorf("%d conditions: %v", len(gates), err)
		}
	}
}

// levelOf is a level whose runs are all alike, but for what change does to them.
func levelOf(runs int, change func(*LevelRun)) Level {
	l := Level{Users: 5}
	for run := 1; run <= runs; run++ {
		for _, side := range []string{"a", "b"} {
			r := LevelRun{Side: side, Run: run, Rate: 100 + float64(run), Requests: 1000, Completed: 1000, Median: 10, P95: 20, P99: 30 + float64(run)}
			change(&r)
			l.Runs = append(l.Runs, r)
		}
	}
	return l
}

// A run without responses voids its level, and what was measured with other numbers of
// users stands; the comparison as a whole is then no success all the same.
func TestOneRunWithoutResponsesVoidsItsLevel(t *testing.T) {
	const why = "run 2 of target A with 5 users responded to none of its 1000 requests"
	silent := func(r *LevelRun) {
		if r.Side == "a" && r.Run == 2 {
			r.Completed, r.Failed, r.Rate = 0, 1000, 0
		}
	}
	r := &LevelsReport{Levels: []Level{levelOf(3, func(*LevelRun) {}), levelOf(3, silent)}}
	r.judge(3)
	if r.Void != "" || r.Levels[0].Void != "" || r.Levels[1].Void != why || r.Verdict[1] != "With 5 users: void: "+why+"." || strings.Contains(r.Verdict[0], "void") {
		t.Errorf("void %q, levels %q and %q, %q", r.Void, r.Levels[0].Void, r.Levels[1].Void, r.Verdict)
	}
	for i, f := range r.Levels[1].Figures {
		if f.Void != why || !math.IsNaN(float64(f.Ratio)) || r.Levels[0].Figures[i].Void != "" {
			t.Errorf("%+v", f)
		}
	}
	if err := r.Err(nil); whittle.CodeOf(err) != whittle.Unavailable || strings.Count(err.Error(), "users") != 1 || !strings.Contains(err.Error(), why) {
		t.Error(err)
	}
	all := &LevelsReport{Levels: []Level{levelOf(3, silent)}}
	all.judge(3)
	if all.Void != why || whittle.CodeOf(all.Err(nil)) != whittle.Unavailable || strings.Count(all.Err(nil).Error(), "users") != 1 {
		t.Errorf("void %q, %v", all.Void, all.Err(nil))
	}
}

// A generator that was late for a level's tail voids its p95 or p99, not the median's
// verdict; late for more, it voids the level.
func TestANoisyTailVoidsTheTailOfItsLevel(t *testing.T) {
	for _, c := range []struct {
		from float64
		gone string // figures
	}{{.99, "p99"}, {.95, "p95 p99"}, {.9, "p95 p99"}, {.75, "rate median p95 p99 errors"}} {
		r := &LevelsReport{Levels: []Level{levelOf(3, func(*LevelRun) {}), levelOf(3, func(r *LevelRun) {
			if r.Side == "b" {
				r.Median /= 2
			}
			if r.Side == "b" && r.Run == 1 {
				r.Void, r.LateFrom = "the generator was late", c.from
			}
		})}}
		r.judge(3)
		var gone []string
		for _, f := range r.Levels[1].Figures {
			if f.Void != "" {
				gone = append(gone, f.Key)
			}
		}
		level := c.from < .9
		if strings.Join(gone, " ") != c.gone || r.Void != "" || (r.Levels[1].Void != "") != level {
			t.Errorf("late from %v: without %q, void %q", c.from, gone, r.Levels[1].Void)
		}
		if !level && (!strings.Contains(r.Verdict[1], "B's median") || !strings.Contains(strings.Join(r.Warnings, " "), "p99 is void and not compared, the other figures stand: run 1 of target B with 5 users")) {
			t.Errorf("late from %v: %q, %q", c.from, r.Verdict[1], r.Warnings)
		}
		if err := r.Err(nil); (err != nil) != level {
			t.Errorf("late from %v: %v", c.from, err)
		}
	}
}

// A target that fails at everything is no success, unless a condition on errors decides.
func TestALevelOfNothingButFailuresFails(t *testing.T) {
	r := &LevelsReport{Levels: []Level{levelOf(3, func(r *LevelRun) {
		if r.Side == "b" {
			r.Failed = r.Requests
		}
	})}}
	r.judge(3)
	if err := r.Err(nil); whittle.CodeOf(err) != whittle.FallsShort || !strings.Contains(err.Error(), "with 5 users not one request to target B succeeded") {
		t.Error(err)
	}
	gates, err := ParseGates([]string{"errors ratio < 1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(gates); err != nil {
		t.Error(err)
	}
	both := &LevelsReport{Levels: []Level{levelOf(3, func(r *LevelRun) { r.Failed = r.Requests })}}
	both.judge(3)
	if both.Void != "with 5 users not one request succeeded, to A or to B" {
		t.Error(both.Void)
	}
}

func TestLevelsSayThatErrorsAreNotTheSameWork(t *testing.T) {
	for failed, warned := range map[int64]bool{0: false, 10: false, 200: true} {
		r := &LevelsReport{Levels: []Level{levelOf(3, func(r *LevelRun) {
			if r.Side == "b" {
				r.Failed = failed
			}
		})}}
		r.judge(3)
		if got := strings.Contains(strings.Join(r.Warnings, " "), "with 5 users, A failed 0.0 % of its requests and B 20.0 %"); got != warned || r.Void != "" {
			t.Errorf("%d of 1000 failed: %v, void %q", failed, r.Warnings, r.Void)
		}
	}
}

func TestLevelsEndEarly(t *testing.T) {
	srv := slowed(0)
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Levels{Plan: parsed(t, duelPlan), A: Side{Target: srv.URL}, B: Side{Target: srv.URL}, Users: []int{1}, Runs: 1}.Run(ctx)
	if err != nil || !r.Early || len(r.Levels) != 0 || whittle.CodeOf(r.Err(nil)) != whittle.Unavailable {
		t.Errorf("%+v, %v", r, err)
	}
	for _, l := range []Levels{{}, {Users: make([]int, 21)}, {Users: []int{1}, Runs: 101}, {Users: []int{0}}} {
		l.Plan = parsed(t, duelPlan)
		if _, err := l.Run(t.Context()); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%v users, %d runs: %v", l.Users, l.Runs, err)
		}
	}
}

// The seed ramps users up over a tenth of a second each, but for a single one.
func TestRampOfALevel(t *testing.T) {
	l := Levels{}
	for users, want := range map[int]time.Duration{1: 0, 50: 5 * time.Second, 1000: 100 * time.Second} {
		if c := l.closed(users); c.Ramp != want || c.Users != users {
			t.Errorf("%d users: %+v", users, c)
		}
	}
}
