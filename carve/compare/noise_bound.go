package compare

import (
	"fmt"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// boundNoise is the name of the bound on what noise excuses.
const boundNoise = "noise"

// A candidate may change what counts as noise noiseFactor times as often as the
// monolith itself, or in the share noiseSlack of responses more often, whichever is
// more.
const (
	noiseFactor = 2
	noiseSlack  = 0.02
	// noiseAim is the monolith's share at which its bound is sharpest: seldom
	// noise needs none, and what always changes is known soon.
	noiseAim = 0.1
)

// changed counts how often one difference that counts as noise came: between
// the monolith's response and the candidate's, in n exchanges, and between the
// monolith's two, in so many repeats.
type changed struct {
	path              string
	candidate, n      int
	monolith, repeats int
	estimate, excess  float64
}

// noiseBound bounds by how much more often than the monolith itself the candidate
// changes what was learned as noise, at the place where that is worst: the share
// of responses c in which it does, less max(s, noiseFactor·s − noiseSlack) with the
// monolith's share s, which is at most noiseSlack just where c is at most
// max(noiseFactor·s, s + noiseSlack). Without this bound one change seen in one repeat would excuse a candidate that is wrong there in
// any share of responses, until the bets on repeats have found it. ok is false
// where nothing was learned; more is how many exchanges it still takes, -1 where
// it cannot be said.
//
// Both shares have a confidence sequence (share) at alpha/2, so the difference
// holds at all times at once with 1 − alpha. EQUIVALENT is wrong here only if the
// interval of the place that is outside its margin is wrong, so alpha is not
// split over the places (an intersection–union test, Berger 1982).
func (m *match) noiseBound(alpha float64) (b whittle.Bound, more int, ok bool) {
	var worst changed
	for _, c := range m.changedByNoise() {
		c.bound(alpha)
		if !ok || c.excess > worst.excess {
			worst, ok = c, true
		}
	}
	if !ok {
		return b, 0, false
	}
	return worst.asBound(boundNoise, alphaOf(m.c)), worst.left(alpha), true
}

// asBound is the excess as it is shown, at a confidence of 1 − alpha.
func (c *changed) asBound(what string, alpha float64) whittle.Bound {
	b := whittle.Bound{
		What: what, Estimate: max(0, c.estimate), High: max(0, c.excess), MarginHigh: noiseSlack, Inside: c.excess <= noiseSlack,
	}
	b.Summary = fmt.Sprintf("%s differs in %s of the candidate's responses and in %s of the monolith's own repeats: at most in %s of responses more than these explain (%s)",
		c.path, display.Percent(eprocess.Ratio(c.candidate, c.n)), display.Percent(eprocess.Ratio(c.monolith, c.repeats)), display.PercentUp(b.High), display.Percent(1-alpha))
	return b
}

// changedByNoise counts what was learned and excuses a difference, in the order
// in which it was first seen.
func (m *match) changedByNoise() []changed {
	var list []changed
	for _, k := range m.marks {
		if !m.noise.learnt[k.key.noise()] || k.key.expect >= 0 || k.decided() || m.forms.replaces(k.key.noise()) {
			continue
		}
		c := changed{path: k.key.path, candidate: k.Count, n: m.n, monolith: k.Self, repeats: m.repeats}
		if m.chosen {
			c.candidate, c.n = k.Again, m.repeats
		}
		list = append(list, c)
	}
	return list
}

// bound finds the estimate and the upper bound of the candidate's excess.
func (c *changed) bound(alpha float64) {
	c.estimate = beyondNoise(eprocess.Ratio(c.candidate, c.n), eprocess.Ratio(c.monolith, c.repeats))
	candidate, monolith := eprocess.NewShare(noiseSlack), eprocess.NewShare(noiseAim)
	candidate.N, candidate.Differing = c.n, c.candidate
	monolith.N, monolith.Differing = c.repeats, c.monolith
	_, high := candidate.Interval(alpha / 2)
	low, _ := monolith.Interval(alpha / 2)
	c.excess = beyondNoise(high, low)
}

func beyondNoise(candidate, monolith float64) float64 {
	return candidate - max(monolith, noiseFactor*monolith-noiseSlack)
}

// left estimates how many more exchanges bring the excess below its margin, if
// both sides go on as they did.
func (c *changed) left(alpha float64) int {
	if c.excess <= noiseSlack {
		return 0
	}
	if c.estimate >= noiseSlack || c.repeats == 0 {
		return -1
	}
	for times := 1.25; times < 1e6; times *= 1.25 {
		on := changed{
			candidate: int(times * float64(c.candidate)), n: int(times * float64(c.n)),
			monolith: int(times * float64(c.monolith)), repeats: int(times * float64(c.repeats)),
		}
		if on.bound(alpha); on.excess <= noiseSlack {
			return on.n - c.n
		}
	}
	return -1
}
