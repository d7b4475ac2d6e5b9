package rollout_test

import (
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
			if s, err = rollout.Decode(saved); err != nil {
				t.Fatal(err)
			}
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
