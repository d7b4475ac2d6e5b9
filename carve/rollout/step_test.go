package rollout_test

import (
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

var (
	began  = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	policy = whittle.Rollout{
		Auto:        true,
		Steps:       []whittle.Share{100, 500, 2500, 10_000},
		Hold:        30 * time.Second,
		MinRequests: 50,
	}
	byHand = whittle.Rollout{Steps: policy.Steps, Hold: policy.Hold, MinRequests: policy.MinRequests}
)

func shadow() rollout.State { return inPhase(whittle.PhaseShadow, 0) }

func shift(share whittle.Share) rollout.State { return inPhase(whittle.PhaseShift, share) }

// inPhase is a state of the other phases.
func inPhase(phase whittle.Phase, share whittle.Share) rollout.State {
	return rollout.State{Phase: phase, Share: share, Since: began}
}

// said is evidence of a verdict.
func said(verdict whittle.State, summary string) rollout.Input {
	return rollout.Input{Verdict: verdict, Summary: summary}
}

// served is evidence of a verdict and so many requests served at the step.
func served(verdict whittle.State, n int) rollout.Input {
	return rollout.Input{Verdict: verdict, StepServed: n}
}

func breach(guard, reason string) rollout.Input {
	return rollout.Input{Verdict: whittle.Equivalent, Breach: &rollout.Breach{Guard: guard, Hard: guard == "breaker", Reason: reason}}
}

func TestStep(t *testing.T) {
	retrying := policy
	retrying.Retry = 5 * time.Minute
	shorter := policy
	shorter.Steps = []whittle.Share{100, 500}
	rolledBack := inPhase(whittle.PhaseRolledBack, 0)
	byHandBack := rolledBack
	byHandBack.ByHand = true
	held := shift(500)
	held.Held = true
	undecided, different := said(whittle.Undecided, ""), said(whittle.Different, "")
	good := func(n int) rollout.Input { return served(whittle.Equivalent, n) }

	tests := []struct {
		name   string
		policy whittle.Rollout
		state  rollout.State
		in     rollout.Input
		after  time.Duration
		phase  whittle.Phase
		share  whittle.Share
		reason string // empty: no decision
	}{
		{"undecided stays in shadow", policy, shadow(), undecided, time.Hour, whittle.PhaseShadow, 0, ""},
		{"different stays in shadow", policy, shadow(), different, time.Hour, whittle.PhaseShadow, 0, ""},
		{
			"equivalent leaves shadow", policy, shadow(), said(whittle.Equivalent, "No difference in 312 responses."), 0, whittle.PhaseShift, 100,
			"The verdict is EQUIVALENT: No difference in 312 responses; the shift starts at 1 %.",
		},
		{"by hand means by hand", byHand, shadow(), good(0), time.Hour, whittle.PhaseShadow, 0, ""},
		{"off stays off", policy, inPhase(whittle.PhaseOff, 0), good(0), time.Hour, whittle.PhaseOff, 0, ""},
		{"a step lasts its hold", policy, shift(500), good(60), 30*time.Second - 1, whittle.PhaseShift, 500, ""},
		{"a step needs its requests", policy, shift(500), good(49), time.Hour, whittle.PhaseShift, 500, ""},
		{"a step needs the verdict", policy, shift(500), served(whittle.Undecided, 60), time.Hour, whittle.PhaseShift, 500, ""},
		{
			"a step on", policy, shift(500), good(60), 31 * time.Second, whittle.PhaseShift, 2500,
			"5 % was held for 31s and served 60 requests, and the verdict is EQUIVALENT; on to 25 %.",
		},
		{
			"the last step ends live", byHand, shift(10_000), served(whittle.Undecided, 812), 5 * time.Minute, whittle.PhaseLive, 10_000,
			"100 % was held for 5m and served 812 requests; the shift is over.",
		},
		{"a hold stops a step", policy, held, good(60), time.Hour, whittle.PhaseShift, 500, ""},
		{
			"a hold stops no fall", policy, held, breach("errors", "9 of 10 failed."), time.Second, whittle.PhaseRolledBack, 0,
			"The errors guard was breached: 9 of 10 failed; the monolith serves everything again.",
		},
		{
			"different rolls back", policy, shift(2500), said(whittle.Different, "The mean is 1 % lower."), time.Second, whittle.PhaseRolledBack, 0,
			"The verdict is DIFFERENT: The mean is 1 % lower; the monolith serves everything again.",
		},
		{
			"a hard breach", policy, shift(2500), breach("breaker", "20 bad responses in a row"), time.Second, whittle.PhaseRolledBack, 0,
			"The breaker tripped: 20 bad responses in a row; the monolith serves everything again.",
		},
		{
			"a breach ends live", policy, inPhase(whittle.PhaseLive, 10_000), breach("p99", ""), time.Second, whittle.PhaseRolledBack, 0,
			"The p99 guard was breached; the monolith serves everything again.",
		},
		{"no retry unless asked for", policy, rolledBack, good(0), 24 * time.Hour, whittle.PhaseRolledBack, 0, ""},
		{"a retry waits", retrying, rolledBack, good(0), 5*time.Minute - 1, whittle.PhaseRolledBack, 0, ""},
		{
			"a retry starts at the first step", retrying, rolledBack, good(0), 5 * time.Minute, whittle.PhaseShift, 100,
			"5m have passed since the rollback and the verdict is EQUIVALENT; the shift starts again at 1 %.",
		},
		{"no retry of a different candidate", retrying, rolledBack, different, time.Hour, whittle.PhaseRolledBack, 0, ""},
		{"no retry of what was rolled back by hand", retrying, byHandBack, good(0), time.Hour, whittle.PhaseRolledBack, 0, ""},
		{
			"a config that ends earlier", shorter, shift(2500), good(0), time.Second, whittle.PhaseShift, 500,
			"The steps in the config now end at 5 %; the share falls from 25 %.",
		},
		{
			"a policy without steps has one",
			whittle.Rollout{Auto: true},
			shadow(), good(0), 0, whittle.PhaseShift, whittle.All,
			"The verdict is EQUIVALENT; the shift starts at 100 %.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			now := began.Add(tt.after)
			got, d := rollout.Step(tt.policy, tt.state, tt.in, now)
			if got.Phase != tt.phase || got.Share != tt.share {
				t.Fatalf("went to %s at %d, want %s at %d", got.Phase, got.Share, tt.phase, tt.share)
			}
			if tt.reason == "" {
				if d != nil {
					t.Fatalf("decided %q, want no decision", d.Reason)
				}
				return
			}
			if d == nil {
				t.Fatal("no decision")
			}
			want := whittle.Decision{At: now, From: tt.state.Share, To: tt.share, Phase: tt.phase, Reason: tt.reason, By: rollout.Self}
			fatal.Same(t, *d, want, "decision")
			if got.Reason != tt.reason || !got.Since.Equal(now) {
				t.Errorf("state keeps %q since %s", got.Reason, got.Since)
			}
		})
	}
}

