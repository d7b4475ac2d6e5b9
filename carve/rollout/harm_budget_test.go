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

// TestBudgetInNumbers: the budget's figures where they change over, at and beside
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
		"no further step":   {p, shift(whittle.All), served(40, 0, 0.2, 0.2), 2, whittle.Harm{Bound: 0.2, Binds: "requests", Spent: 0.2}},
	} {
		got := rollout.Budget(c.p, c.s, c.served, sevenOver, c.perSecond)
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
		if got.Bound != c.want.Bound || got.Binds != c.want.Binds || !near(got.Spent, c.want.Spent) || !near(got.Next, c.want.Next) ||
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
