package rollout_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
)

// sevenOver is about what a bound at 99 % takes: 7/n without a difference.
func sevenOver(most float64) int { return int(7/most) + 1 }

func servedSo(n, differing int) whittle.Served {
	bound := 1.0
	if n > 0 {
		bound = min(1, float64(7+5*differing)/float64(n))
	}
	return whittle.Served{Compared: n, Differing: differing, Bound: bound, UserBound: 0.001, Users: 900}
}

func budgeted() whittle.Rollout {
	p := policy
	p.Harm = 0.005
	return p
}

// TestARiseKeepsToTheBudget: the share rises only while the next share times the
// bound is within the budget, by itself and by hand; a forced order keeps its
// reason.
func TestARiseKeepsToTheBudget(t *testing.T) {
	p, s := budgeted(), shift(100)
	at := began.Add(time.Hour)
	in := rollout.Input{Verdict: whittle.Equivalent, StepServed: 50}
	for _, tc := range []struct {
		served, differing int
		rises             bool
		says              string
	}{
		{0, 0, false, "71 more"},
		{69, 0, false, "about a minute at today's rate"},
		{71, 0, true, ""},
		{71, 1, false, "1 of 71 compared responses of the candidate to users differ"},
	} {
		in.Harm = rollout.Budget(p, s, servedSo(tc.served, tc.differing), sevenOver, 2)
		next, d := rollout.Step(p, s, in, at)
		if rose := d != nil && next.Share == 500; rose != tc.rises {
			t.Errorf("%d compared, %d differing: %+v, %v", tc.served, tc.differing, next, d)
		}
		if says := rollout.Next(p, s, in, at); !strings.Contains(says, tc.says) {
			t.Errorf("%d compared: it says %q", tc.served, says)
		}
		_, _, err := rollout.Command(p, s, in, rollout.Order{Kind: rollout.Promote, By: "ann"}, at)
		if (err == nil) != tc.rises {
			t.Errorf("%d compared: promoted by hand: %v", tc.served, err)
		}
		forced, _, err := rollout.Command(p, s, in, rollout.Order{Kind: rollout.Promote, By: "ann", Force: true, Reason: "a drill"}, at)
		if err != nil || forced.Share != 500 {
			t.Errorf("%d compared: forced: %v", tc.served, err)
		}
	}
}

// TestTheFirstStepNeedsNoServedEvidence: nothing can be known before it.
func TestTheFirstStepNeedsNoServedEvidence(t *testing.T) {
	p := budgeted()
	in := rollout.Input{Verdict: whittle.Equivalent, Harm: rollout.Budget(p, shadow(), servedSo(0, 0), sevenOver, 0)}
	if next, d := rollout.Step(p, shadow(), in, began.Add(time.Hour)); d == nil || next.Share != 100 {
		t.Errorf("%+v, %v", next, d)
	}
}

// TestUsersBindWhereTheyAreFew: the larger of the two bounds counts.
func TestUsersBindWhereTheyAreFew(t *testing.T) {
	p, s := budgeted(), shift(500)
	served := servedSo(10_000, 0)
	served.UserBound, served.Users = 0.3, 20
	h := rollout.Budget(p, s, served, sevenOver, 5)
	if h.Binds != "users" || h.Bound != 0.3 || !strings.Contains(h.Summary, "20 users were compared") {
		t.Errorf("%+v", h)
	}
}

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

// TestWatchInNumbers: all responses are compared until enough are, then as many as
// keep the bound, and never fewer than the floor.
func TestWatchInNumbers(t *testing.T) {
	p := whittle.Rollout{Steps: []whittle.Share{100, 5000}, Harm: 0.005} // needs 701
	unbudgeted := p
	unbudgeted.Harm = 0
	for name, c := range map[string]struct {
		p      whittle.Rollout
		s      rollout.State
		served whittle.Served
		want   whittle.Share
	}{
		"too few":      {p, shift(100), servedSo(700, 0), whittle.All},
		"enough":       {p, shift(100), servedSo(701, 0), whittle.All},
		"twice enough": {p, shift(100), servedSo(1402, 0), 5000},
		"one differs":  {p, shift(100), servedSo(1402, 1), whittle.All},
		"plenty":       {p, shift(100), servedSo(1_000_000, 0), 300},
		"no user":      {p, rollout.Start(p), servedSo(0, 0), 300},
		"no budget":    {unbudgeted, shift(100), servedSo(0, 0), 300},
	} {
		if got := rollout.Watch(c.p, c.s, c.served, sevenOver, 300); got != c.want {
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