func TestResumedHoldsTheStepAgain(t *testing.T) {
	later := began.Add(time.Hour)
	s := rollout.Resumed(shift(500), later)
	ready := rollout.Input{Verdict: whittle.Equivalent, StepServed: 1000}
	if _, d := rollout.Step(policy, s, ready, later.Add(policy.Hold-1)); d != nil {
		t.Errorf("the time that nobody watched counted: %q", d.Reason)
	}
	if next, _ := rollout.Step(policy, s, ready, later.Add(policy.Hold)); next.Share != 2500 {
		t.Errorf("share %d after the hold", next.Share)
	}
}

func TestNext(t *testing.T) {
	retrying := policy
	retrying.Retry = 5 * time.Minute
	held := shift(500)
	held.Held, held.HeldReason = true, "Held by ann: freeze."
	taken := inPhase(whittle.PhaseRolledBack, 0)
	taken.Held, taken.HeldReason = true, held.HeldReason
	late := shift(500)
	late.Since = began.Add(-time.Hour)
	stickyBy := func(by string) whittle.Rollout {
		p := policy
		p.Sticky.By = by
		return p
	}
	tests := []struct {
		name   string
		policy whittle.Rollout
		state  rollout.State
		in     rollout.Input
		want   string
	}{
		{"shadow", policy, shadow(), said(whittle.Undecided, ""), "shadow → 1 %: needs the verdict EQUIVALENT (UNDECIDED now)."},
		{"by hand", byHand, shadow(), said(whittle.Undecided, ""), "shadow → 1 %: needs a promotion by hand."},
		{"step", policy, shift(500), served(whittle.Equivalent, 31), "5 % → 25 % in 12s at the earliest; 31 of 50 requests served."},
		{"ready", policy, shadow(), said(whittle.Equivalent, ""), "shadow → 1 % now."},
		{"last", policy, shift(10_000), served(whittle.Equivalent, 60), "100 % → live in 12s at the earliest."},
		{"held", policy, held, said(whittle.Equivalent, ""), "Nothing until it is resumed. Held by ann: freeze."},
		{"off", policy, inPhase(whittle.PhaseOff, 0), rollout.Input{}, "Nothing: the route is switched off until it is promoted or reset."},
		{
			"live", policy, inPhase(whittle.PhaseLive, whittle.All), said(whittle.Equivalent, ""),
			"Nothing more to shift: the candidate serves 100 %, and a sample is still compared.",
		},
		{
			"different", policy, shadow(), said(whittle.Different, "The mean is off."),
			"No shift: the verdict is DIFFERENT: The mean is off. Fix the candidate and reset, or declare the difference in the config.",
		},
		{
			"different, not said twice", policy, shadow(), said(whittle.Different, "DIFFERENT after 300 exchanges: mean shown."),
			"No shift: the verdict is DIFFERENT after 300 exchanges: mean shown. Fix the candidate and reset, or declare the difference in the config.",
		},
		{
			"nothing compared, not said twice", policy, shadow(), said(whittle.Different, "DIFFERENT: none could be compared."),
			"No shift: the verdict is DIFFERENT: none could be compared. Fix the candidate and reset, or declare the difference in the config.",
		},
		{"rolled back", policy, inPhase(whittle.PhaseRolledBack, 0), said(whittle.Equivalent, ""), "0 % → 1 %: needs a promotion by hand."},
		{"rolled back while held", policy, taken, said(whittle.Equivalent, ""), "0 % → 1 %: needs a promotion by hand."},
		{"no user by address", stickyBy("address"), late, served(whittle.Equivalent, 0), "5 % → 25 %: 0 of 50 requests served (by address, all requests of one machine are one user: see rollout.sticky_by)."},
		{"no user by header", stickyBy("header"), late, served(whittle.Equivalent, 0), "5 % → 25 %: 0 of 50 requests served."},
		{"retry", retrying, inPhase(whittle.PhaseRolledBack, 0), said(whittle.Equivalent, ""), "0 % → 1 % in 4m42s at the earliest."},
		{"breach", policy, shift(500), breach("errors", ""), "Back to the monolith at once. The errors guard was breached."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fatal.Same(t, rollout.Next(tt.policy, tt.state, tt.in, began.Add(18*time.Second)), tt.want, "what comes next")
		})
	}
}

