package infer

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"whittle/record/capture"
)

// Groups are the endpoints of a log's exchanges, the same that a contract has.
// Ids in a path, and words of which there are many with like responses, are one
// wildcard.
type Groups struct {
	byKey map[string]string
	list  []grouped // those with wildcards, the most literals first
}

type grouped struct {
	method   string
	segments []segment
	name     string
}

// Group reads the entries once, with the default limits. It fails where an
// entry cannot be read.
func Group(entries iter.Seq2[*capture.Entry, error]) (*Groups, error) {
	l := newLog(Options{Limits: Limits{}.withDefaults()})
	for x, err := range entries {
		if err != nil {
			return nil, err
		}
		l.see(x)
	}
	l.collapse()
	g := &Groups{byKey: map[string]string{}}
	for _, k := range slices.Sorted(maps.Keys(l.endpoints)) {
		e := l.endpoints[k]
		g.byKey[k] = e.label()
		if slices.ContainsFunc(e.segments, func(s segment) bool { return s.wildcard }) {
			g.list = append(g.list, grouped{e.method, e.segments, e.label()})
		}
	}
	slices.SortStableFunc(g.list, func(a, b grouped) int { return cmp.Compare(b.literals(), a.literals()) })
	return g, nil
}

func (g *grouped) literals() int {
	n := 0
	for _, s := range g.segments {
		if !s.wildcard {
			n++
		}
	}
	return n
}

// Of returns the endpoint of a request, "GET /users/{user_id}"; empty: it has
// none.
func (g *Groups) Of(method, requestTarget string) string {
	path, _, ok := target(requestTarget)
	if !ok {
		return ""
	}
	literal := make([]segment, len(path))
	for i, s := range path {
		literal[i] = segment{literal: s}
	}
	for _, segments := range [][]segment{literal, guessSegments(path)} {
		if name := g.byKey[key(method, segments)]; name != "" {
			return name
		}
	}
	for i := range g.list {
		if one := &g.list[i]; one.method == method && matches(one.segments, path) {
			return one.name
		}
	}
	return ""
}
