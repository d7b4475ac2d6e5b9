package gateway

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
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

func (e *entry) weight() int {
	n := len(e.pattern.segments)
	for _, s := range e.pattern.segments {
		if !s.wildcard {
			n++
		}
	}
	for _, narrow := range []bool{!e.pattern.multi, e.match.Method != "", e.match.HeaderName != ""} {
		if narrow {
			n++
		}
	}
	return n
}

func (e *entry) compare(o *entry) patternOrder {
	return e.pattern.compare(o.pattern).
		and(compareCondition(e.match.Method, o.match.Method)).
		and(compareHeader(e.match, o.match))
}

// compareCondition relates two values that must be had, "" being any.
func compareCondition(a, b string) patternOrder {
	switch {
	case a == b:
		return same
	case a == "":
		return wider
	case b == "":
		return narrower
	}
	return apart
}

func compareHeader(a, b whittle.Match) patternOrder {
	if a.HeaderName != "" && b.HeaderName != "" && a.HeaderName != b.HeaderName {
		return crossing // one request may carry both
	}
	if a.HeaderName == b.HeaderName {
		return compareCondition(a.HeaderName+a.HeaderValue, b.HeaderName+b.HeaderValue)
	}
	return compareCondition(a.HeaderName, b.HeaderName)
}

// match finds the narrowest rule for a request, t.rest where there is none.
func (t *table) match(r *http.Request) *entry {
	path, escaped := r.URL.Path, false
	if r.URL.RawPath != "" {
		path, escaped = r.URL.RawPath, true
	}
	if e := t.index.find(path, escaped, func(e *entry) bool { return e.admits(r) }); e != nil {
		return e
	}
	return t.rest
}

// admits checks everything but the path. A header sent several times counts as
// its first value.
func (e *entry) admits(r *http.Request) bool {
	m := &e.match
	return (m.Method == "" || m.Method == r.Method) &&
		(m.HeaderName == "" || whittle.Header(r.Header).Get(m.HeaderName) == m.HeaderValue)
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

// A pattern is a path pattern of net/http's ServeMux, split into segments. Unlike
// ServeMux it never cleans or redirects, because the monolith must get each target as
// it was sent. A wildcard takes no segment that servers resolve (see resolved), so such
// a path matches only a pattern that has it.
type pattern struct {
	segments []segment
	// multi says that one or more further segments follow, of which the last
	// may be empty: "/static/" or "/static/{rest...}".
	multi bool
}

// segment is a literal, or any one non-empty segment.
type segment struct {
	literal  string
	wildcard bool
}

// parsePattern reads "/a/{id}", "/a/", "/a/{rest...}" or "/a/{$}".
func parsePattern(s string) (pattern, error) {
	var p pattern
	rest, ok := strings.CutPrefix(s, "/")
	if !ok {
		return p, badPattern(s, "it must begin with a slash")
	}
	names := map[string]bool{}
	for last := false; !last; {
		var part string
		part, rest, ok = strings.Cut(rest, "/")
		last = !ok
		name, isWildcard := wildcard(part)
		switch {
		case !isWildcard && strings.ContainsAny(part, "{}"):
			return p, badPattern(s, "a wildcard must be a whole segment, as in /users/{id}")
		case !isWildcard && part == "" && last:
			p.multi = true
		case !isWildcard:
			literal, err := url.PathUnescape(part)
			if err != nil {
				return p, badPattern(s, "a percent sign must begin an escape such as %20")
			}
			p.segments = append(p.segments, segment{literal: literal})
		case name == "$" && last:
			p.segments = append(p.segments, segment{})
		case strings.HasSuffix(name, "...") && last:
			p.multi = true
		case name == "$" || strings.HasSuffix(name, "..."):
			return p, badPattern(s, "{"+name+"} can only be the last segment")
		case !isName(name):
			return p, badPattern(s, "{"+name+"} is not a name")
		case names[name]:
			return p, badPattern(s, "{"+name+"} appears twice")
		default:
			names[name] = true
			p.segments = append(p.segments, segment{wildcard: true})
		}
	}
	return p, nil
}

func badPattern(pattern, why string) error {
	return whittle.Errorf(whittle.Invalid, "parse path pattern %q: %s", pattern, why)
}

func wildcard(part string) (name string, ok bool) {
	if strings.HasPrefix(part, "{") && strings.HasSuffix(part, "}") {
		return part[1 : len(part)-1], true
	}
	return "", false
}

func isName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// index finds the first of many entries whose pattern matches a path, in a time that
// grows with the path's segments and not with the entries.
type index struct {
	// first is the lowest rank in this index.
	first int
	// ends are the entries whose pattern ends here, goesOn those that take any further
	// segments, each by rank.
	ends, goesOn []ranked
	// literal and wildcard are for what follows one more segment.
	literal  map[string]*index
	wildcard *index
}

type ranked struct {
	rank int
	*entry
}

// newIndex makes the index of entries that are given in their order.
func newIndex(entries []*entry) *index {
	root := &index{first: len(entries)}
	for rank, e := range entries {
		x := root
		for _, s := range e.pattern.segments {
			x.first = min(x.first, rank)
			x = x.below(s, rank)
		}
		x.first = min(x.first, rank)
		if e.pattern.multi {
			x.goesOn = append(x.goesOn, ranked{rank, e})
		} else {
			x.ends = append(x.ends, ranked{rank, e})
		}
	}
	return root
}

// below is the index behind a segment, made where there is none.
func (x *index) below(s segment, rank int) *index {
	if s.wildcard {
		if x.wildcard == nil {
			x.wildcard = &index{first: rank}
		}
		return x.wildcard
	}
	if x.literal == nil {
		x.literal = map[string]*index{}
	}
	if x.literal[s.literal] == nil {
		x.literal[s.literal] = &index{first: rank}
	}
	return x.literal[s.literal]
}

// find gives the first entry that matches a path and is admitted; nil: there is none.
// Where escaped is set the path's segments are still percent-encoded, and "%2F" does
// not separate.
func (x *index) find(path string, escaped bool, admits func(*entry) bool) *entry {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil
	}
	s := search{escaped: escaped, admits: admits, found: ranked{rank: math.MaxInt}}
	s.visit(x, rest, true)
	return s.found.entry
}

