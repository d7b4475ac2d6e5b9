package rank

import (
	"strings"
	"testing"
	"time"

	"whittle/profile"
	"whittle/profile/collect"
	"whittle/profile/measure"
)

// What is missing for an advice is said of the runtime that it is: of Deno nothing reads
// routers, and Deno.serve tells nobody of its requests.
func TestWhatIsMissingIsOfTheRuntime(t *testing.T) {
	for name, c := range map[string]struct {
		runtime profile.Runtime
		file    string
		want    string
	}{
		"Node": {profile.Node, "node:http", "Node's endpoints"},
		"Deno": {profile.Node, "ext:deno_http/00_serve.ts", "Deno.serve"},
		"Go":   {profile.Go, "/usr/local/go/src/net/http/server.go", "a Go handler"},
	} {
		p := &profile.Profile{
			Kind: profile.CPU, Runtime: c.runtime, Duration: time.Second,
			Functions: []profile.Function{{Name: "hot", File: "serve.js", Line: 1}, {Name: "serve", File: c.file, Owner: profile.Standard}},
			Samples:   []profile.Sample{{Stack: []profile.Frame{{Line: 1}, {Function: 1}}, Value: int64(time.Second), Objects: 100}},
		}
		r := Endpoints([]*measure.Measured{{Taken: []*collect.Collected{{Profile: p}}}})
		if r.Advice != "" || !strings.Contains(r.Missing, c.want) {
			t.Errorf("%s: advice %q, missing %q, want %q", name, r.Advice, r.Missing, c.want)
		}
	}
}

// An endpoint that no table has is said to be named after its requests.
func TestAPathThatMayHaveAKey(t *testing.T) {
	for name, c := range map[string]struct {
		paths map[string]bool
		note  bool
	}{
		"of a table":  {nil, false},
		"by its path": {map[string]bool{"GET /users/anna": true}, true},
	} {
		p := &profile.Profile{
			Kind: profile.CPU, Runtime: profile.Node, Duration: time.Second, Paths: c.paths,
			Functions: []profile.Function{{Name: "show", File: "serve.js", Line: 1}},
		}
		for e, n := range map[string]int64{"GET /users/anna": 80, "GET /users/bernd": 20} {
			p.Samples = append(p.Samples, profile.Sample{Stack: []profile.Frame{{Line: 1}}, Endpoint: e, Value: n * int64(time.Millisecond), Objects: n})
		}
		r := Endpoints([]*measure.Measured{{Taken: []*collect.Collected{{Profile: p}}}})
		note := strings.Contains(strings.Join(r.Warnings, " "), "named after the path")
		if r.Advice == "" || note != c.note {
			t.Errorf("%s: advice %q, none for %q, notes %q", name, r.Advice, r.NoAdvice, r.Warnings)
		}
	}
}

// What V8 does not sample is known from the process's clock. So an endpoint that has most of
// the samples, and half of the CPU, is said to have half, and its interval holds that.
func TestTheIntervalIsAroundTheShare(t *testing.T) {
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node, Duration: time.Second, Functions: []profile.Function{{Name: "csv", File: "serve.js", Line: 1}}}
	for e, n := range map[string]int64{"GET /csv": 470, "GET /": 25} {
		p.Samples = append(p.Samples, profile.Sample{Stack: []profile.Frame{{Line: 1}}, Endpoint: e, Value: n * int64(4*time.Millisecond), Objects: n})
	}
	p.AddOther("(V8's helpers)", 1340*time.Millisecond, 134)
	for _, e := range Endpoints([]*measure.Measured{{Taken: []*collect.Collected{{Profile: p}}}}).Endpoints {
		if e.Low > e.Share || e.High < e.Share || e.High-e.Low > 0.1 {
			t.Errorf("%s: %.3f (%.3f to %.3f)", e.Endpoint, e.Share, e.Low, e.High)
		}
	}
}

// TestRequestsThatNobodyCounted are not none.
func TestRequestsThatNobodyCounted(t *testing.T) {
	r := Ranking{Endpoints: []Endpoint{{Endpoint: "counted", Requests: 7}, {Endpoint: "not counted"}}}
	if rows := r.rows(); rows[0][3] != "7" || rows[1][3] != "–" {
		t.Errorf("requests %q and %q", rows[0][3], rows[1][3])
	}
}
