package infer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"whittle/contract/infer/pattern"
	"whittle/contract/infer/shape"
)

// How many literals at one place must look the same before they are taken for
// values of a wildcard. Fewer suffice where most occurred once or twice, as
// values do and the words of an API do not; more are needed where the responses
// are uninformative, such as OK.
const (
	fewSiblings           = 8
	siblings              = 12
	uninformativeSiblings = 24
)

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

// values says why the group's literals are values of a wildcard, and keeps only
// the members for which that holds. Empty: they are separate endpoints.
func (g *siblingGroup) values() string {
	if len(g.members) < fewSiblings {
		return ""
	}
	g.alike()
	apart := g.recurring()
	n, rare := len(g.members), 0
	for _, e := range g.members {
		if e.seen <= 2 {
			rare++
		}
	}
	switch {
	case n < fewSiblings, n < siblings && (4*rare < 3*n || !g.varied()), n < uninformativeSiblings && !g.informative() && !g.varied():
		return ""
	}
	why := fmt.Sprintf("%d different words at this place, %d of them seen once or twice, had responses of the same structure", n, rare)
	if len(apart) > 0 {
		why += "; " + strings.Join(apart, ", ") + " came much more often and stayed apart"
	}
	return why
}

// recurring removes and returns the literals that occurred much more often than
// the others, as /users/me does.
func (g *siblingGroup) recurring() []string {
	const often, times = 5, 4
	slices.SortStableFunc(g.members, func(a, b *endpoint) int { return cmp.Compare(b.seen, a.seen) })
	cutoff := 0
	for i := 0; i < len(g.members)/4; i++ {
		if n := g.members[i].seen; n >= often && n >= times*g.members[i+1].seen {
			cutoff = i + 1
		}
	}
	var apart []string
	for _, e := range g.members[:cutoff] {
		apart = append(apart, fmt.Sprintf("%.40q", e.segments[g.at].Literal))
	}
	g.members = g.members[cutoff:]
	return apart
}

// alike keeps, of endpoints that return texts, those whose texts fit one
// template. The first text may be the exception, so a few of them are tried.
func (g *siblingGroup) alike() {
	if !g.members[0].isText() {
		return
	}
	var best []*endpoint
	for _, begin := range []int{0, len(g.members) / 3, len(g.members) / 2, len(g.members) - 1} {
		var t pattern.Template
		var fit []*endpoint
		for i := range g.members {
			e := g.members[(begin+i)%len(g.members)]
			next := pattern.Template{}
			next.Absorb(&t)
			next.Absorb(&e.responses[e.success()].texts)
			if saysPath(&next, e, g.at) {
				t = next
				fit = append(fit, e)
			}
		}
		if len(fit) > len(best) {
			best = fit
		}
		if 2*len(best) > len(g.members) {
			break
		}
	}
	g.members = best
}

// saysPath reports whether at least a half of the endpoint's words, but for the
// literal that its path has, are literals of the template.
func saysPath(t *pattern.Template, e *endpoint, at int) bool {
	if t.Broken {
		return false
	}
	own := ""
	for _, p := range e.responses[e.success()].texts.Parts {
		own += p.Literal
	}
	own = strings.ReplaceAll(own, e.segments[at].Literal, "")
	literals := 0
	for _, p := range t.Parts {
		literals += wordBytes(p.Literal)
	}
	return literals > 0 && 2*literals >= wordBytes(own)
}

func wordBytes(s string) int {
	n := 0
	for i := range len(s) {
		if pattern.IsWordByte(s[i]) {
			n++
		}
	}
	return n
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
	if whole.segments[g.at].Why == "" {
		whole.segments[g.at].Why = why
	}
	for _, e := range g.members {
		whole.absorb(e, g.at)
		delete(l.endpoints, pattern.Key(e.method, e.segments))
	}
	l.endpoints[k] = whole
}

// isText says that the successes are texts.
func (e *endpoint) isText() bool {
	a := e.responses[e.success()]
	return a != nil && a.text > 0 && a.json == 0
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
