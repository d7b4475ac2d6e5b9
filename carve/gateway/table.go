package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"whittle"
	"whittle/carve/gateway/breaker"
	"whittle/carve/gateway/upstream"
)

// table is one set of routes with the upstreams they use. It is immutable, so
// that a reload is the swap of one pointer.
type table struct {
	monolith *upstream.Upstream
	// routes has the routes with a candidate, by name.
	routes map[string]*route
	// index finds a request's rule: the narrowest that matches.
	index *index
	// rest is the entry for requests that match no rule.
	rest *entry
	// entries has all of the above, in the order of the config.
	entries []*entry
	// candidates has what bounds the exposure to each candidate, by its address.
	candidates map[string]*breaker.Shared
	// upstreams has each distinct upstream once.
	upstreams []*upstream.Upstream
}

// entry is one rule of the table.
type entry struct {
	name    string
	match   whittle.Match
	pattern pattern
	// route is nil where requests only pass through.
	route *route
	meter *meter
	// monolith is asked within the route's own timeout, if it has one.
	monolith *upstream.Upstream
	// record is the share of the route's exchanges that are recorded.
	record whittle.Share
}

// newTable compiles the routes. It reuses the parts of old, which may be the zero table, that
// stay the same.
func (g *Gateway) newTable(monolith whittle.Upstream, specs []whittle.Route, old *table) (_ *table, err error) {
	t := &table{routes: map[string]*route{}, candidates: map[string]*breaker.Shared{}}
	defer func() {
		if err != nil { // nothing that was made for this table may stay open
			_ = t.retire(context.Background(), old) // never served: nothing to wait for
		}
	}()
	if t.monolith, err = t.upstream(g, monolith, false, old); err != nil {
		return nil, inField(err, "monolith")
	}
	t.monolith = t.monolith.Repeating()
	t.rest = &entry{meter: meterOf(old.entry("")), monolith: t.monolith}
	t.entries = []*entry{t.rest}
	for i, spec := range specs {
		e, err := t.newEntry(g, spec, old)
		if err != nil {
			return nil, inField(err, "routes["+strconv.Itoa(i)+"]")
		}
		t.add(e)
	}
	t.order()
	t.boundExposure(old)
	t.group()
	return t, nil
}

// entry finds the rule of a name; nil: there is none.
func (t *table) entry(name string) *entry {
	for _, e := range t.entries {
		if e.name == name {
			return e
		}
	}
	return nil
}

// boundExposure has the largest bound of a candidate's routes hold for all of them.
// A candidate of old that serves none any more trips none.
func (t *table) boundExposure(old *table) {
	most, breakers := map[*breaker.Shared]int{}, map[*breaker.Shared][]*breaker.Breaker{}
	for _, s := range old.candidates {
		most[s] = 0
	}
	for _, rt := range t.routes {
		s := rt.bounds.Shared
		most[s] = max(most[s], rt.spec.Guard.Exposure)
		breakers[s] = append(breakers[s], rt.breaker)
	}
	for s, exposure := range most {
		s.Bound(exposure, breakers[s])
	}
}

// shared is what bounds the exposure to the candidate behind an upstream.
func (t *table) shared(g *Gateway, u *upstream.Upstream, old *table) *breaker.Shared {
	s := cmp.Or(t.candidates[u.Server()], old.candidates[u.Server()])
	if s == nil {
		if s = breaker.NewShared(); g.opts.Leased {
			s.Permit(0, time.Time{})
		}
	}
	t.candidates[u.Server()] = s
	return s
}

// rule makes the part of an entry that says which requests are its own, and
// holds it against the others.
func (t *table) rule(spec *whittle.Route) (*entry, error) {
	p, err := parsePattern(spec.Match.Pattern)
	if err != nil {
		return nil, inField(err, "match")
	}
	e := &entry{name: spec.Name, match: spec.Match, pattern: p, record: spec.Record}
	e.match.HeaderName = http.CanonicalHeaderKey(e.match.HeaderName)
	for _, o := range t.entries[1:] {
		if o.name == e.name {
			return nil, inField(whittle.Errorf(whittle.Invalid, "route %q is named twice", e.name), "match")
		}
		switch e.compare(o) {
		case same:
			return nil, inField(whittle.Errorf(whittle.Invalid, "route %q matches the same requests as %q", e.name, o.name), "match")
		case crossing:
			return nil, inField(whittle.Errorf(whittle.Invalid,
				"route %q and route %q match some of the same requests, and neither is the more specific", e.name, o.name).
				WithHint("give both the same method or header condition, or narrow one path"), "match")
		}
	}
	return e, nil
}

func (t *table) newEntry(g *Gateway, spec whittle.Route, old *table) (*entry, error) {
	e, err := t.rule(&spec)
	if err != nil {
		return nil, err
	}
	e.meter, e.monolith = meterOf(old.entry(spec.Name)), t.monolith.Within(spec.Timeout)
	if spec.Candidate == nil {
		return e, nil
	}
	u, err := t.upstream(g, *spec.Candidate, spec.RPC != nil && spec.RPC.Protocol == whittle.GRPC, old)
	if err != nil {
		return nil, inField(err, "candidate")
	}
	env := routeEnv{g: g, monolith: e.monolith, candidate: u, shared: t.shared(g, u, old)}
	a := old.routes[spec.Name]
	if a != nil && a.env.monolith.Same(env.monolith) && a.env.candidate.Same(u) && reflect.DeepEqual(a.spec, spec) {
		e.route = a
		return e, nil
	}
	if e.route, err = newRoute(spec, env, a); err != nil {
		return nil, err
	}
	return e, nil
}

// upstream finds or makes the upstream; two routes to the same server share its
// connections.
func (t *table) upstream(g *Gateway, spec whittle.Upstream, http2 bool, old *table) (*upstream.Upstream, error) {
	is := func(u *upstream.Upstream) bool { return u.Is(spec, http2) }
	if at := slices.IndexFunc(t.upstreams, is); at >= 0 {
		return t.upstreams[at], nil
	}
	var u *upstream.Upstream
	if at := slices.IndexFunc(old.upstreams, is); at >= 0 {
		u = old.upstreams[at]
	} else {
		var err error
		if u, err = upstream.New(spec, http2, g.log, old.upstreams...); err != nil {
			return nil, err
		}
	}
	t.upstreams = append(t.upstreams, u)
	return u, nil
}

func (t *table) add(e *entry) {
	t.entries = append(t.entries, e)
	if e.route != nil {
		t.routes[e.name] = e.route
	}
}

// order puts the narrower of two rules that overlap first. Rules never cross,
// and whatever makes a rule narrower raises its weight, so the weight decides.
func (t *table) order() {
	rules := slices.Clone(t.entries[1:])
	slices.SortStableFunc(rules, func(a, b *entry) int { return b.weight() - a.weight() })
	t.index = newIndex(rules)
}

// retire releases what next does not use, and waits for it within ctx.
// Requests under way keep what they hold until they are done.
func (t *table) retire(ctx context.Context, next *table) error {
	var errs []error
	for _, rt := range t.routes {
		if next.routes[rt.spec.Name] != rt {
			errs = append(errs, rt.close(ctx))
		}
	}
	for _, u := range t.upstreams {
		if !slices.Contains(next.upstreams, u) {
			u.Close()
		}
	}
	return errors.Join(errs...)
}

// inField puts a config path before the one that a coded error names.
func inField(err error, field string) error {
	e, ok := errors.AsType[*whittle.Error](err)
	if !ok {
		return err
	}
	if e.Field != "" {
		field += "." + e.Field
	}
	return e.WithField(field)
}
