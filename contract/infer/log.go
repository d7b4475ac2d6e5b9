package infer

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"whittle"
	"whittle/contract"
	"whittle/contract/infer/pattern"
	"whittle/contract/infer/shape"
	"whittle/record/capture"
)

// log collects an exchange log by endpoint.
type log struct {
	o         Options
	b         shape.Bounds
	endpoints map[string]*endpoint
	// routes are the patterns by a route's name, read once.
	routes map[string]*routePath
	seen   int
	made   int // endpoints
	// left counts the exchanges that belong to no endpoint, by reason.
	left tally
}

type routePath struct {
	method   string
	segments []pattern.Segment
	ok       bool
}

// room is how many endpoints are tracked while the log is read, as a multiple
// of how many there may be in the end: literals that turn out to be values
// arrive one by one.
const room = 8

func newLog(o Options) *log {
	return &log{
		o: o, b: shape.Bounds{Most: o.Limits.Nodes, Depth: o.Limits.Depth},
		endpoints: map[string]*endpoint{}, routes: map[string]*routePath{},
	}
}

func (l *log) see(x *capture.Entry) {
	if l.o.Route != "" && x.Route != l.o.Route {
		return
	}
	l.seen++
	path, query, ok := pattern.Target(x.Request.Target)
	if why := l.skipReason(x, ok, query); why != "" {
		l.left.add(why, 1)
		return
	}
	if e := l.endpoint(x, path); e != nil {
		e.see(x, path, query, &l.b)
	} else {
		l.left.add("endpoints were too many", 1)
	}
}

// skipReason returns why an exchange is not used; empty: it is.
func (l *log) skipReason(x *capture.Entry, ok bool, query url.Values) string {
	switch m := x.Request.Method; {
	case x.Served == whittle.Candidate:
		return "the candidate served it, not the monolith"
	case !ok || !validValues(query):
		return "the target was malformed"
	case m != "GET" && m != "POST" && m != "PUT" && m != "PATCH" && m != "DELETE":
		return "the method was " + m
	case x.Response.Status == 101:
		return "the connection was upgraded"
	case m == "GET" && isAsset(x.Response.Header.Get("Content-Type")):
		return "the response was a file: an image, a font, a style sheet, a script"
	}
	return ""
}

func validValues(values url.Values) bool {
	for name, vs := range values {
		if !utf8.ValidString(name) || slices.ContainsFunc(vs, func(v string) bool { return !utf8.ValidString(v) }) {
			return false
		}
	}
	return true
}

func isAsset(contentType string) bool {
	return slices.ContainsFunc([]string{"image/", "font/", "video/", "audio/", "text/css", "text/javascript", "application/javascript", "application/wasm"},
		func(kind string) bool { return strings.HasPrefix(contentType, kind) })
}

func sortedNames(values url.Values) []string { return slices.Sorted(maps.Keys(values)) }

// endpoint finds or makes the endpoint of an exchange; it returns nil where
// there is no room for another one.
func (l *log) endpoint(x *capture.Entry, path []string) *endpoint {
	if r := l.route(x.Route); r.ok && len(r.segments) == len(path) && (r.method == "" || r.method == x.Request.Method) {
		return l.make(x.Request.Method, r.segments)
	}
	segments := pattern.Guess(path)
	k := pattern.Key(x.Request.Method, segments)
	if e := l.endpoints[k]; e != nil {
		return e
	}
	if e := l.matching(x.Request.Method, path); e != nil {
		return e
	}
	if len(l.endpoints) >= room*l.o.Limits.Endpoints {
		l.collapse()
		if e := l.matching(x.Request.Method, path); e != nil {
			return e
		}
	}
	return l.make(x.Request.Method, segments)
}

// matching finds an endpoint whose wildcards take the path.
func (l *log) matching(method string, path []string) *endpoint {
	for _, k := range slices.Sorted(maps.Keys(l.endpoints)) {
		if e := l.endpoints[k]; e.method == method && pattern.Matches(e.segments, path) {
			return e
		}
	}
	return nil
}

func (l *log) make(method string, segments []pattern.Segment) *endpoint {
	k := pattern.Key(method, segments)
	e := l.endpoints[k]
	if e == nil && len(l.endpoints) < room*l.o.Limits.Endpoints {
		l.made++
		e = newEndpoint(method, segments, l.made)
		l.endpoints[k] = e
	}
	return e
}

func (l *log) route(name string) *routePath {
	r := l.routes[name]
	if r == nil {
		r = &routePath{}
		if name != "" {
			r.method, r.segments, r.ok = pattern.ParseRoute(name)
		}
		if len(l.routes) < 1024 {
			l.routes[name] = r
		}
	}
	return r
}

// chosen returns the endpoints of the contract in the order in which they
// appeared: those that succeeded, and the most used of them where there are too
// many.
func (l *log) chosen() []*endpoint {
	l.collapse()
	var out []*endpoint
	for _, k := range slices.Sorted(maps.Keys(l.endpoints)) {
		e := l.endpoints[k]
		if why := e.unfit(); why != "" {
			l.left.add(fmt.Sprintf("%s: %s", e.label(), why), e.seen)
			continue
		}
		out = append(out, e)
	}
	if most := l.o.Limits.Endpoints; len(out) > most {
		slices.SortStableFunc(out, func(a, b *endpoint) int { return b.seen - a.seen })
		for _, e := range out[most:] {
			l.left.add("endpoints were too many", e.seen)
		}
		out = out[:most]
	}
	slices.SortStableFunc(out, func(a, b *endpoint) int { return a.first - b.first })
	return out
}

func (e *endpoint) label() string {
	return e.method + " " + pattern.Of(e.segments, pattern.WildcardNames(e.segments))
}

// unfit says why an endpoint cannot be a method.
func (e *endpoint) unfit() string {
	a := e.responses[e.success()]
	switch {
	case a == nil:
		return "no response was a success"
	case a.binary > 0:
		return "a response was neither JSON nor text"
	case a.encoded > 0:
		return "a response was compressed in a way that was not undone when it was recorded"
	case e.body.binary > 0:
		return "a request's body was neither JSON, a form, nor text"
	case e.body.encoded > 0:
		return "a request's body was compressed"
	}
	return ""
}

// leftOut lists what belongs to no method.
func (l *log) leftOut() []contract.Guess {
	var out []contract.Guess
	add := func(n int, why string) {
		out = append(out, contract.Guess{
			Path: "exchanges", Chosen: "left out", Against: "a method for them",
			Evidence: fmt.Sprintf("%d of %s%s", n, contract.Count(l.seen, "exchange"), why),
		})
	}
	for _, why := range slices.Sorted(maps.Keys(l.left.by)) {
		add(l.left.by[why], ": "+why)
	}
	if l.left.more > 0 {
		add(l.left.more, ", for further reasons")
	}
	return out
}
