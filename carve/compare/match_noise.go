package compare

import (
	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/header"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/own"
)

// boundNoise is the name of the bound on what noise excuses.
const boundNoise = "noise"

// noiseBound bounds how much more often than the monolith the candidate changes what was learned as
// noise, at the worst place (noise.Beyond). Without it, one change in one repeat would excuse a
// candidate that is wrong there in any share of responses, until the bets on repeats find it. ok is
// false where nothing was learned.
//
// Both shares have a confidence sequence (eprocess.Share) at alpha/2, so the difference holds at all
// times at once with 1 − alpha. EQUIVALENT is wrong here only if the interval of the place outside its
// margin is wrong, so the places need not split alpha (an intersection–union test, Berger 1982).
func (m *match) noiseBound(alpha float64) (b whittle.Bound, ok bool) {
	list := m.changedByNoise()
	if len(list) == 0 {
		return b, false
	}
	worst := noise.Worst(list, alpha)
	b = worst.AsBound(boundNoise, alphaOf(m.c))
	b.More = worst.Left(alpha)
	return b, true
}

// changedByNoise counts the learned noise that excuses a difference, in the order of first sight.
func (m *match) changedByNoise() []noise.Changed {
	var list []noise.Changed
	for _, k := range m.marks {
		if !m.noise.Learnt[k.noise()] || k.Expect >= 0 || k.decided() || m.forms.Replaces(k.noise()) {
			continue
		}
		c := m.changed(k)
		if c.Path = m.pathWords(k.Path); m.chosen {
			c.Candidate = eprocess.Share{N: m.repeats, Differing: k.Again}
		}
		list = append(list, c)
	}
	return list
}

// changed counts how often either side differs at a mark.
func (m *match) changed(k *mark) noise.Changed {
	return noise.Changed{Candidate: eprocess.Share{N: m.n, Differing: k.Count}, Monolith: eprocess.Share{N: m.repeats, Differing: k.Self}}
}

// rare reports whether the monolith varied at a place in so few of its repeats that it is asked about
// like any other difference.
func (m *match) rare(k noise.Key) bool {
	return m.noise.Repeats >= own.Enough && float64(m.noise.Self[k]) <= own.Seldom*float64(m.noise.Repeats)
}

// learnCompared is after how many exchanges the candidate is called different despite too few repeats.
const learnCompared = 500 // exchanges

// learning reports whether too few requests were repeated to tell noise from difference.
func (m *match) learning() bool {
	return m.learn && m.noise.Repeats < m.learnAfter && m.noise.N < learnCompared
}

// learnFrom learns the monolith's changes as noise.
func (m *match) learnFrom(self []int) {
	for _, i := range self {
		if k := m.marks[i]; k.Direct == nil || k.Expect < 0 {
			m.learnOf(k.markKey)
		}
	}
	m.tell()
}

// learnOf learns a difference of the monolith's own as noise. What varies in form varies in value.
func (m *match) learnOf(k markKey) {
	if !k.learnable() || !m.forms.Teaches(k.noise()) {
		return
	}
	if k.How == howForm {
		m.noise.Learn(noise.Key{Path: k.Path, Way: jsondiff.HowValue})
	}
	m.noise.Learn(k.noise())
}

// Varies implements method. What it teaches does not count among the repeats, which are drawn by chance.
func (m *match) Varies(a, b *whittle.Response) {
	if !m.learn || !header.Usable(b, a) {
		return
	}
	m.readBy(a)
	for _, d := range m.diff(a.Body, b.Body) {
		if d.Expect < 0 {
			m.learnOf(markKey{Path: d.Path, How: d.How, Expect: d.Expect})
		}
	}
	m.tell()
}

// diff lists how two bodies differ. The list is valid until the next comparison.
func (m *match) diff(a, b []byte) []jsondiff.Difference {
	list := m.differ.Diff(a, b)
	if m.direct {
		list = m.directWays(list, a, b)
	}
	return list
}

// diffShown is diff with words for what differs.
func (m *match) diffShown(monolith, candidate []byte) []jsondiff.Difference {
	m.differ.Quiet = false
	defer func() { m.differ.Quiet = true }()
	return m.diff(monolith, candidate)
}

// seeForms has the forms of varying values compared in the present exchange.
func (m *match) seeForms(x *whittle.Exchange, repeated bool) {
	if m.kind == whittle.FoundBody {
		return
	}
	m.forms.Timeless = m.chosen
	var again []byte
	if repeated {
		again = x.Repeat.Body
	}
	m.tell()
	m.forms.See(x, again, m.alpha*(1-m.places), m.n)
}
