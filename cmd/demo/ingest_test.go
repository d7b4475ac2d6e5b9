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
	p := &process{name: "ingest", public: address, admin: address}
	imports, err := load.Parse("plan.yml", []byte("config: {target: "+server.URL+"}\nscenarios: [{flow: [{post: {url: /import, body: x}}]}]"), plan.Source{})
	if err != nil {
		t.Fatal(err)
	}
	d := &ingestDemo{screen: cmdline.NewScreen(cmdline.Streams{Out: new(strings.Builder)}), loops: 10}
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
