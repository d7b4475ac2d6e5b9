package compare

import (
	"cmp"
	"fmt"

	"whittle"
	"whittle/carve/compare/eprocess"
)

// proof is what asking again has shown of a place beyond its noise: in how many
// rechecks, by which test, and in words.
type proof struct {
	count int
	by    *eprocess.Bold
	words string
}

// proofs are what speaks of a place in one order, 1 being that of users.
func (t *rechecks) proofs(p *recheckPlace, order int) []proof {
	a, odd := p.in(order), []*eprocess.Bold{&t.Second, &t.First}[order]
	return []proof{
		{oddAlone(a), odd, "is another one on the candidate where the monolith stays the same"},
		{p.Kept[order], &t.Kept, "stays another one on the candidate, which no change of the monolith's own explains"},
	}
}

// in is what was seen of the place in one order.
func (p *recheckPlace) in(order int) *whittle.Asked {
	return []*whittle.Asked{&p.Mirrored, &p.Served}[order]
}

// unlisted are findings at places where the monolith was seen to vary, so that no other
// method lists them, but where asking again has shown a difference: noise explains
// that a place varies, not that the candidate varies where the monolith does not. Of
// the places of one proof it names those with at least half the evidence of the
// strongest.
func (t *rechecks) unlisted(listed []whittle.Finding, body whittle.FindingKind) (list []whittle.Finding) {
	t.claimLate()
	known := map[string]bool{}
	for i := range listed {
		if place, ok := placeOfFinding(&listed[i]); ok && listed[i].Decided {
			known[place] = true
		}
	}
	most := map[*eprocess.Bold]int{}
	for i := range t.Places {
		for order := range 2 {
			for _, s := range t.proofs(&t.Places[i], order) {
				most[s.by] = max(most[s.by], s.count)
			}
		}
	}
	for i := range t.Places {
		p := &t.Places[i]
		for order := range 2 {
			for _, s := range t.proofs(p, order) {
				if !known[p.Place] && s.by.At > 0 && s.count > 0 && 2*s.count >= most[s.by] {
					list = append(list, s.finding(p, order, body))
					break
				}
			}
		}
	}
	return list
}

func (s *proof) finding(p *recheckPlace, order int, body whittle.FindingKind) whittle.Finding {
	a := *p.in(order)
	f := findingAt(p.Place, body)
	f.Count, f.Of, f.Decided, f.DecidedAt, f.EValue, f.Asked = s.count, a.Times, true, s.by.At, s.by.EValue(), &a
	f.Summary = fmt.Sprintf("%s %s; %s", cmp.Or(p.Place, "the body"), s.words, askedWords(&a))
	if order == 1 {
		f.Order = whittle.AskedFirst
		f.Summary += "; only when the candidate is asked first, as users ask it"
	}
	return f
}
