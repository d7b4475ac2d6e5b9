package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// gated is policy with gates of both kinds before every moment, and one that may
// take users off.
func gated() whittle.Rollout {
	p := policy
	step := []whittle.GateMoment{whittle.GateStep, whittle.GateLive}
	p.Gates = []whittle.Gate{
		{Name: "begin", Before: []whittle.GateMoment{whittle.GateFirst}, Hook: &whittle.Hook{}},
		{Name: "hook", Before: step, Hook: &whittle.Hook{}},
		{Name: "ann", Before: step},
		{Name: "bob", Before: []whittle.GateMoment{whittle.GateStep}},
		{Name: "alarm", Before: []whittle.GateMoment{whittle.GateRollback}, Hook: &whittle.Hook{}},
	}
	return p
}

func namesOf(gates []whittle.Gate) string {
	var names []string
	for _, g := range gates {
		names = append(names, g.Name)
	}
	return strings.Join(names, " ")
}

func backOff(byHand bool) rollout.State {
	return rollout.State{Phase: whittle.PhaseRolledBack, Since: began, ByHand: byHand}
}

func TestWhichGatesAreBeforeAStep(t *testing.T) {
	auto, retrying, manual := gated(), gated(), gated()
	retrying.Retry = time.Minute
	manual.Auto = false
	for name, c := range map[string]struct {
		p      whittle.Rollout
		s      rollout.State
		names  string
		before whittle.GateMoment
	}{
		"off":                       {auto, inPhase(whittle.PhaseOff, 0), "", ""},
		"live":                      {auto, inPhase(whittle.PhaseLive, whittle.All), "", ""},
		"shadow":                    {auto, shadow(), "begin", whittle.GateFirst},
		"shadow, by hand":           {manual, shadow(), "", ""},
		"a step":                    {auto, shift(500), "hook ann bob", whittle.GateStep},
		"a step, by hand":           {manual, shift(500), "", ""},
		"the end":                   {auto, shift(whittle.All), "hook ann", whittle.GateLive},
		"the end, by hand":          {manual, shift(whittle.All), "hook ann", whittle.GateLive},
		"rolled back for good":      {auto, backOff(false), "", ""},
		"rolled back for a while":   {retrying, backOff(false), "begin", whittle.GateFirst},
		"rolled back by somebody":   {retrying, backOff(true), "", ""},
		"a shift after such a fall": {retrying, func() rollout.State { s := shift(500); s.ByHand = true; return s }(), "hook ann bob", whittle.GateStep},
	} {
		gates, before := rollout.Gates(c.p, c.s)
		if namesOf(gates) != c.names || before != c.before {
			t.Errorf("%s: %s before %q, want %s before %q", name, namesOf(gates), before, c.names, c.before)
		}
	}
}

// TestAskedWhenTheStepIsDue: a webhook is asked about a step that waits for nothing
// else, once; a gate that is opened by hand never is.
func TestAskedWhenTheStepIsDue(t *testing.T) {
	p, ready := gated(), rollout.Input{Verdict: whittle.Equivalent, StepServed: policy.MinRequests}
	due := began.Add(policy.Hold)
	held, opened, unknown := shift(500), shift(500), shift(500)
	held.Held, opened.Approved, unknown.Since = true, "bob,hook", time.Time{}
	breached := ready
	breached.Breach = &rollout.Breach{Guard: "errors"}
	different := ready
	different.Verdict = whittle.Different
	undecided := ready
	undecided.Verdict = whittle.Undecided
	for name, c := range map[string]struct {
		s     rollout.State
		in    rollout.Input
		now   time.Time
		names string
	}{
		"due":                  {shift(500), ready, due, "hook"},
		"due from shadow":      {shadow(), ready, began, "begin"},
		"due at the end":       {shift(whittle.All), ready, due, "hook"},
		"opened by hand":       {opened, ready, due, ""},
		"too early":            {shift(500), ready, due.Add(-1), ""},
		"held":                 {held, ready, due, ""},
		"never stepped":        {unknown, ready, due, ""},
		"breached":             {shift(500), breached, due, ""},
		"breached in shadow":   {shadow(), breached, due, ""},
		"undecided":            {shift(500), undecided, due, ""},
		"different":            {shift(500), different, due, ""},
		"different in the end": {shift(whittle.All), different, due, ""},
		"off":                  {inPhase(whittle.PhaseOff, 0), ready, due, ""},
	} {
		if gates, _ := rollout.Due(p, c.s, c.in, c.now); namesOf(gates) != c.names {
			t.Errorf("%s: %q is asked, want %q", name, namesOf(gates), c.names)
		}
	}
	fatal.Same(t, namesOf(rollout.Recalls(p, shift(500))), "alarm", "what may take the users off the candidate")
	if got := rollout.Recalls(p, shadow()); got != nil {
		t.Errorf("without users %q may take them off", namesOf(got))
	}
}

