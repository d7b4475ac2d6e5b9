package main

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
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
	p := &contender{&process{name: "ingest-go", Process: &child.Process{Public: address, Admin: address}}, "go", goTogether}
	node := &contender{&process{name: "node", Process: &child.Process{Public: address}}, "node", nodeAlone}
	batched := &contender{&process{name: "node-batched", Process: &child.Process{Public: address}}, "node-batched", nodeTogether}
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
	first, err := d.carrying(t.Context(), node, batched)
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.carrying(t.Context(), batched, p)
	if err != nil {
		t.Fatal(err)
	}
	asked.Add(30)
	calls.Add(4)
	for i := range 6 { // two calls of three events
		d.receipt.note("node", fmt.Appendf(nil, `{"ShardId":"s","SequenceNumber":"%d"}`, i))
		d.receipt.note("node-batched", fmt.Appendf(nil, `{"ShardId":"s","SequenceNumber":"%d","Together":3}`, i))
	}
	batching, err := first.end(t.Context(), 50)
	if err != nil {
		t.Fatal(err)
	}
	language, err := second.end(t.Context(), 50)
	if err != nil {
		t.Fatal(err)
	}
	runs := func(medians ...float64) *duel.LevelsReport {
		l := duel.Level{Users: 50, Figures: []duel.Compared{
			{Key: "median", Name: "median", Ratio: 0.5, Low: 0.25, High: 0.75},
			{Key: "cpu", Name: "CPU per request", Ratio: 0.2, Low: duel.Number(math.NaN()), High: duel.Number(math.Inf(1))},
		}}
		for i, m := range medians {
			l.Runs = append(l.Runs, duel.LevelRun{Side: "a", Run: i + 1, Median: 10 * m}, duel.LevelRun{Side: "b", Run: i + 1, Median: m})
		}
		return &duel.LevelsReport{Levels: []duel.Level{l}}
	}
	f := ingestFigures{
		Batching: &comparison{nodeAlone, nodeTogether, runs(5), []carried{batching}},
		Language: &comparison{nodeTogether, goTogether, runs(1, 3, 2), []carried{language}},
	}
	v := f.onKinesis()
	head, rows := v.table()
	if head[2] != "events together" || head[3] != "median, ms" {
		t.Fatalf("%q", head)
	}
	for i, want := range [][]string{
		{"50", nodeAlone, "1 a call", "50"},
		{"50", nodeTogether, "3 a call", "20 (10–30)"},
		{"50", goTogether, "7.5 a call", "2 (1–3)"},
	} {
		if i >= len(rows) || !slices.Equal(rows[i][:4], want) {
			t.Errorf("%q, want %q", rows, want)
		}
	}
	if got, want := v.words(), []string{
		"50 users, batching (Node.js, PutRecords over Node.js, PutRecord): median × 0.5 (0.25–0.75), CPU per request × 0.2",
		"50 users, language (Go, PutRecords over Node.js, PutRecords): median × 0.5 (0.25–0.75), CPU per request × 0.2",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, r := range rows {
		if !slices.ContainsFunc(whatEachDoes, func(w struct{ Name, Does string }) bool { return w.Name == r[1] && w.Does != "" }) {
			t.Errorf("nobody says what %s does", r[1])
		}
	}
}

// An event that is read back is the plan's, byte for byte but for what differs.
func TestAnAuditKnowsThePlansEvents(t *testing.T) {
	p := patternOf(`{"a.b":"${__UUID()}","user":"u-${__threadNum}"}`)
	for text, id := range map[string]string{
		`{"a.b":"1","user":"u-2"}`:              "1",
		`{"axb":"1","user":"u-2"}`:              "",
		`{"a.b":"1","user":"u-2"} `:             "",
		` {"a.b":"1","user":"u-2"}`:             "",
		`{"a.b":"1","user":"u-"}`:               "",
		`{"a.b":"1","x":"","user":"u-2"}`:       "",
		`{"a.b":"1\","user":"u-2"}`:             "",
		`{"a.b":"1","user":"u-2","user":"u-3"}`: "",
	} {
		got := ""
		if found := p.FindStringSubmatch(text); found != nil {
			got = found[p.SubexpIndex("id")]
		}
		if got != id {
			t.Errorf("%s has the id %q, not %q", text, got, id)
		}
	}
	d := &ingestDemo{stage: &stage{root: repository("../..")}}
	body, err := d.body()
	if err != nil || body.SubexpIndex("id") != 1 {
		t.Errorf("the plan's own body: %v, %v", body, err)
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
		compared := comparison{A: nodeTogether, B: goTogether, Levels: &c.r}
		if err := compared.judge(); (err == nil) != c.wins {
			t.Errorf("%s: %v", name, err)
		}
		won := c.wins || name == "slower" || name == "the same" || name == "not measured"
		if err := compared.sound(); (err == nil) != won {
			t.Errorf("%s is sound: %v", name, err)
		}
	}
}
