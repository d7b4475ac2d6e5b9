package rollout_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// ground is evidence on so many exchanges of a candidate's build, of which 300
// are needed.
func ground(epoch string, compared int) rollout.Ground {
	return rollout.Ground{Epoch: epoch, Compared: compared, Least: 300}
}

// TestResetDoesNotOverruleDifferent holds that DIFFERENT cannot be forced by way
// of a reset: not until as many exchanges were compared afresh as a verdict
// needs, and as it took the first time; by whatever way the route came back to
// UNDECIDED; and never for another build.
func TestResetDoesNotOverruleDifferent(t *testing.T) {
	forced := rollout.Order{Kind: rollout.Promote, By: "ann", Force: true, Reason: "launch day"}
	reset := rollout.Order{Kind: rollout.Reset, By: "ann"}
	undecided := func(epoch string, compared int) rollout.Input {
		return rollout.Input{Verdict: whittle.Undecided, Ground: ground(epoch, compared)}
	}
	for name, c := range map[string]struct {
		after   int             // how many exchanges DIFFERENT was said
		between []rollout.Input // seen by Step after the reset; a reset follows each
		at      rollout.Input
		refused string // "": the force is obeyed
	}{
		"at once":                                {9, nil, undecided("a", 0), "only 0 of 300 exchanges have been compared afresh"},
		"one too few":                            {9, nil, undecided("a", 299), "only 299 of 300"},
		"enough":                                 {9, nil, undecided("a", 300), ""},
		"enough for a verdict, but it took more": {2000, nil, undecided("a", 300), "only 300 of 2000"},
		"as many as it took":                     {2000, nil, undecided("a", 2000), ""},
		"reset twice":                            {9, []rollout.Input{undecided("a", 299)}, undecided("a", 10), "only 10 of 300"},
		"another build":                          {9, nil, undecided("b", 0), ""},
		"another build and back":                 {9, []rollout.Input{undecided("b", 50)}, undecided("a", 10), "only 10 of 300"},
		"equivalent since":                       {9, []rollout.Input{{Verdict: whittle.Equivalent, Ground: ground("a", 400)}}, undecided("a", 10), ""},
		"another build is equivalent":            {9, []rollout.Input{{Verdict: whittle.Equivalent, Ground: ground("b", 400)}}, undecided("a", 10), "only 10 of 300"},
		"different again":                        {9, nil, rollout.Input{Verdict: whittle.Different, Ground: ground("a", 400)}, "the verdict is DIFFERENT"},
	} {
		t.Run(name, func(t *testing.T) {
			now := began.Add(time.Minute)
			bad := rollout.Input{Verdict: whittle.Different, Summary: "The mean is off.", Ground: ground("a", c.after)}
			s, d, err := rollout.Command(policy, shadow(), bad, reset, now)
			if err != nil || !strings.Contains(d.Reason, "no promotion can be forced until ") {
				t.Fatalf("the reset says %+v, %v", d, err)
			}
			for _, in := range c.between {
				s, _ = rollout.Step(byHand, s, in, now)
				if s, _, err = rollout.Command(policy, s, in, reset, now); err != nil {
					t.Fatal(err)
				}
			}
			saved, err := rollout.Encode(s)
			fatal.If(t, err)
			s, err = rollout.Decode(saved)
			fatal.If(t, err)
			next, d, err := rollout.Command(policy, s, c.at, forced, now)
			switch {
			case c.refused == "":
				if err != nil || next.Share != 100 || !strings.Contains(d.Reason, "Forced by hand to 1 %") {
					t.Errorf("%+v, %v", next, err)
				}
			case err == nil || !strings.Contains(err.Error(), c.refused) || whittle.CodeOf(err) != whittle.FailedPrecondition || next != s:
				t.Errorf("%+v, %v, want %q", next, err, c.refused)
			}
		})
	}
}

// TestDifferentIsRememberedByItself holds that nobody has to order the reset:
// evidence that is lost, or begun afresh by a change of the config, leaves the
// refusal as it was.
func TestDifferentIsRememberedByItself(t *testing.T) {
	now := began.Add(time.Minute)
	different := rollout.Input{Verdict: whittle.Different, Summary: "The mean is off.", Ground: ground("a", 20)}
	s, _ := rollout.Step(byHand, shadow(), different, now)
	s, _, err := rollout.Command(policy, s, rollout.Input{}, rollout.Order{Kind: rollout.Reset, By: rollout.Self, Reason: "the saved evidence cannot be read"}, now)
	fatal.If(t, err)
	forced := rollout.Order{Kind: rollout.Promote, Force: true, Reason: "now"}
	_, _, err = rollout.Command(policy, s, rollout.Input{Verdict: whittle.Undecided, Ground: ground("a", 3)}, forced, now)
	if err == nil || !strings.Contains(err.Error(), "was DIFFERENT before the reset: The mean is off; only 3 of 300") {
		t.Errorf("%v", err)
	}
	// What is earned needs no force.
	if _, d, err := rollout.Command(policy, s, rollout.Input{Verdict: whittle.Equivalent, Ground: ground("a", 400)}, rollout.Order{Kind: rollout.Promote}, now); err != nil || d.To != 100 {
		t.Errorf("%+v, %v", d, err)
	}
}

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
		fatal.Same(t, d != nil && next.Share == 500, tc.rises, "%d compared, %d differing: %+v, %v", tc.served, tc.differing, next, d)
		if says := rollout.Next(p, s, in, at); !strings.Contains(says, tc.says) {
			t.Errorf("%d compared: it says %q", tc.served, says)
		}
		_, _, err := rollout.Command(p, s, in, rollout.Order{Kind: rollout.Promote, By: "ann"}, at)
		fatal.Same(t, err == nil, tc.rises, "%d compared: promoted by hand: %v", tc.served, err)
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
		"some uncompared": {p, shift(100), whittle.Served{Compared: 40, Bound: 0.2, UserBound: 0.2, Uncompared: 0.001}, 2, whittle.Harm{
			Bound: 0.001 + 0.999*0.2, Binds: "requests", Spent: 0.002008, Next: 0.1004, Needed: 737, Minutes: 6.2,
		}},
		"all uncompared": {p, shift(100), whittle.Served{Compared: 40, Bound: 0.2, UserBound: 0.2, Uncompared: 0.01}, 2, whittle.Harm{
			Bound: 0.01 + 0.99*0.2, Binds: "requests", Spent: 0.00208, Next: 0.104, Needed: -1, Minutes: -1,
		}},
		"no further step": {p, shift(whittle.All), served(40, 0, 0.2, 0.2), 2, whittle.Harm{Bound: 0.2, Binds: "requests", Spent: 0.2}},
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
		fatal.Same(t, rollout.Watch(c.p, c.s, c.served, sevenOver, 300), c.want, "%s", name)
	}
	never := func(most float64) int {
		t.Errorf("without a budget it is asked how many bring the bound to %g", most)
		return 1
	}
	fatal.Same(t, rollout.Watch(unbudgeted, shift(100), whittle.Served{Compared: 1}, never, 300), 300, "compared without a budget")
	seven := func(float64) int { return 700 }
	p.Steps = append(p.Steps, whittle.All)
	for perDay, late := range map[float64]int{70_000: 0, 69_999: 1, 1000: 2} {
		fatal.Same(t, len(rollout.UnearnedWithin(p, seven, perDay)), late, "late with %g requests a day", perDay)
	}
	if got := rollout.UnearnedWithin(unbudgeted, seven, 1); got != nil {
		t.Errorf("without a budget: %v", got)
	}
}
