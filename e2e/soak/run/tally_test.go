package run

import (
	"testing"

	"whittle/e2e/soak/client"
	"whittle/e2e/soak/plan"
)

// TestTally says of each outcome whether it is a user's error.
func TestTally(t *testing.T) {
	for name, tt := range map[string]struct {
		a                     asked
		fails, exempt, direct int64
	}{
		"whole":                            {asked{plan: &plan.Plan{}}, 0, 0, 0},
		"broken":                           {asked{plan: &plan.Plan{}, out: client.Outcome{Class: client.Broken}}, 1, 0, 0},
		"broken by its fault":              {asked{plan: &plan.Plan{Fault: plan.ResetBody}, out: client.Outcome{Class: client.Broken}}, 0, 0, 0},
		"refused for its fault":            {asked{plan: &plan.Plan{Fault: plan.Silence}, out: client.Outcome{Class: client.Refused}}, 0, 0, 0},
		"broken with a harmless fault":     {asked{plan: &plan.Plan{Fault: plan.Sliced}, out: client.Outcome{Class: client.Broken}}, 1, 0, 0},
		"wrong with a fault":               {asked{plan: &plan.Plan{Fault: plan.ResetBody}, out: client.Outcome{Class: client.Wrong}}, 1, 0, 0},
		"mixed in an outage":               {asked{plan: &plan.Plan{}, exempt: true, out: client.Outcome{Class: client.Mixed}}, 1, 0, 0},
		"refused in an outage":             {asked{plan: &plan.Plan{}, exempt: true, out: client.Outcome{Class: client.Refused}}, 0, 1, 0},
		"refused without the candidate":    {asked{plan: &plan.Plan{Route: "live"}, candidateGone: true, out: client.Outcome{Class: client.Refused}}, 1, 0, 0},
		"cut by the candidate's end":       {asked{plan: &plan.Plan{Route: "live", Framing: plan.ByClose}, candidateGone: true, out: client.Outcome{Class: client.Broken}}, 0, 1, 0},
		"too long to be held":              {asked{plan: &plan.Plan{Route: "live", Length: held<<10 + 1}, candidateGone: true, out: client.Outcome{Class: client.Broken}}, 0, 1, 0},
		"held, and broken all the same":    {asked{plan: &plan.Plan{Route: "live", Length: held << 10}, candidateGone: true, out: client.Outcome{Class: client.Broken}}, 1, 0, 0},
		"too long to be held, and refused": {asked{plan: &plan.Plan{Route: "live", Length: held<<10 + 1}, candidateGone: true, out: client.Outcome{Class: client.Refused}}, 1, 0, 0},
		"a write without the candidate":    {asked{plan: &plan.Plan{Route: "once"}, candidateGone: true, out: client.Outcome{Class: client.Refused}}, 0, 1, 0},
		"direct":                           {asked{gateway: "-", plan: &plan.Plan{}, out: client.Outcome{Class: client.Broken}}, 0, 0, 1},
	} {
		tally := newTally()
		if tt.a.gateway = "plain"; tt.direct > 0 {
			tt.a.gateway = ""
		}
		tally.add(&tt.a)
		all, _, _ := tally.errorCount()
		if all != tt.fails || tally.exempt.Load() != tt.exempt || tally.unfit != tt.direct || tally.requests.Load() != 1 {
			t.Errorf("%s: %s, %d direct", name, tally, tally.unfit)
		}
	}
}
