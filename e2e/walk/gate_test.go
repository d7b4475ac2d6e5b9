package walk

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"whittle"
	"whittle/carve/admin"
	"whittle/carve/rollout"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

const countRoute = "POST /Count"

// setting is what a test says in its config; the template has what is empty.
type setting struct {
	Listen, Admin string
	Monolith      string
	Work          string
	// Candidate is the count service's address; empty: everything passes through.
	Candidate string
	// Plain says that the candidate speaks the monolith's own HTTP.
	Plain   bool
	Compare string
	Mirror  string
	Rollout string
	Guard   string
	// Timeout is the candidate's.
	Timeout string
	// More routes, as YAML lines.
	More string
	// Top are more lines of the config itself.
	Top string
}

var configText = template.Must(template.New("whittle.yaml").Parse(`listen: {{or .Listen "127.0.0.1:0"}}
admin: {{or .Admin "127.0.0.1:0"}}
monolith: http://{{.Monolith}}
state: {{.Work}}/whittle.db
{{- if or .Candidate .More}}
routes:
{{- end}}
{{- if .Candidate}}
  - match: POST /Count
    candidate:
      url: http://{{.Candidate}}
      timeout: {{or .Timeout "10s"}}
{{- if not .Plain}}
      rpc: {protocol: twirp, descriptor: {{.Work}}/count.binpb, method: twirp.carved.Carved/Count}
      response: {content_type: text/html; charset=utf-8, template: "Counted to {{"{{.Sum}}"}} \n"}
{{- end}}
    safe: true
    # At 99 % one rollout in a hundred with an equal candidate may be refused: too many for all of the
    # tests. The demo is at what is shipped (e2e/carve).
    compare: {{or .Compare "{kind: statistical, value: number in the body, per: request.times, confidence: 99.99%}"}}
    mirror: {{or .Mirror "{shed_above: off}"}}
    rollout: {{or .Rollout "{auto: false, steps: [25, 100], hold: 10ms, min_requests: 1, sticky_by: header:X-User}"}}
    guard: {{or .Guard "{p99: off}"}}
{{- end}}
{{.More}}
{{.Top}}
`))

// gate is a running whittle with its client.
type gate struct {
	*process.Process
	setting setting
	client  *admin.Client
	// name is the route that the methods are about.
	name string
}

// open starts whittle with a config; the setting's Work folder is made where there is none.
func open(t *testing.T, s setting) *gate {
	t.Helper()
	if s.Work == "" {
		s.Work = t.TempDir()
		fatal.Write(t, filepath.Join(s.Work, "count.binpb"), fatal.Read(t, filepath.Join(process.Repository, "systems/count/count.binpb")))
	}
	g := &gate{setting: s, name: countRoute}
	g.write(t, s)
	g.run(t)
	t.Cleanup(func() { g.client.Close() })
	return g
}

// run starts whittle on the folder as it is.
func (g *gate) run(t *testing.T) {
	t.Helper()
	g.Process = process.Start(t, gateway, "run", "-c", g.path())
	if g.client != nil {
		g.client.Close()
	}
	client, err := admin.Dial(g.Admin, "")
	fatal.If(t, err)
	g.client = client
}

func (g *gate) path() string { return filepath.Join(g.setting.Work, "whittle.yaml") }

// write puts a config in place, whole or not at all.
func (g *gate) write(t *testing.T, s setting) {
	t.Helper()
	var b bytes.Buffer
	fatal.If(t, configText.Execute(&b, s))
	fatal.If(t, os.Rename(fatal.Write(t, g.path()+".next", b.Bytes()), g.path()))
}

// route is the route as its status shows it.
func (g *gate) route(t *testing.T) whittle.RouteStatus {
	t.Helper()
	r, err := g.client.Route(t.Context(), g.name)
	if err != nil {
		t.Fatalf("status: %v\n%s", err, g.Said())
	}
	return r
}

// await waits for the route to be as asked.
func (g *gate) await(t *testing.T, what string, as func(*whittle.RouteStatus) bool) whittle.RouteStatus {
	t.Helper()
	var last whittle.RouteStatus
	process.Await(t, what, func() (bool, string) {
		last = g.route(t)
		return as(&last), fmt.Sprintf("%s at %g %%, %s, ledger %+v", last.Phase, last.Percent, last.Verdict.Summary, last.Ledger)
	})
	return last
}

func (g *gate) order(t *testing.T, kind rollout.Kind) {
	t.Helper()
	o := rollout.Order{Kind: kind, By: "the test", Reason: "the test's word", Force: kind == rollout.Promote}
	if _, err := g.client.Order(t.Context(), g.name, o); err != nil {
		t.Fatalf("%s: %v\n%s", kind, err, g.Said())
	}
}

// climb promotes the route step by step, each until the candidate has been asked
// by n more users. The candidate is a good one, so a rollback fails the test,
// unless the machine was measured to have stood still: then the climb begins again.
func (g *gate) climb(t *testing.T, steps int, n int64) {
	t.Helper()
	stood := measureStalls(t)
	for reached := 0; reached < steps; {
		g.order(t, rollout.Promote)
		fell := g.awaitUsers(t, n)
		if fell == nil {
			reached++
			continue
		}
		long, explained := stood.explain(fell.Reason, fell.At)
		if !explained {
			t.Fatalf("a good candidate was rolled back, and the machine had stood for %v: %s\n%s", long, fell.Reason, g.Said())
		}
		t.Logf("the machine stood for %v, so the climb begins again: %s", long, fell.Reason)
		g.order(t, rollout.Reset)
		reached = 0
	}
}

// awaitUsers waits for n more users of the candidate, or gives the rollback that came before.
func (g *gate) awaitUsers(t *testing.T, n int64) (fell *whittle.Decision) {
	t.Helper()
	from := g.metric(t, "whittle_candidate_requests_total", "")
	process.Await(t, fmt.Sprintf("%d more users on the candidate", n), func() (bool, string) {
		if r := g.route(t); r.Phase == whittle.PhaseRolledBack {
			fell = &r.Timeline[len(r.Timeline)-1]
			return true, ""
		}
		now := g.metric(t, "whittle_candidate_requests_total", "")
		return now >= from+n, fmt.Sprintf("%d came", now-from)
	})
	return fell
}

// atRest waits until nothing is under way, and holds the ledger to its sum.
func (g *gate) atRest(t *testing.T) whittle.Ledger {
	t.Helper()
	process.Await(t, "nothing to be under way", func() (bool, string) {
		n := g.metric(t, "whittle_exchanges_pending", "")
		return n == 0, fmt.Sprintf("%d are", n)
	})
	total := g.metric(t, "whittle_exchanges_total", "")
	l := g.await(t, "the status to show the ledger at rest", func(r *whittle.RouteStatus) bool {
		return r.Ledger.Pending == 0 && r.Ledger.Total == total
	}).Ledger
	if l.Total != l.Sum() || l.Compared < 0 || l.Failed < 0 || l.Shed < 0 {
		t.Errorf("the ledger does not add up: %+v", l)
	}
	return l
}

// metric adds up the route's series of a name that have the label in them.
func (g *gate) metric(t *testing.T, name, label string) int64 {
	t.Helper()
	sum, found := 0.0, false
	for series, v := range process.Metrics(g.Admin) {
		if strings.HasPrefix(series, name+"{") && strings.Contains(series, fmt.Sprintf("route=%q", g.name)) && strings.Contains(series, label) {
			sum, found = sum+v, true
		}
	}
	if !found {
		t.Fatalf("no metric %s with %q", name, label)
	}
	return int64(sum)
}
