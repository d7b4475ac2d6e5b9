package config

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"whittle"
)

// tryPattern says what net/http's ServeMux, whose patterns these are, has
// against one. Its refusal comes as a panic.
func tryPattern(pattern string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			text := fmt.Sprint(r)
			if _, reason, ok := strings.Cut(text, ": "); ok {
				text = reason
			}
			err = errors.New(text)
		}
	}()
	http.NewServeMux().Handle(pattern, http.NotFoundHandler())
	return nil
}

// meeting says how the requests of two routes a and b relate.
type meeting struct {
	apart        bool // they have none in common
	aMore, bMore bool // a, b has some that the other has not
}

// ambiguous: some requests belong to both, and neither is the more specific.
func (m meeting) ambiguous() bool { return !m.apart && m.aMore == m.bMore }

// condition adds that a part of the request must be x for a and y for b, where
// "" is any.
func (m *meeting) condition(x, y string) {
	switch {
	case x == y:
	case x == "":
		m.aMore = true
	case y == "":
		m.bMore = true
	default:
		m.apart = true
	}
}

// path is a pattern in segments: "" for a wildcard, "=" before what stands for itself, and
// many where more may follow.
type path struct {
	segments []string
	many     bool
}

// theEnd stands for the empty segment after the last slash ("/a/{$}").
const theEnd = "/"

func parsePath(pattern string) path {
	var p path
	parts := strings.Split(strings.TrimPrefix(pattern, "/"), "/")
	for i, part := range parts {
		last := i == len(parts)-1
		switch {
		case last && (part == "" || strings.HasSuffix(part, "...}")):
			p.many = true
		case part == "{$}":
			p.segments = append(p.segments, theEnd)
		case strings.HasPrefix(part, "{"):
			p.segments = append(p.segments, "")
		default:
			literal, err := url.PathUnescape(part)
			if err != nil {
				literal = part // parseMatch has said so
			}
			p.segments = append(p.segments, "="+literal)
		}
	}
	return p
}

func (m *meeting) paths(a, b path) {
	n := min(len(a.segments), len(b.segments))
	for i := range n {
		x, y := a.segments[i], b.segments[i]
		if (x == "" || y == "") && (x == theEnd || y == theEnd) {
			m.apart = true // a wildcard is never the empty segment
			return
		}
		m.condition(x, y)
	}
	switch {
	case len(a.segments) > n && b.many:
		m.bMore = true
	case len(b.segments) > n && a.many:
		m.aMore = true
	case len(a.segments) != len(b.segments) || a.many != b.many:
		m.apart = true
	}
}

// meet says how the requests of two matches relate.
func meet(a, b whittle.Match, pa, pb path) meeting {
	var m meeting
	m.paths(pa, pb)
	m.condition(a.Method, b.Method)
	switch {
	case a.HeaderName == b.HeaderName:
		m.condition(a.HeaderValue, b.HeaderValue)
	case a.HeaderName == "" || b.HeaderName == "":
		m.condition(a.HeaderName, b.HeaderName)
	default: // one request may carry both
		m.aMore, m.bMore = true, true
	}
	return m
}

// checkOverlap refuses two routes of which a request could equally well mean
// either; of two that are not alike, the more specific one has it.
func (r *reader) checkOverlap(routes []whittle.Route) {
	paths := make([]path, len(routes))
next:
	for i, b := range routes {
		field := fmt.Sprintf("routes[%d].match", i)
		paths[i] = parsePath(b.Match.Pattern)
		for j, a := range routes[:i] {
			switch {
			case a.Name == b.Name:
				first := r.where[fmt.Sprintf("routes[%d]", j)]
				r.failField(field, "%s is given twice; the first is routes[%d] in %s", quote(b.Name), j-r.sources[first.file].first, r.sources.place(first))
				continue next
			case meet(a.Match, b.Match, paths[j], paths[i]).ambiguous():
				r.failField(field, "%s overlaps %s, and neither is the more specific; change one so that every request has one route", quote(b.Name), quote(a.Name))
				continue next
			}
		}
	}
}
