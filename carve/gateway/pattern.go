package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"whittle"
)

// A pattern is a path pattern of net/http's ServeMux, split into segments. Unlike
// ServeMux it never cleans or redirects, because the monolith must get each target as
// it was sent. A wildcard takes no segment that servers resolve (see resolved), so such
// a path matches only a pattern that has it.
type pattern struct {
	segments []segment
	// multi says that one or more further segments follow. The last of them
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

// Matcher finds the route of a recorded request by the gateway's rules. It is
// immutable.
type Matcher struct {
	t *table
	// at is each rule's place among the routes.
	at map[*entry]int
}

// NewMatcher compiles the routes' matches. Its error joins those of all routes at fault, each
// with the Field "routes[i].match".
func NewMatcher(routes []whittle.Route) (*Matcher, error) {
	t := &table{rest: &entry{}}
	t.entries = []*entry{t.rest}
	m := &Matcher{t: t, at: map[*entry]int{t.rest: -1}}
	var errs []error
	for i := range routes {
		e, err := t.rule(&routes[i])
		if err != nil {
			errs = append(errs, inField(err, "routes["+strconv.Itoa(i)+"]"))
			continue
		}
		t.add(e)
		m.at[e] = i
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
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