// TestOnlyWhatNobodyOrderedIsRetried: a shift that a guard has ended begins again
// after a time; one that somebody has ended does not.
func TestOnlyWhatNobodyOrderedIsRetried(t *testing.T) {
	p := policy
	p.Retry = time.Minute
	at := began.Add(time.Hour)
	fell, _ := rollout.Step(p, shift(500), rollout.Input{Breach: &rollout.Breach{Guard: "errors"}}, began)
	taken, _, err := rollout.Command(p, shift(500), rollout.Input{}, rollout.Order{Kind: rollout.Rollback, By: "ann"}, began)
	if err != nil || fell.Phase != whittle.PhaseRolledBack || taken.Phase != whittle.PhaseRolledBack {
		t.Fatalf("%+v, %+v, %v", fell, taken, err)
	}
	in := rollout.Input{Verdict: whittle.Equivalent}
	if next, d := rollout.Step(p, fell, in, at); d == nil || next.Share != 100 {
		t.Errorf("what a guard has ended is not retried: %+v", next)
	}
	if next, d := rollout.Step(p, taken, in, at); d != nil {
		t.Errorf("what ann has ended is retried: %+v", next)
	}
}

// TestAGuardLetsARiseWait: what a guard lets wait is a rise, out of shadow and from
// step to step, by itself and by hand; a forced order passes, and no share falls.
func TestAGuardLetsARiseWait(t *testing.T) {
	at := began.Add(time.Hour)
	in := rollout.Input{Verdict: whittle.Equivalent, StepServed: 10_000, Wait: "mirrored responses are slow"}
	for _, s := range []rollout.State{shadow(), shift(100), shift(500)} {
		next, d := rollout.Step(policy, s, in, at)
		if d != nil || next.Share != s.Share || next.Phase != s.Phase {
			t.Errorf("%d bp: %+v, %+v", s.Share, next, d)
		}
		if says := rollout.Next(policy, s, in, at); !strings.HasSuffix(says, ": mirrored responses are slow.") {
			t.Errorf("%d bp: it says %q", s.Share, says)
		}
		order := rollout.Order{Kind: rollout.Promote, By: "ann"}
		if _, _, err := rollout.Command(policy, s, in, order, at); err == nil || !strings.Contains(err.Error(), "no promotion: mirrored responses are slow") {
			t.Errorf("%d bp: promoted by hand: %v", s.Share, err)
		}
		fatal.Same(t, rollout.Withheld(policy, s, in), in.Wait, "%d bp: withheld", s.Share)
		order.Force, order.Reason = true, "the cache is cold"
		forced, d, err := rollout.Command(policy, s, in, order, at)
		if err != nil || forced.Share <= s.Share || !strings.Contains(d.Reason, "while a guard lets it wait: the cache is cold") {
			t.Errorf("%d bp: forced: %v, %+v", s.Share, err, d)
		}
	}
	live := inPhase(whittle.PhaseLive, whittle.All)
	if next, d := rollout.Step(policy, live, in, at); d != nil || next.Share != whittle.All || rollout.Withheld(policy, live, in) != "" {
		t.Errorf("live: %+v, %+v", next, d)
	}
}

