package gateway

import (
	"math"
	"net/http"
	"net/url"
	"strings"

	"whittle"
	"whittle/carve/gateway/listener"
)

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

// matchRaw is match for a request in bytes; nil where a header decides.
func (t *table) matchRaw(r *listener.Raw) *entry {
	if len(t.entries) == 1 {
		return t.rest
	}
	method := r.Head.Method()
	switch e := t.index.find(string(r.Path), false, func(e *entry) bool { return e.match.Method == "" || string(method) == e.match.Method }); {
	case e == nil:
		return t.rest
	case e.match.HeaderName != "":
		return nil
	default:
		return e
	}
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
