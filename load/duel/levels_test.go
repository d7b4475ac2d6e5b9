package duel

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
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
	fatal.If(t, err)
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
	var text bytes.Buffer
	fatal.If(t, r.WriteSummary(&text))
	for _, want := range []string{"users  target", "B over A", "With 1 user: ", "With 5 users: "} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	gate := func(s string) error {
		g, err := ParseGate(s)
		fatal.If(t, err)
		return r.Err([]Gate{g})
	}
	if err := gate("median ratio < 1"); whittle.CodeOf(err) != whittle.FallsShort || !strings.Contains(err.Error(), "with 1 user") {
		t.Errorf("gate: %v", err)
	}
	if err := gate("median ratio > 2"); err != nil {
		t.Errorf("gate: %v", err)
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
