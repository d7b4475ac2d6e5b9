package part

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/fleet"
)

// table is a config's routes with a candidate.
type table struct {
	monolith whittle.Upstream
	all      []whittle.Route
	routes   map[string]*route // by name
}

type route struct {
	spec whittle.Route
	// digest is that of what must be the same in all gateways that have users on the
	// candidate.
	digest string
	// candidate names the server that its exposure is bounded for.
	candidate string
}

func newTable(monolith whittle.Upstream, specs []whittle.Route) *table {
	t := &table{monolith: monolith, all: specs, routes: map[string]*route{}}
	for _, spec := range specs {
		if spec.Candidate != nil {
			t.routes[spec.Name] = &route{spec: spec, digest: digestOf(monolith, &spec), candidate: serverOf(spec.Candidate.URL)}
		}
	}
	return t
}

// digestOf is that of the two sides, how they are compared, which requests are the
// route's, and which user is on which side. The policy is the leader's alone.
func digestOf(monolith whittle.Upstream, spec *whittle.Route) string {
	b, err := json.Marshal(struct {
		Epoch  string
		Match  whittle.Match
		Sticky whittle.Sticky
		Safe   bool
		DryRun *whittle.DryRunHeader
	}{control.Epoch(monolith, *spec), spec.Match, spec.Rollout.Sticky, spec.Safe, spec.DryRun})
	if err != nil {
		return "?" // plain values
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// serverOf is the server behind a URL: routes to several of its paths share its permits.
func serverOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return text
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// specs are the routes as a node takes them.
func (t *table) specs() (all []fleet.Route) {
	for _, r := range t.routes {
		all = append(all, fleet.Route{Name: r.spec.Name, Digest: r.digest, Candidate: r.candidate, Exposure: r.spec.Guard.Exposure})
	}
	slices.SortFunc(all, func(a, b fleet.Route) int { return strings.Compare(a.Name, b.Name) })
	return all
}
