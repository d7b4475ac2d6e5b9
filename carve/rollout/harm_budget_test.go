package rollout_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
)

// TestBudgetInNumbers: the budget's figures where they change over, at and next to
// each bound.
func TestBudgetInNumbers(t *testing.T) {
	p := whittle.Rollout{Steps: []whittle.Share{100, 5000, whittle.All}, Harm: 0.005}
	unbudgeted := p
	unbudgeted.Harm = 0
	served := func(compared, differing int, bound, userBound float64) whittle.Served {
		return whittle.Served{Compared: compared, Differing: differing, Bound: bound, UserBound: userBound}
	}
	for name, c := range map[string]struct {
		p         whittle.Rollout
		s         rollout.State
		served    whittle.Served
		perSecond float64
		want      whittle.Harm
	}{
		"waits":             {p, shift(100), served(40, 0, 0.2, 0.2), 2, whittle.Harm{Bound: 0.2, Binds: "requests", Spent: 0.002, Next: 0.1, Needed: 661, Minutes: 5.6}},
		"users bind":        {p, shift(100), served(40, 0, 0.2, 0.4), 2, whittle.Harm{Bound: 0.4, Binds: "users", Spent: 0.004, Next: 0.2, Needed: 661, Minutes: 5.6}},
		"nobody knows when": {p, shift(100), served(40, 0, 0.2, 0.2), 0, whittle.Harm{Bound: 0.2, Binds: "requests", Spent: 0.002, Next: 0.1, Needed: 661, Minutes: -1}},
		"never":             {p, shift(100), served(40, 1, 0.2, 0.2), 2, whittle.Harm{Bound: 0.2, Binds: "requests", Spent: 0.002, Next: 0.1, Needed: -1, Minutes: -1}},
		"one more at least": {p, shift(100), served(2000, 0, 0.2, 0.2), 2, whittle.Harm{Bound: 0.2, Binds: "requests", Spent: 0.002, Next: 0.1, Needed: 1, Minutes: 0.1}},
		"just within":       {p, shift(100), served(701, 0, 0.01, 0.01), 2, whittle.Harm{Bound: 0.01, Binds: "requests", Spent: 0.0001, Next: 0.005}},
		"before any user":   {p, rollout.Start(p), served(0, 0, 1, 1), 2, whittle.Harm{Bound: 1, Binds: "requests", Next: 0.01}},
		"no budget":         {unbudgeted, shift(100), served(40, 0, 0.2, 0.2), 2, whittle.Harm{Bound: 0.2, Binds: "requests", Spent: 0.002, Next: 0.1}},
		"some uncompared":   {p, shift(100), whittle.Served{Compared: 40, Bound: 0.2, UserBound: 0.2, Uncompared: 0.001}, 2, whittle.Harm{Bound: 0.001 + 0.999*0.2, Binds: "requests", Spent: 0.002008, Next: 0.1004, Needed: 737, Minutes: 6.2}},
		"all uncompared":    {p, shift(100), whittle.Served{Compared: 40, Bound: 0.2, UserBound: 0.2, Uncompared: 0.01}, 2, whittle.Harm{Bound: 0.01 + 0.99*0.2, Binds: "requests", Spent: 0.00208, Next: 0.104, Needed: -1, Minutes: -1}},
		"no further step":   {p, shift(whittle.All), served(40, 0, 0.2, 0.2), 2, whittle.Harm{Bound: 0.2, Binds: "requests", Spent: 0.2}},
	} {
		got := rollout.Budget(c.p, c.s, c.served, sevenOver, c.perSecond)
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
		if !near(got.Bound, c.want.Bound) || got.Binds != c.want.Binds || !near(got.Spent, c.want.Spent) || !near(got.Next, c.want.Next) ||
			got.Needed != c.want.Needed || !near(got.Minutes, c.want.Minutes) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
	// Without a budget nothing waits for it.
	in := rollout.Input{Verdict: whittle.Equivalent, Harm: rollout.Budget(unbudgeted, shift(100), served(0, 0, 1, 1), sevenOver, 1)}
	unbudgeted.Auto = true
	if next, _ := rollout.Step(unbudgeted, shift(100), in, began.Add(time.Hour)); next.Share != 5000 {
		t.Errorf("without a budget the share is %d", next.Share)
	}
}

// TestWhyTheBudgetIsOver says what would help: more responses, other requests that can be
// compared, or more users.
func TestWhyTheBudgetIsOver(t *testing.T) {
	p := whittle.Rollout{Auto: true, Steps: []whittle.Share{100, 5000, whittle.All}, Harm: 0.005}
	for name, c := range map[string]struct {
		harm whittle.Harm
		why  string
	}{
		"more responses":           {whittle.Harm{Next: 0.1, Needed: 7, Minutes: -1}, ": 7 more of the candidate's responses to users are to be compared."},
		"more, some not compared":  {whittle.Harm{Next: 0.1, Needed: 7, Minutes: -1, Uncompared: 0.001}, ": 7 more of the candidate's responses to users are to be compared."},
		"too many not compared":    {whittle.Harm{Next: 0.1, Needed: -1, Minutes: -1, Uncompared: 0.02, Why: "streaming"}, ": 2.0 % of the requests could not be compared (streaming), so they count as wrong"},
		"more users":               {whittle.Harm{Next: 0.1, Needed: -1, Minutes: -1, Binds: "users", Users: 3}, ": 3 users were compared, and a user is the unit here."},
		"responses that are wrong": {whittle.Harm{Next: 0.1, Needed: -1, Minutes: -1, Compared: 9, Differing: 1, Uncompared: 0.02}, ": 1 of 9 compared responses of the candidate to users differ."},
	} {
		if got := rollout.Next(p, shift(100), rollout.Input{Verdict: whittle.Equivalent, Harm: c.harm}, began.Add(time.Hour)); !strings.Contains(got, c.why) {
			t.Errorf("%s: %q, want %q", name, got, c.why)
		}
	}
}

// TestLowers: only orders that can never raise the share or forget evidence.
func TestLowers(t *testing.T) {
	for _, kind := range rollout.Kinds {
		o := rollout.Order{Kind: kind}
		if want := kind == rollout.Rollback || kind == rollout.Off || kind == rollout.Hold; o.Lowers() != want {
			t.Errorf("%s lowers: %v", kind, o.Lowers())
		}
	}
}

// TestAnOrdersBounds: what is at a bound is within it, and an error has its hint.
func TestAnOrdersBounds(t *testing.T) {
	p := whittle.Rollout{Steps: []whittle.Share{whittle.All}}
	in := rollout.Input{Verdict: whittle.Equivalent}
	if next, _, err := rollout.Command(p, rollout.Start(p), in, rollout.Order{Kind: rollout.Promote, To: whittle.All}, began); err != nil || next.Share != whittle.All {
		t.Errorf("share %d, %v", next.Share, err)
	}
	if _, _, err := rollout.Command(p, rollout.Start(p), in, rollout.Order{Kind: rollout.Promote, To: whittle.All + 1}, began); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("a share above all of the users: %v", err)
	}
	for size, code := range map[int]whittle.Code{rollout.MaxReason: whittle.FailedPrecondition, rollout.MaxReason + 1: whittle.Invalid} {
		_, _, err := rollout.Command(p, rollout.Start(p), rollout.Input{}, rollout.Order{Kind: rollout.Promote, Reason: strings.Repeat("x", size)}, began)
		if whittle.CodeOf(err) != code {
			t.Errorf("a reason of %d bytes: %v", size, err)
		}
	}
	// The hint of a refused resume is for a route that was rolled back.
	for phase, hint := range map[whittle.Phase]string{whittle.PhaseRolledBack: "after a rollback, promote the route", whittle.PhaseShadow: ""} {
		_, _, err := rollout.Command(p, rollout.State{Phase: phase}, in, rollout.Order{Kind: rollout.Resume}, began)
		if coded, ok := errors.AsType[*whittle.Error](err); !ok || coded.Hint != hint {
			t.Errorf("%s: %v", phase, err)
		}
	}
}

