package infer

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"whittle/contract/infer/pattern"
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
	segments []pattern.Segment
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
		if slices.ContainsFunc(e.segments, func(s pattern.Segment) bool { return s.Wildcard }) {
			g.list = append(g.list, grouped{e.method, e.segments, e.label()})
		}
	}
	slices.SortStableFunc(g.list, func(a, b grouped) int { return cmp.Compare(pattern.Literals(b.segments), pattern.Literals(a.segments)) })
	return g, nil
}

// Of returns the endpoint of a request, "GET /users/{user_id}"; empty: it has
// none.
func (g *Groups) Of(method, requestTarget string) string {
	path, _, ok := pattern.Target(requestTarget)
	if !ok {
		return ""
	}
	literal := make([]pattern.Segment, len(path))
	for i, s := range path {
		literal[i] = pattern.Segment{Literal: s}
	}
	for _, segments := range [][]pattern.Segment{literal, pattern.Guess(path)} {
		if name := g.byKey[pattern.Key(method, segments)]; name != "" {
			return name
		}
	}
	for i := range g.list {
		if one := &g.list[i]; one.method == method && pattern.Matches(one.segments, path) {
			return one.name
		}
	}
	return ""
}
