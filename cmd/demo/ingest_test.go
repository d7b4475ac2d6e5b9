package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle/cmdline"
	"whittle/internal/child"
	"whittle/load"
	"whittle/load/duel"
	"whittle/load/plan"
)

// Each server of a level goes through it before it is measured, and what goes
// together in a call is counted from then on.
func TestALevelOfTheIngestDemoIsWarmedUpAndSaysWhatACallCarries(t *testing.T) {
	var asked, calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			fmt.Fprintf(w, "# TYPE x counter\ningest_kinesis_calls_total %d\ningest_kinesis_records_total %d\n", calls.Load(), asked.Load())
			return
		}
		if asked.Add(1)%4 == 0 {
			calls.Add(1)
		}
		fmt.Fprintf(w, `{"position":"0/%d"}`, asked.Load())
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	p := &process{name: "ingest", Process: &child.Process{Public: address, Admin: address}}
	imports, err := load.Parse("plan.yml", []byte("config: {target: "+server.URL+"}\nscenarios: [{flow: [{post: {url: /import, body: x}}]}]"), plan.Source{})
	if err != nil {
		t.Fatal(err)
	}
	d := &ingestDemo{stage: &stage{screen: cmdline.NewScreen(cmdline.Streams{Out: new(strings.Builder)})}, loops: 10, size: ingestSeed}
	if err := d.warmUp(t.Context(), imports, 50, time.Millisecond, p); err != nil {
		t.Fatal(err)
	}
	if n := asked.Load(); n < warmRequests {
		t.Errorf("warmed up by %d requests", n)
	}
	c, err := d.carrying(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	asked.Add(30)
	calls.Add(4)
	if err := c.end(t.Context()); err != nil || c.words("a") != "1 a call" || c.words("b") != "7.5 a call" {
		t.Errorf("%v: %s, %s", err, c.words("a"), c.words("b"))
	}
	level := duel.Level{Users: 50, Runs: []duel.LevelRun{{Side: "a"}, {Side: "b"}}}
	head, rows := levelRows(&duel.LevelsReport{Levels: []duel.Level{level}}, []carried{c.carried}, "Node.js", "Go")
	if head[2] != "events together" || len(rows) != 2 || rows[0][2] != "1 a call" || rows[1][2] != "7.5 a call" {
		t.Errorf("%q %q", head, rows)
	}
}

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
	failed, lost, void, early := run("b", 0.1), run("a", 1), run("b", 0.1), levels(run("a", 1), run("b", 0.1))
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
		"no response":    {levels(lost, run("b", 0.4)), false},
		"void":           {levels(run("a", 1), void), false},
		"ended early":    {early, false},
		"nothing":        {duel.LevelsReport{}, false},
	} {
		if err := judgeLevels(&c.r); (err == nil) != c.wins {
			t.Errorf("%s: %v", name, err)
		}
	}
}