// TestAStepWaitsForItsGates says in order what it waits for: the gates that are opened
// by hand at any time, the others once they are asked.
func TestAStepWaitsForItsGates(t *testing.T) {
	p, due := gated(), began.Add(policy.Hold)
	in := rollout.Input{Verdict: whittle.Equivalent, StepServed: policy.MinRequests}
	said := in
	said.Gates = map[string]rollout.GateState{"hook": {Wait: "for 2s: last response 503"}}
	open := in
	open.Gates = map[string]rollout.GateState{"hook": {Open: true}}
	approved := shift(500)
	approved.Approved = "ann,bob"
	const hands = "needs the approval of gate ann; needs the approval of gate bob"
	for name, c := range map[string]struct {
		s    rollout.State
		in   rollout.Input
		now  time.Time
		next string
	}{
		"too early":    {shift(500), in, due.Add(-10 * time.Second), "5 % → 25 % in 10s at the earliest; " + hands + "."},
		"not asked":    {shift(500), in, due, "5 % → 25 %: waiting for gate hook, which has not responded yet; " + hands + "."},
		"asked":        {shift(500), said, due, "5 % → 25 %: waiting for gate hook for 2s: last response 503; " + hands + "."},
		"open":         {shift(500), open, due, "5 % → 25 %: " + hands + "."},
		"opened, open": {approved, open, due, "5 % → 25 % now."},
	} {
		fatal.Same(t, rollout.Next(p, c.s, c.in, c.now), c.next, "%s", name)
		next, _ := rollout.Step(p, c.s, c.in, c.now)
		if rises := strings.HasSuffix(c.next, "now."); (next.Share > 500) != rises {
			t.Errorf("%s: the share is %d", name, next.Share)
		}
	}
}

func TestGatesAreOpenedByHand(t *testing.T) {
	hooks, plain := gated(), policy
	hooks.Gates = slices.DeleteFunc(hooks.Gates, func(g whittle.Gate) bool { return g.Hook == nil })
	approve := func(p whittle.Rollout, s rollout.State, gate string) (rollout.State, *whittle.Decision, error) {
		return rollout.Command(p, s, rollout.Input{Verdict: whittle.Equivalent}, rollout.Order{Kind: rollout.Approve, By: "cat", Gate: gate}, began)
	}
	after := func(approved string) rollout.State {
		s := shift(500)
		s.Approved = approved
		return s
	}
	for name, c := range map[string]struct {
		p                         whittle.Rollout
		s                         rollout.State
		gate                      string
		approved, decided, refuse string
	}{
		"all":               {gated(), shift(500), "", "ann,bob", "Approved by cat for 5 % → 25 %: gates ann, bob.", ""},
		"one":               {gated(), shift(500), "bob", "bob", "Approved by cat for 5 % → 25 %: gate bob.", ""},
		"another":           {gated(), after("bob"), "ann", "bob,ann", "Approved by cat for 5 % → 25 %: gate ann.", ""},
		"the others":        {gated(), after("bob"), "", "bob,ann", "Approved by cat for 5 % → 25 %: gate ann.", ""},
		"in a hook's place": {gated(), shift(500), "hook", "hook", "Approved by cat for 5 % → 25 %: gate hook.", ""},
		"twice":             {gated(), after("ann,bob"), "", "ann,bob", "", ""},
		"one twice":         {gated(), after("bob"), "bob", "bob", "", ""},
		"hooks alone":       {hooks, shift(500), "", "", "", "every gate before the next step is asked by a webhook"},
		"hooks, one opened": {hooks, after("hook"), "", "hook", "", ""},
		"unknown":           {gated(), shift(500), "dan", "", "", `there is no gate "dan" before the next step`},
		"of another moment": {gated(), shift(500), "begin", "", "", `there is no gate "begin" before the next step`},
		"no gates":          {plain, shift(500), "", "", "", "there is no gate before the next step"},
	} {
		s, d, err := approve(c.p, c.s, c.gate)
		if c.refuse != "" {
			if whittle.CodeOf(err) != whittle.FailedPrecondition || !strings.Contains(err.Error(), c.refuse) {
				t.Errorf("%s: %v, want %q", name, err, c.refuse)
			}
			continue
		}
		if err != nil || s.Approved != c.approved || (d == nil) != (c.decided == "") || d != nil && d.Reason != c.decided {
			t.Errorf("%s: %q approved, %+v, %v; want %q and %q", name, s.Approved, d, err, c.approved, c.decided)
		}
	}
}

func TestCommand(t *testing.T) {
	off, live, back := inPhase(whittle.PhaseOff, 0), inPhase(whittle.PhaseLive, whittle.All), inPhase(whittle.PhaseRolledBack, 0)
	held := shift(500)
	held.Held = true
	equivalent, undecided := said(whittle.Equivalent, ""), said(whittle.Undecided, "42 more responses decide it.")
	different := said(whittle.Different, "The mean is off.")
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
		{"promote into a breach", shift(500), breach("errors", ""), forced, whittle.PhaseShift, 500, "the errors guard was breached", whittle.FailedPrecondition},
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
