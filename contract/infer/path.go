package infer

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"whittle/contract"
)

// maxSegments bounds the paths that are tracked.
const maxSegments = 16

// segment is one segment of a pattern: a literal, or a wildcard where wildcard
// is set.
type segment struct {
	literal  string
	wildcard bool
	// name is the wildcard's name in the route; empty: it is generated.
	name string
	// chosen says that the wildcard's values are words, not ids, of which there
	// were too many; why is the evidence.
	chosen bool
	why    string
}

// target splits a request's target: the path's segments, decoded, and the
// query. It fails where either is malformed or too long.
func target(t string) (path []string, query url.Values, ok bool) {
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

// routePattern reads a route's name, "GET /users/{id}". It fails where the name
// is none of a pattern, or of one that many endpoints fall under ("/api/",
// "{rest...}").
func routePattern(name string) (method string, segments []segment, ok bool) {
	method, pattern, found := strings.Cut(name, " ")
	if !found {
		method, pattern = "", name
	}
	pattern = strings.TrimSpace(pattern)
	if strings.HasSuffix(pattern, "/") {
		return "", nil, false
	}
	segments, ok = patternSegments(pattern)
	return method, segments, ok
}

// patternSegments reads a path pattern of net/http that matches paths of one
// length.
func patternSegments(pattern string) (segments []segment, ok bool) {
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
			segments = append(segments, segment{wildcard: true, name: inner})
		} else {
			literal, err := url.PathUnescape(inner)
			if err != nil {
				return nil, false
			}
			segments = append(segments, segment{literal: literal})
		}
	}
	return segments, true
}

// guessSegments makes a pattern of one path: what looks like an id is a
// wildcard, all else stays.
func guessSegments(path []string) []segment {
	out := make([]segment, len(path))
	for i, s := range path {
		if isID(s) {
			out[i] = segment{wildcard: true}
		} else {
			out[i] = segment{literal: s}
		}
	}
	return out
}

// matches reports whether a path falls under the segments. A wildcard of ids
// takes only what looks like one, unless the route says otherwise.
func matches(segments []segment, path []string) bool {
	if len(segments) != len(path) {
		return false
	}
	for i, s := range segments {
		switch {
		case !s.wildcard && s.literal != path[i]:
			return false
		case s.wildcard && (path[i] == "" || !s.chosen && s.name == "" && !isID(path[i])):
			return false
		}
	}
	return true
}

// key tells patterns apart, whatever their wildcards are called.
func key(method string, segments []segment) string {
	var b strings.Builder
	b.WriteString(method)
	for _, s := range segments {
		b.WriteByte('/')
		if s.wildcard {
			b.WriteString("{}")
		} else {
			b.WriteString(s.literal)
		}
	}
	return b.String()
}

// patternKey is key for a binding's method and pattern.
func patternKey(method, pattern string) string {
	segments, ok := patternSegments(pattern)
	if !ok {
		return method + pattern
	}
	return key(method, segments)
}

// pattern writes the segments as net/http's pattern; names are the wildcards'.
func pattern(segments []segment, names []string) string {
	var b strings.Builder
	for i, s := range segments {
		b.WriteByte('/')
		switch {
		case s.wildcard:
			b.WriteString("{" + names[0] + "}")
			names = names[1:]
		case s.literal == "" && i == len(segments)-1:
			b.WriteString("{$}")
		default:
			b.WriteString(contract.Segment(s.literal))
		}
	}
	return b.String()
}

// wildcardNames gives the field names of the wildcards: the route's own, or
// made of the literal before ("users" has user_id).
func wildcardNames(segments []segment) []string {
	var names []string
	before := ""
	for _, s := range segments {
		if !s.wildcard {
			before = s.literal
			continue
		}
		name := contract.FieldName(s.name)
		if s.name == "" {
			name = contract.Singular(contract.FieldName(before))
			if before == "" {
				name = "id"
			} else if !s.chosen {
				name += "_id"
			}
		}
		names = append(names, contract.Unique(name, "_", func(n string) bool { return slices.Contains(names, n) }))
	}
	return names
}

// versions and the like say nothing of what an endpoint does.
func telling(literal string) bool {
	switch l := strings.ToLower(literal); {
	case l == "", l == "api", l == "rest", l == "rpc", l == "twirp", l == "public", l == "internal":
		return false
	case l[0] == 'v' && isDigits(l[1:]):
		return false
	}
	return true
}