// TestBudgetInWords: what the figures read like, and that a step which just keeps to
// the budget is taken.
func TestBudgetInWords(t *testing.T) {
	p := whittle.Rollout{Auto: true, Steps: []whittle.Share{100, 5000, whittle.All}, Harm: 0.005}
	unbudgeted := p
	unbudgeted.Harm = 0
	at := began.Add(time.Hour)
	for next, rises := range map[float64]bool{0.005: true, 0.0051: false} {
		in := rollout.Input{Verdict: whittle.Equivalent, Harm: whittle.Harm{Next: next}}
		if s, _ := rollout.Step(p, shift(100), in, at); (s.Share == 5000) != rises {
			t.Errorf("at %g of a budget of 0.005 the share is %d", next, s.Share)
		}
	}
	for minutes, says := range map[float64]string{0.5: "about a minute", 1: "about 1 minutes", 119.5: "about 120 minutes", 0: "about a minute", 120: "about 2 hours", 180: "about 3 hours", -1: "7 more of the candidate's responses to users are to be compared"} {
		in := rollout.Input{Verdict: whittle.Equivalent, Harm: whittle.Harm{Next: 0.1, Needed: 7, Minutes: minutes}}
		if text := rollout.Next(p, shift(100), in, at); !strings.Contains(text, says) || !strings.Contains(text, "up to 10 %") {
			t.Errorf("%g minutes read %q", minutes, text)
		}
	}
	if h := rollout.Budget(unbudgeted, shift(100), whittle.Served{Bound: 1}, sevenOver, 1); h.Summary != "no harm budget is kept" {
		t.Errorf("without a budget: %q", h.Summary)
	}
	if h := rollout.Budget(p, rollout.Start(p), whittle.Served{Bound: 1}, sevenOver, 1); h.Summary != "no user is on the candidate; of the budget of 0.5 % nothing is spent" {
		t.Errorf("before any user: %q", h.Summary)
	}
}