// A step beyond the first waits until responses were compared in as many seconds as the
// policy says, and the first does not.
func TestARiseTakesEvidenceSpreadOverTime(t *testing.T) {
	soaking := policy
	soaking.Soak = 90*time.Second + time.Millisecond
	for _, tc := range []struct {
		state   rollout.State
		seconds int
		rises   bool
	}{
		{shadow(), 0, true}, {shift(100), 90, false}, {shift(100), 91, true}, {shift(2500), 90, false},
	} {
		in := rollout.Input{Verdict: whittle.Equivalent, StepServed: 60, Harm: whittle.Harm{Seconds: tc.seconds}}
		_, d := rollout.Step(soaking, tc.state, in, began.Add(time.Hour))
		fatal.Same(t, d != nil, tc.rises, "at %d, %d seconds: %+v", tc.state.Share, tc.seconds, d)
		next := rollout.Next(soaking, tc.state, in, began.Add(time.Hour))
		if tc.rises == strings.Contains(next, "in 91 different seconds (") {
			t.Errorf("at %d, %d seconds: %q", tc.state.Share, tc.seconds, next)
		}
	}
}

// A state that another clock has put into the future does not wait for it, and a share
// that is lowered keeps its users on the candidate where it is not 0.
func TestAStateOfAnotherClock(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	later := now.Add(time.Hour)
	s := rollout.Resumed(rollout.State{Phase: whittle.PhaseRolledBack, Since: later, Decided: later}, now)
	if !s.Since.Equal(now) || !s.Decided.Equal(now) {
		t.Errorf("since %s, decided %s", s.Since, s.Decided)
	}
	high := rollout.State{Phase: whittle.PhaseLive, Share: 5000, Since: now, Decided: now}
	if s, d := rollout.Lowered(high, 1000, "Why", now); s.Share != 1000 || s.Phase != whittle.PhaseShift || d.From != 5000 || d.Reason != "Why." {
		t.Errorf("%+v, %+v", s, d)
	}
	if s, d := rollout.Lowered(high, 0, "Why", now); s.Share != 0 || s.Phase != whittle.PhaseRolledBack || s.ByHand || d.By != rollout.Self {
		t.Errorf("%+v, %+v", s, d)
	}
	if s, _ := rollout.Lowered(high, 9000, "Why", now); s.Share != 5000 {
		t.Errorf("a lowered share of %d", s.Share)
	}
}
