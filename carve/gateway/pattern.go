package gateway

import (
	"math"
	"net/url"
	"strings"

	"whittle"
)

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
