package compare

import (
	"whittle"
	"whittle/carve/compare/header"
	"whittle/carve/compare/noise"
)

// boundNoise is the name of the bound on what noise excuses.
const boundNoise = "noise"

// noiseBound bounds by how much more often than the monolith itself the candidate
// changes what was learned as noise, at the place where that is worst: the share
// of responses c in which it does, less max(s, noiseFactor·s − noise.Slack) with the
// monolith's share s, which is at most noise.Slack just where c is at most
// max(noiseFactor·s, s + noise.Slack). Without this bound one change seen in one repeat would excuse a candidate that is wrong there in
// any share of responses, until the bets on repeats have found it. ok is false
// where nothing was learned; more is how many exchanges it still takes, -1 where
// it cannot be said.
//
// Both shares have a confidence sequence (share) at alpha/2, so the difference
// holds at all times at once with 1 − alpha. EQUIVALENT is wrong here only if the
// interval of the place that is outside its margin is wrong, so alpha is not
// split over the places (an intersection–union test, Berger 1982).
func (m *match) noiseBound(alpha float64) (b whittle.Bound, more int, ok bool) {
	var worst noise.Changed
	for _, c := range m.changedByNoise() {
		c.Bound(alpha)
		if !ok || c.Excess > worst.Excess {
			worst, ok = c, true
		}
	}
	if !ok {
		return b, 0, false
	}
	return worst.AsBound(boundNoise, alphaOf(m.c)), worst.Left(alpha), true
}

// changedByNoise counts what was learned and excuses a difference, in the order
// in which it was first seen.
func (m *match) changedByNoise() []noise.Changed {
	var list []noise.Changed
	for _, k := range m.marks {
		if !m.noise.Learnt[k.noise()] || k.Expect >= 0 || k.decided() || m.forms.Replaces(k.noise()) {
			continue
		}
		c := noise.Changed{Path: k.Path, Candidate: k.Count, N: m.n, Monolith: k.Self, Repeats: m.repeats}
		if m.chosen {
			c.Candidate, c.N = k.Again, m.repeats
		}
		list = append(list, c)
	}
	return list
}

// rare reports whether the monolith was seen to vary at a place in few of its
// repeats.
func (m *match) rare(k noise.Key) bool {
	return m.noise.Repeats >= learnRepeats && float64(m.noise.Self[k]) <= rareNoise*float64(m.noise.Repeats)
}

// rareNoise is the share of repeats up to which noise is asked about like any
// other difference: what varies more often would take up the budget.
const rareNoise = 0.05

// learning reports whether too few requests have been repeated to tell noise
// from difference.
func (m *match) learning() bool {
	return m.learn && m.noise.Repeats < learnRepeats && m.noise.N < learnCompared
}

// learnFrom takes what the monolith changed by itself as noise.
func (m *match) learnFrom(self []int) {
	for _, i := range self {
		if k := m.marks[i].markKey; k.learnable() && m.forms.Teaches(k.noise()) && m.noise.Learn(k.noise()) {
			m.refresh()
		}
	}
}

// Varies implements method. What it teaches does not count among the repeats,
// which are drawn by chance.
func (m *match) Varies(a, b *whittle.Response) {
	if !m.learn || !header.Usable(b, a) {
		return
	}
	m.readBy(a)
	for _, d := range m.differ.Diff(a.Body, b.Body) {
		if k := (markKey{Path: d.Path, How: d.How, Expect: d.Expect}); d.Expect < 0 && k.learnable() && m.forms.Teaches(k.noise()) {
			m.noise.Learn(k.noise())
		}
	}
	m.refresh()
}
