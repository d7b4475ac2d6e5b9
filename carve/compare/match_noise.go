package compare

import (
	"whittle"
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
		if !m.noise.Learnt[k.key.noise()] || k.key.expect >= 0 || k.decided() || m.forms.Replaces(k.key.noise()) {
			continue
		}
		c := noise.Changed{Path: k.key.path, Candidate: k.Count, N: m.n, Monolith: k.Self, Repeats: m.repeats}
		if m.chosen {
			c.Candidate, c.N = k.Again, m.repeats
		}
		list = append(list, c)
	}
	return list
}
