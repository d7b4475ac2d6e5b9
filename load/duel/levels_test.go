package duel

import (
	"bytes"
	"context"
	"encoding/json"
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
		Plan: parsed(t, duelPlan), A: Contender{Target: slow.URL}, B: Contender{Target: quick.URL},
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

func TestLevelsEndEarly(t *testing.T) {
	srv := slowed(0)
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Levels{Plan: parsed(t, duelPlan), A: Contender{Target: srv.URL}, B: Contender{Target: srv.URL}, Users: []int{1}, Runs: 1}.Run(ctx)
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
