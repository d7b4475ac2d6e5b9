package infer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"whittle/contract/infer/pattern"
	"whittle/contract/infer/shape"
)

// siblings is how many literals at one place must look the same before they are taken
// for values of a wildcard.
const siblings = 12

// siblingGroup is a group of endpoints that differ in one literal only.
type siblingGroup struct {
	at      int
	members []*endpoint
}

// collapse joins endpoints that differ in one literal only and respond with the
// same structure, where there are many of them: "/articles/first-light" and
// eleven more are "/articles/{article}".
func (l *log) collapse() {
	groups := map[string]*siblingGroup{}
	for _, k := range slices.Sorted(maps.Keys(l.endpoints)) {
		e := l.endpoints[k]
		sig := e.signature()
		if sig == 0 {
			continue
		}
		for i, s := range e.segments {
			if s.Wildcard || s.Literal == "" || i == 0 {
				continue
			}
			id := fmt.Sprint(e.openKey(i), i, sig)
			if groups[id] == nil {
				groups[id] = &siblingGroup{at: i}
			}
			groups[id].members = append(groups[id].members, e)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		g := groups[id]
		// An endpoint may have gone into another group by now.
		g.members = slices.DeleteFunc(g.members, func(e *endpoint) bool { return l.endpoints[pattern.Key(e.method, e.segments)] != e })
		if why := g.values(); why != "" {
			l.join(g, why)
		}
	}
	l.stragglers()
}

// stragglers merges into the wildcards that were found those literals that
// occurred once or twice and failed, or that have half of the names or more.
func (l *log) stragglers() {
	for _, k := range slices.Sorted(maps.Keys(l.endpoints)) {
		e := l.endpoints[k]
		if e.seen > 2 {
			continue
		}
		for i, s := range e.segments {
			if s.Wildcard {
				continue
			}
			whole := l.endpoints[e.openKey(i)]
			if whole != nil && whole.segments[i].Chosen && whole.resembles(e) {
				whole.absorb(e, i)
				delete(l.endpoints, k)
				break
			}
		}
	}
}

// resembles reports whether another endpoint's successes, if any, look like those
// of this one.
func (e *endpoint) resembles(o *endpoint) bool {
	a, b := e.responses[e.success()], o.responses[o.success()]
	switch {
	case b == nil:
		return true
	case a == nil || e.success() != o.success() || o.unfit() != "" || a.json == 0 || b.json == 0:
		return false
	}
	shared := 0
	for _, k := range b.shape.Keys {
		if a.shape.Fields[k] != nil {
			shared++
		}
	}
	return shared > 0 && 2*shared >= len(b.shape.Keys) && 2*shared >= len(a.shape.Keys)
}

// openKey is the endpoint's key with a wildcard at one place.
func (e *endpoint) openKey(at int) string {
	open := slices.Clone(e.segments)
	open[at] = pattern.Segment{Wildcard: true}
	return pattern.Key(e.method, open)
}

// values says why the group's literals are values of a wildcard. Empty: they are separate
// endpoints, as where their responses say nothing that would tell them apart, such as OK.
func (g *siblingGroup) values() string {
	if len(g.members) < siblings || !g.informative() && !g.varied() || !g.agree() {
		return ""
	}
	return fmt.Sprintf("%d different words at this place had responses of the same structure", len(g.members))
}

// agree reports whether the members' texts, if they return texts, fit one template with a word in it.
func (g *siblingGroup) agree() bool {
	var all pattern.Template
	for _, e := range g.members {
		a := e.responses[e.success()]
		if a.json > 0 || a.text == 0 {
			return true
		}
		all.Absorb(&a.texts)
	}
	return slices.ContainsFunc(all.Parts, func(p pattern.Part) bool { return strings.ContainsFunc(p.Literal, unicode.IsLetter) })
}

// varied reports whether most members return something else than the others.
func (g *siblingGroup) varied() bool {
	looks := map[uint64]bool{}
	for _, e := range g.members {
		a := e.responses[e.success()]
		h := a.shape.Scalars()
		for _, p := range a.texts.Parts {
			h = shape.Mix(h + shape.Hash(p.Literal))
		}
		looks[h] = true
	}
	return 2*len(looks) > len(g.members)
}

// informative reports whether the responses have enough names to be recognized
// by.
func (g *siblingGroup) informative() bool {
	s := &g.members[0].responses[g.members[0].success()].shape
	if s.Element != nil {
		s = s.Element
	}
	return len(s.Keys) > 1
}

func (l *log) join(g *siblingGroup, why string) {
	segments := slices.Clone(g.members[0].segments)
	segments[g.at] = pattern.Segment{Wildcard: true, Chosen: true}
	k := pattern.Key(g.members[0].method, segments)
	whole := l.endpoints[k]
	if whole == nil {
		whole = newEndpoint(g.members[0].method, segments, g.members[0].first)
	}
	whole.segments[g.at].Chosen = true
	whole.segments[g.at].Why = cmp.Or(whole.segments[g.at].Why, why)
	for _, e := range g.members {
		whole.absorb(e, g.at)
		delete(l.endpoints, pattern.Key(e.method, e.segments))
	}
	l.endpoints[k] = whole
}

// signature identifies the form of the successes: the names of the object, or
// of an array's objects, and where there are few, the form of the requests. 0:
// the endpoint has no success, or one that no method can have.
func (e *endpoint) signature() uint64 {
	a := e.responses[e.success()]
	if a == nil || e.unfit() != "" {
		return 0
	}
	h := uint64(e.success())
	if a.json == 0 {
		if a.text > 0 {
			h = shape.Mix(h + shape.Hash(a.types.most()))
		}
		return shape.Mix(h + e.body.shape.NamesSeen() + 1)
	}
	s := &a.shape
	if s.Element != nil {
		s, h = s.Element, h+1000
	}
	h += s.NamesSeen()
	if len(s.Keys) < 2 {
		for _, k := range s.Kinds() {
			h = shape.Mix(h + uint64(k))
		}
		h += shape.Mix(e.body.shape.NamesSeen())
	}
	return shape.Mix(h)
}
