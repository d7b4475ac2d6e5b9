package rollout_test

import (
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

func TestCommand(t *testing.T) {
	off := rollout.State{Phase: whittle.PhaseOff, Since: began}
	live := rollout.State{Phase: whittle.PhaseLive, Share: whittle.All, Since: began}
	back := rollout.State{Phase: whittle.PhaseRolledBack, Since: began}
	held := shift(500)
	held.Held = true
	equivalent := rollout.Input{Verdict: whittle.Equivalent}
	undecided := rollout.Input{Verdict: whittle.Undecided, Summary: "42 more responses decide it."}
	different := rollout.Input{Verdict: whittle.Different, Summary: "The mean is off."}
	promote := rollout.Order{Kind: rollout.Promote, By: "ann"}
	forced := rollout.Order{Kind: rollout.Promote, By: "ann", Force: true, Reason: "launch day"}

	tests := []struct {
		name  string
		state rollout.State
		in    rollout.Input
		order rollout.Order
		phase whittle.Phase
		share whittle.Share
		text  string // of the decision, or in the error; empty: neither
		code  whittle.Code
	}{
		{"promote", shadow(), equivalent, promote, whittle.PhaseShift, 100, "Promoted by hand to 1 %.", 0},
		{"promote is one step on", shift(500), equivalent, promote, whittle.PhaseShift, 2500, "Promoted by hand to 25 %.", 0},
		{"promote after a rollback", back, equivalent, promote, whittle.PhaseShift, 100, "Promoted by hand to 1 %.", 0},
		{"promote from off shadows", off, different, promote, whittle.PhaseShadow, 0, "Switched on by hand, in shadow.", 0},
		{"promote ends the last step", shift(whittle.All), undecided, promote, whittle.PhaseLive, whittle.All, "Declared live by hand.", 0},
		{"promote undecided", shadow(), undecided, promote, whittle.PhaseShadow, 0, "the verdict is UNDECIDED: 42 more responses decide it", whittle.FailedPrecondition},
		{"force undecided", shadow(), undecided, forced, whittle.PhaseShift, 100, "Forced by hand to 1 % while the verdict is UNDECIDED: launch day.", 0},
		{"promote different", shadow(), different, promote, whittle.PhaseShadow, 0, "the verdict is DIFFERENT: The mean is off", whittle.FailedPrecondition},
		{"force different", shadow(), different, forced, whittle.PhaseShadow, 0, "the verdict is DIFFERENT: The mean is off", whittle.FailedPrecondition},
		{
			"promote into a breach", shift(500),
			rollout.Input{Verdict: whittle.Equivalent, Breach: &rollout.Breach{Guard: "errors"}},
			forced,
			whittle.PhaseShift, 500, "the errors guard was breached", whittle.FailedPrecondition,
		},
		{"promote live", live, equivalent, promote, whittle.PhaseLive, whittle.All, "no further step", whittle.FailedPrecondition},
		{"promote to the step meant", shift(500), equivalent, rollout.Order{Kind: rollout.Promote, To: 2500}, whittle.PhaseShift, 2500, "Promoted by hand to 25 %.", 0},
		{"promote twice", shift(500), equivalent, rollout.Order{Kind: rollout.Promote, To: 500}, whittle.PhaseShift, 500, "the next step is 25 %, not 5 %", whittle.FailedPrecondition},
		{"hold", shift(500), equivalent, rollout.Order{Kind: rollout.Hold, By: "ann", Reason: "freeze"}, whittle.PhaseShift, 500, "Held by ann: freeze.", 0},
		{"hold off", off, equivalent, rollout.Order{Kind: rollout.Hold}, whittle.PhaseOff, 0, "nothing to hold", whittle.FailedPrecondition},
		{"resume", held, equivalent, rollout.Order{Kind: rollout.Resume}, whittle.PhaseShift, 500, "Resumed by hand.", 0},
		{"resume what runs", shift(500), equivalent, rollout.Order{Kind: rollout.Resume}, whittle.PhaseShift, 500, "is not held", whittle.FailedPrecondition},
		{"rollback", shift(500), equivalent, rollout.Order{Kind: rollout.Rollback, Reason: "pager"}, whittle.PhaseRolledBack, 0, "Rolled back by hand: pager.", 0},
		{"rollback in shadow", shadow(), equivalent, rollout.Order{Kind: rollout.Rollback}, whittle.PhaseRolledBack, 0, "Rolled back by hand.", 0},
		{"rollback off", off, equivalent, rollout.Order{Kind: rollout.Rollback}, whittle.PhaseOff, 0, "nothing to roll back", whittle.FailedPrecondition},
		{"off", live, equivalent, rollout.Order{Kind: rollout.Off}, whittle.PhaseOff, 0, "Switched off by hand.", 0},
		{"off again", off, equivalent, rollout.Order{Kind: rollout.Off}, whittle.PhaseOff, 0, "", 0},
		{"reset", live, different, rollout.Order{Kind: rollout.Reset, Reason: "mended"}, whittle.PhaseShadow, 0, "Evidence starts afresh, back in shadow: mended.", 0},
		{"no kind", shadow(), equivalent, rollout.Order{}, whittle.PhaseShadow, 0, "unknown order", whittle.Invalid},
		{"force without a reason", shadow(), undecided, rollout.Order{Kind: rollout.Promote, Force: true, Reason: " "}, whittle.PhaseShadow, 0, "needs a reason", whittle.Invalid},
		{"two lines", shift(500), equivalent, rollout.Order{Kind: rollout.Rollback, Reason: "a\nb"}, whittle.PhaseShift, 500, "one line", whittle.Invalid},
		{"too long", shift(500), equivalent, rollout.Order{Kind: rollout.Off, By: strings.Repeat("x", rollout.MaxBy+1)}, whittle.PhaseShift, 500, "limit", whittle.Invalid},
		{"a share beyond all", shift(500), equivalent, rollout.Order{Kind: rollout.Promote, To: 10_001}, whittle.PhaseShift, 500, "does not exist", whittle.Invalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, d, err := rollout.Command(policy, tt.state, tt.in, tt.order, began.Add(time.Second))
			if got.Phase != tt.phase || got.Share != tt.share {
				t.Errorf("went to %s at %d, want %s at %d", got.Phase, got.Share, tt.phase, tt.share)
			}
			if tt.code != 0 {
				if d != nil || whittle.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("got %v, %v (%v); want %v %q", d, err, whittle.CodeOf(err), tt.code, tt.text)
				}
				return
			}
			fatal.If(t, err)
			switch {
			case tt.text == "" && d != nil:
				t.Errorf("decided %q, want none", d.Reason)
			case tt.text != "" && (d == nil || d.Reason != tt.text):
				t.Errorf("got %+v, want %q", d, tt.text)
			}
		})
	}
}

func TestForcedReasonIsKeptUntilTheShareIsBack(t *testing.T) {
	in := rollout.Input{Verdict: whittle.Undecided}
	s, _, err := rollout.Command(policy, shadow(), in, rollout.Order{Kind: rollout.Promote, Force: true, Reason: "launch day"}, began)
	if err != nil || s.Forced != "launch day" {
		t.Fatalf("forced %q, %v", s.Forced, err)
	}
	if s, _ = rollout.Step(policy, s, in, began.Add(time.Hour)); s.Share != 100 || s.Forced != "launch day" {
		t.Errorf("after an hour: %+v", s)
	}
	if s, _, _ = rollout.Command(policy, s, in, rollout.Order{Kind: rollout.Rollback}, began.Add(time.Hour)); s.Forced != "" {
		t.Errorf("forced %q after a rollback", s.Forced)
	}
}

func TestSwitchingOffEndsAHold(t *testing.T) {
	s := shift(500)
	s.Held, s.HeldReason = true, "Held by ann."
	for _, kind := range []rollout.Kind{rollout.Off, rollout.Reset} {
		if got, _, err := rollout.Command(policy, s, rollout.Input{}, rollout.Order{Kind: kind}, began); err != nil || got.Held {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
}
