// Package pattern finds patterns in texts: formats (times, ids, addresses), the
// pattern of paths, and the template that several texts have in common.
package pattern

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"whittle/contract"
)

// maxSegments bounds the paths that are tracked.
const maxSegments = 16

// Segment is one segment of a pattern: a literal, or a wildcard where Wildcard is set.
type Segment struct {
	Literal  string
	Wildcard bool
	// Name is the wildcard's name in the route; empty: it is generated.
	Name string
	// Chosen says that the wildcard's values are words, not ids, of which there were too
	// many; Why is the evidence.
	Chosen bool
	Why    string
}

// Target splits a request's target: the path's segments, decoded, and the
// query. It fails where either is malformed or too long.
func Target(t string) (path []string, query url.Values, ok bool) {
	raw, q, _ := strings.Cut(t, "?")
	if i := strings.Index(raw, "://"); i > 0 { // a proxy's form
		_, raw, _ = strings.Cut(raw[i+3:], "/")
		raw = "/" + raw
	}
	if !strings.HasPrefix(raw, "/") {
		return nil, nil, false
	}
	path = strings.Split(raw[1:], "/")
	if len(path) > maxSegments {
		return nil, nil, false
	}
	for i, s := range path {
		s, err := url.PathUnescape(s)
		if err != nil || !utf8.ValidString(s) || strings.ContainsAny(s, "{}") {
			return nil, nil, false
		}
		path[i] = s
	}
	query, err := url.ParseQuery(q)
	return path, query, err == nil
}

// ParseRoute reads a route's name, "GET /users/{id}". It fails where the name
// is none of a pattern, or of one that many endpoints fall under ("/api/",
// "{rest...}").
func ParseRoute(name string) (method string, segments []Segment, ok bool) {
	method, pattern, found := strings.Cut(name, " ")
	if !found {
		method, pattern = "", name
	}
	pattern = strings.TrimSpace(pattern)
	if strings.HasSuffix(pattern, "/") {
		return "", nil, false
	}
	segments, ok = Parse(pattern)
	return method, segments, ok
}

// Parse reads a path pattern of net/http that matches paths of one
// length.
func Parse(pattern string) (segments []Segment, ok bool) {
	if !strings.HasPrefix(pattern, "/") {
		return nil, false
	}
	pattern = strings.TrimSuffix(pattern, "{$}")
	for _, s := range strings.Split(pattern[1:], "/") {
		inner, wildcard := strings.CutPrefix(s, "{")
		inner, closed := strings.CutSuffix(inner, "}")
		if wildcard != closed || strings.HasSuffix(inner, "...") {
			return nil, false
		}
		if wildcard {
			segments = append(segments, Segment{Wildcard: true, Name: inner})
		} else {
			literal, err := url.PathUnescape(inner)
			if err != nil {
				return nil, false
			}
			segments = append(segments, Segment{Literal: literal})
		}
	}
	return segments, true
}

// Guess makes a pattern of one path: what looks like an id is a
// wildcard, all else stays.
func Guess(path []string) []Segment {
	out := make([]Segment, len(path))
	for i, s := range path {
		if IsID(s) {
			out[i] = Segment{Wildcard: true}
		} else {
			out[i] = Segment{Literal: s}
		}
	}
	return out
}

// Matches reports whether a path falls under the segments. A wildcard of ids
// takes only what looks like one, unless the route says otherwise.
func Matches(segments []Segment, path []string) bool {
	if len(segments) != len(path) {
		return false
	}
	for i, s := range segments {
		switch {
		case !s.Wildcard && s.Literal != path[i]:
			return false
		case s.Wildcard && (path[i] == "" || !s.Chosen && s.Name == "" && !IsID(path[i])):
			return false
		}
	}
	return true
}

// Literals counts the segments that are none of a wildcard.
func Literals(segments []Segment) (n int) {
	for _, s := range segments {
		if !s.Wildcard {
			n++
		}
	}
	return n
}

// Key distinguishes patterns, whatever their wildcards are called.
func Key(method string, segments []Segment) string {
	var b strings.Builder
	b.WriteString(method)
	for _, s := range segments {
		b.WriteByte('/')
		if s.Wildcard {
			b.WriteString("{}")
		} else {
			b.WriteString(s.Literal)
		}
	}
	return b.String()
}

// KeyOf is Key for a binding's method and pattern.
func KeyOf(method, pattern string) string {
	segments, ok := Parse(pattern)
	if !ok {
		return method + pattern
	}
	return Key(method, segments)
}

// Of writes the segments as net/http's pattern; names are the wildcards'.
func Of(segments []Segment, names []string) string {
	var b strings.Builder
	for i, s := range segments {
		b.WriteByte('/')
		switch {
		case s.Wildcard:
			b.WriteString("{" + names[0] + "}")
			names = names[1:]
		case s.Literal == "" && i == len(segments)-1:
			b.WriteString("{$}")
		default:
			b.WriteString(contract.Segment(s.Literal))
		}
	}
	return b.String()
}

// WildcardNames gives the field names of the wildcards: the route's own, or
// made of the literal before ("users" has user_id).
func WildcardNames(segments []Segment) []string {
	var names []string
	before := ""
	for _, s := range segments {
		if !s.Wildcard {
			before = s.Literal
			continue
		}
		name := contract.FieldName(s.Name)
		if s.Name == "" {
			name = contract.Singular(contract.FieldName(before))
			if before == "" {
				name = "id"
			} else if !s.Chosen {
				name += "_id"
			}
		}
		names = append(names, contract.Unique(name, "_", func(n string) bool { return slices.Contains(names, n) }))
	}
	return names
}

// Descriptive reports whether a segment says what an endpoint does; versions and the
// like do not.
func Descriptive(literal string) bool {
	switch l := strings.ToLower(literal); {
	case l == "", l == "api", l == "rest", l == "rpc", l == "twirp", l == "public", l == "internal":
		return false
	case l[0] == 'v' && isDigits(l[1:]):
		return false
	}
	return true
}
