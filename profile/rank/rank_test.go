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
