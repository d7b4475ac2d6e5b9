package rollout_test

import (
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
