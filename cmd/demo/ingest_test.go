//go:build !demo_count

package main

import (
	"slices"
	"testing"

	"whittle/load/duel"
)

// A comparison that is void, failed, or shows that ingest costs as much CPU as
// Node.js fails the demo; one that it won at the most users does not.
func TestTheIngestDemoFailsWhereNothingIsWon(t *testing.T) {
	run := func(side string, cpu float64) duel.LevelRun {
		return duel.LevelRun{Side: side, Requests: 100, Completed: 100, CPU: cpu}
	}
	levels := func(runs ...duel.LevelRun) duel.LevelsReport {
		few := duel.Level{Users: 1, Runs: []duel.LevelRun{run("a", 1), run("b", 2)}}
		return duel.LevelsReport{Levels: []duel.Level{few, {Users: 50, Runs: runs}}}
	}
	failed, lost, void, early := run("b", 0.1), run("b", 0.1), run("b", 0.1), levels(run("a", 1), run("b", 0.1))
	slow := run("a", 1)
	slow.Failed = 40
	failed.Failed, lost.Completed, void.Void, early.Early = 1, 99, "sent late", true
	for name, c := range map[string]struct {
		r    duel.LevelsReport
		wins bool
	}{
		"won":            {levels(run("a", 1), run("b", 0.4)), true},
		"won on the sum": {levels(run("a", 1), run("b", 1.2), run("a", 1), run("b", 0.2)), true},
		"slower":         {levels(run("a", 1), run("b", 1.5)), false},
		"the same":       {levels(run("a", 1), run("b", 1)), false},
		"not measured":   {levels(run("a", 0), run("b", 0)), false},
		"a failure":      {levels(run("a", 1), failed), false},
		"no response":    {levels(run("a", 1), lost), false},
		"Node failed":    {levels(slow, run("b", 0.4)), true},
		"void":           {levels(run("a", 1), void), false},
		"ended early":    {early, false},
		"nothing":        {duel.LevelsReport{}, false},
	} {
		compared := comparison{A: nodeTogether, B: goTogether, Levels: &c.r}
		if err := compared.judge(); (err == nil) != c.wins {
			t.Errorf("%s: %v", name, err)
		}
		between := comparison{A: nodeAlone, B: nodeTogether, Levels: &c.r}
		if err, sound := between.sound(), c.wins || !slices.Contains([]string{"void", "ended early", "nothing"}, name); (err == nil) != sound {
			t.Errorf("%s between two Node.js servers: %v", name, err)
		}
		won := c.wins || name == "slower" || name == "the same" || name == "not measured"
		if err := compared.sound(); (err == nil) != won {
			t.Errorf("%s is sound: %v", name, err)
		}
	}
}
