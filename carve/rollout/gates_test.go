package rollout_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/rollout"
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
		"off":                       {auto, rollout.State{Phase: whittle.PhaseOff, Since: began}, "", ""},
		"live":                      {auto, rollout.State{Phase: whittle.PhaseLive, Share: whittle.All, Since: began}, "", ""},
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
		"off":                  {rollout.State{Phase: whittle.PhaseOff, Since: began}, ready, due, ""},
	} {
		if gates, _ := rollout.Due(p, c.s, c.in, c.now); namesOf(gates) != c.names {
			t.Errorf("%s: %q is asked, want %q", name, namesOf(gates), c.names)
		}
	}
	if got := namesOf(rollout.Recalls(p, shift(500))); got != "alarm" {
		t.Errorf("with users on the candidate %q may take them off", got)
	}
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
		if got := rollout.Next(p, c.s, c.in, c.now); got != c.next {
			t.Errorf("%s: %q, want %q", name, got, c.next)
		}
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
