package noise

import (
	"cmp"
	"fmt"
	"slices"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// A candidate may change what counts as noise noiseFactor times as often as the
// monolith itself, or in the share Slack of responses more often, whichever is
// more.
const (
	noiseFactor = 2
	Slack       = 0.02
)

// Changed counts how often one difference that counts as noise came: between
// the monolith's response and the candidate's, in n exchanges, and between the
// monolith's two, in so many repeats.
type Changed struct {
	Path              string
	Candidate, N      int
	Monolith, Repeats int
	estimate, Excess  float64
}

// Worst is that of a list, which is not empty, whose excess is the largest at alpha.
func Worst(list []Changed, alpha float64) Changed {
	for i := range list {
		list[i].Bound(alpha)
	}
	return slices.MaxFunc(list, func(a, b Changed) int { return cmp.Compare(a.Excess, b.Excess) })
}

// AsBound is the excess as it is shown, at a confidence of 1 − alpha.
func (c *Changed) AsBound(what string, alpha float64) whittle.Bound {
	b := whittle.Bound{
		What: what, Estimate: max(0, c.estimate), High: max(0, c.Excess), MarginHigh: Slack, Inside: c.inside(),
	}
	b.Summary = fmt.Sprintf("%s differs in %s of the candidate's responses and in %s of the monolith's own repeats: at most %s of the responses differ beyond that (%s)",
		c.Path, display.Percent(eprocess.Ratio(c.Candidate, c.N)), display.Percent(eprocess.Ratio(c.Monolith, c.Repeats)), display.InPercent(b.High), display.Percent(1-alpha))
	return b
}

// inside reports whether the excess is within its margin.
func (c *Changed) inside() bool { return c.Excess <= Slack }

// Bound finds the estimate and the upper bound of the candidate's excess.
func (c *Changed) Bound(alpha float64) {
	c.estimate = c.Beyond()
	candidate, monolith := eprocess.Share{N: c.N, Differing: c.Candidate}, eprocess.Share{N: c.Repeats, Differing: c.Monolith}
	c.Excess = Beyond(candidate.High(alpha/2), monolith.Low(alpha/2))
}

// Beyond estimates the candidate's excess.
func (c *Changed) Beyond() float64 {
	return Beyond(eprocess.Ratio(c.Candidate, c.N), eprocess.Ratio(c.Monolith, c.Repeats))
}

// Beyond is the share of responses by which a candidate that changes the given share
// of them exceeds what the monolith's share explains.
func Beyond(candidate, monolith float64) float64 {
	return candidate - max(monolith, noiseFactor*monolith-Slack)
}

// Left estimates how many more exchanges bring the excess below its margin, if both sides go
// on as they did, to a quarter; -1: it cannot be said.
func (c *Changed) Left(alpha float64) int {
	if c.inside() {
		return 0
	}
	if c.estimate >= Slack || c.Repeats == 0 {
		return -1
	}
	for times := 1.25; times*float64(c.N) < eprocess.CountMost; times *= 1.25 {
		grown := func(n int) int { return int(times * float64(n)) }
		on := Changed{Candidate: grown(c.Candidate), N: grown(c.N), Monolith: grown(c.Monolith), Repeats: grown(c.Repeats)}
		if on.Bound(alpha); on.inside() {
			return on.N - c.N
		}
	}
	return -1
}