// TestWatchInNumbers: all responses are compared until enough are, then as many as
// keep the bound, and never fewer than the floor.
func TestWatchInNumbers(t *testing.T) {
	p := whittle.Rollout{Steps: []whittle.Share{100, 5000}, Harm: 0.005} // needs 701
	unbudgeted := p
	unbudgeted.Harm = 0
	for name, c := range map[string]struct {
		p        whittle.Rollout
		s        rollout.State
		compared int
		want     whittle.Share
	}{
		"too few":      {p, shift(100), 700, whittle.All},
		"enough":       {p, shift(100), 701, whittle.All},
		"twice enough": {p, shift(100), 1402, 5000},
		"plenty":       {p, shift(100), 1_000_000, 300},
		"no user":      {p, rollout.Start(p), 0, 300},
		"no budget":    {unbudgeted, shift(100), 0, 300},
	} {
		if got := rollout.Watch(c.p, c.s, whittle.Served{Compared: c.compared}, sevenOver, 300); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	never := func(most float64) int {
		t.Errorf("without a budget it is asked how many bring the bound to %g", most)
		return 1
	}
	if got := rollout.Watch(unbudgeted, shift(100), whittle.Served{Compared: 1}, never, 300); got != 300 {
		t.Errorf("without a budget %d are compared", got)
	}
	seven := func(float64) int { return 700 }
	p.Steps = append(p.Steps, whittle.All)
	for perDay, late := range map[float64]int{70_000: 0, 69_999: 1, 1000: 2} {
		if got := rollout.UnearnedWithin(p, seven, perDay); len(got) != late {
			t.Errorf("%g requests a day: %v are late, want %d", perDay, got, late)
		}
	}
	if got := rollout.UnearnedWithin(unbudgeted, seven, 1); got != nil {
		t.Errorf("without a budget: %v", got)
	}
}