// search is one find.
type search struct {
	escaped bool
	admits  func(*entry) bool
	found   ranked // the best so far
}

// visit looks for a better entry in x. There are segments in rest if more is set.
func (s *search) visit(x *index, rest string, more bool) {
	if x == nil || x.first >= s.found.rank {
		return
	}
	here := x.ends
	if more {
		if here = x.goesOn; len(here) > 0 && s.resolved(rest) {
			here = nil
		}
	}
	for _, r := range here {
		if r.rank < s.found.rank && s.admits(r.entry) {
			s.found = r
		}
	}
	if !more || x.literal == nil && x.wildcard == nil {
		return
	}
	part, rest, more := strings.Cut(rest, "/")
	if s.escaped {
		var err error
		if part, err = url.PathUnescape(part); err != nil {
			return
		}
	}
	s.visit(x.literal[part], rest, more)
	if part != "" && x.wildcard != nil && !hasDots(part) {
		s.visit(x.wildcard, rest, more)
	}
}

// resolved is hasDots for what may still be percent-encoded.
func (s *search) resolved(rest string) bool {
	if s.escaped {
		plain, err := url.PathUnescape(rest)
		return err == nil && hasDots(plain)
	}
	return hasDots(rest)
}

// hasDots reports whether a path has a segment "." or "..", also between slashes that
// were encoded, between backslashes, or with a parameter ("..;x"). Some servers resolve
// it to another path, and others do not.
func hasDots(path string) bool {
	if strings.IndexByte(path, '.') < 0 {
		return false
	}
	for part := range strings.FieldsFuncSeq(path, func(c rune) bool { return c == '/' || c == '\\' }) {
		if name, _, _ := strings.Cut(part, ";"); name == "." || name == ".." {
			return true
		}
	}
	return false
}

// patternOrder is the relation between the sets of requests that two rules match.
type patternOrder uint8

const (
	same     patternOrder = iota
	narrower              // a subset
	wider                 // a superset
	apart                 // none in common
	crossing              // some in common, and each has some of its own
)

// and combines the relations of two independent conditions.
func (r patternOrder) and(o patternOrder) patternOrder {
	switch {
	case r == apart || o == apart:
		return apart
	case r == o || o == same:
		return r
	case r == same:
		return o
	}
	return crossing
}

// compare relates two patterns.
func (p pattern) compare(o pattern) patternOrder {
	rel := same
	n := min(len(p.segments), len(o.segments))
	for i := range n {
		rel = rel.and(p.segments[i].compare(o.segments[i]))
	}
	switch {
	case len(p.segments) > n: // what is left of p must fit into o's tail
		if !o.multi {
			return apart
		}
		return rel.and(narrower)
	case len(o.segments) > n:
		if !p.multi {
			return apart
		}
		return rel.and(wider)
	case p.multi != o.multi: // one wants a further segment, the other none
		return apart
	}
	return rel
}

func (s segment) compare(o segment) patternOrder {
	switch {
	case s.wildcard && o.wildcard:
		return same
	case s.wildcard && o.literal != "":
		return wider
	case o.wildcard && s.literal != "":
		return narrower
	case s == o:
		return same
	}
	return apart
}

// Matcher finds the route of a recorded request by the gateway's rules. It is
// immutable.
type Matcher struct {
	t *table
	// at is each rule's place among the routes.
	at map[*entry]int
}

// NewMatcher compiles the routes' matches. Errors carry the Field
// "routes[i].match".
func NewMatcher(routes []whittle.Route) (*Matcher, error) {
	t := &table{rest: &entry{}}
	t.entries = []*entry{t.rest}
	m := &Matcher{t: t, at: map[*entry]int{t.rest: -1}}
	for i := range routes {
		e, err := t.rule(&routes[i])
		if err != nil {
			return nil, inField(err, "routes["+strconv.Itoa(i)+"]")
		}
		t.add(e)
		m.at[e] = i
	}
	t.order()
	return m, nil
}

// Match gives the index of the narrowest route that matches, -1 where none
// does or the target is none.
func (m *Matcher) Match(q *whittle.Request) int {
	u, err := url.ParseRequestURI(q.Target)
	if err != nil || !strings.HasPrefix(u.Path, "/") {
		return -1
	}
	return m.at[m.t.match(&http.Request{Method: q.Method, URL: u, Header: http.Header(q.Header)})]
}
