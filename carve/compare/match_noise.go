package compare

import (
	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/header"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
	"whittle/carve/compare/own"
)

// changed counts how often either side differs at a mark.
func (m *match) changed(k *mark) noise.Changed {
	return noise.Changed{Candidate: eprocess.Share{N: m.n, Differing: k.Count}, Monolith: eprocess.Share{N: m.repeats, Differing: k.Self}}
}

// rare reports whether the monolith varied at a place in so few of its repeats that it is asked about
// like any other difference.
func (m *match) rare(k noise.Key) bool {
	return m.noise.Repeats >= own.Enough && float64(m.noise.Self[k]) <= own.Seldom*float64(m.noise.Repeats)
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
