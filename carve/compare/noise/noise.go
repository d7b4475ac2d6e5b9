// Package noise keeps the changes that the monolith was seen to make by itself, and bounds how much more
// often the candidate makes them.
package noise

import (
	"cmp"
	"fmt"
	"slices"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// Key names one thing that the monolith changes by itself.
type Key struct{ Path, Way string }

// Compare orders keys.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Path, o.Path), cmp.Compare(k.Way, o.Way))
}

// Learned is what the monolith was seen to change by itself. The evidence of both orders shares one,
// since it is about the monolith alone.
type Learned struct {
	Learnt map[Key]bool
	// Own are those of Learnt at which each server holds a state of its own.
	Own map[Key]bool
	// Version changes whenever something is learned.
	Version int
	// N exchanges were compared, and the monolith asked twice in Repeats of them. Self counts the
	// repeats that changed a place.
	N, Repeats int
	Self       map[Key]int
}

// New has learned nothing.
func New() *Learned {
	return &Learned{Learnt: map[Key]bool{}, Own: map[Key]bool{}, Self: map[Key]int{}}
}

// Most bounds the places of which noise is learned.
const Most = 320

// Learn learns a key and reports whether it was new.
func (n *Learned) Learn(k Key) bool {
	if n.Learnt[k] || len(n.Learnt) >= Most {
		return false
	}
	n.Learnt[k] = true
	n.Version++
	return true
}

// LearnOwn notes a key at which each server holds a state of its own.
func (n *Learned) LearnOwn(k Key) {
	if n.Learn(k); n.Learnt[k] && !n.Own[k] {
		n.Own[k] = true
		n.Version++
	}
}

// Join takes in what another one has learned.
func (n *Learned) Join(other *Learned) {
	for k := range other.Learnt {
		n.Learn(k)
	}
	for k := range other.Own {
		n.LearnOwn(k)
	}
	for k, times := range other.Self {
		n.Self[k] += times
	}
	n.N += other.N
	n.Repeats += other.Repeats
}

// A candidate may change noise noiseFactor times as often as the monolith, or in the share Slack of
// responses more often, whichever is more.
const (
	noiseFactor = 2
	Slack       = 0.02
)

// Changed counts how often one difference taken for noise came: between the monolith's response and the
// candidate's in exchanges, and between the monolith's two in repeats.
type Changed struct {
	Path                string
	Candidate, Monolith eprocess.Share
	Excess              float64 // see Bound
}

// Worst is the one of a list, which is not empty, with the largest excess at alpha.
func Worst(list []Changed, alpha float64) Changed {
	for i := range list {
		list[i].Bound(alpha)
	}
	return slices.MaxFunc(list, func(a, b Changed) int { return cmp.Compare(a.Excess, b.Excess) })
}

// AsBound is the excess as it is shown, at a confidence of 1 − alpha.
func (c *Changed) AsBound(what string, alpha float64) whittle.Bound {
	b := whittle.Bound{
		What: what, Estimate: max(0, c.Beyond()), High: max(0, c.Excess), MarginHigh: Slack, Inside: c.inside(),
	}
	b.Summary = fmt.Sprintf("%s differs in %s of the candidate's responses and in %s of the monolith's own repeats: at most %s of the responses differ beyond that (%s)",
		c.Path, display.Percent(c.Candidate.Rate()), display.Percent(c.Monolith.Rate()), display.InPercent(b.High), display.Percent(1-alpha))
	return b
}

// inside reports whether the excess is within its margin.
func (c *Changed) inside() bool { return c.Excess <= Slack }

// Bound finds the upper bound of the candidate's excess.
func (c *Changed) Bound(alpha float64) {
	c.Excess = Beyond(c.Candidate.High(alpha/2), c.Monolith.Low(alpha/2))
}

// Beyond estimates the candidate's excess.
func (c *Changed) Beyond() float64 { return Beyond(c.Candidate.Rate(), c.Monolith.Rate()) }

// Beyond is by which share of responses a candidate that changes a given share of them exceeds what the
// monolith's share explains.
func Beyond(candidate, monolith float64) float64 {
	return candidate - max(monolith, noiseFactor*monolith-Slack)
}

// Left estimates how many more exchanges bring the excess below its margin, to a quarter, if both sides
// go on as they did; -1: unknown.
func (c *Changed) Left(alpha float64) int {
	if c.inside() {
		return 0
	}
	if c.Beyond() >= Slack || c.Monolith.N == 0 {
		return -1
	}
	for times := 1.25; times*float64(c.Candidate.N) < eprocess.CountMost; times *= 1.25 {
		on := Changed{Candidate: c.Candidate.Grown(times), Monolith: c.Monolith.Grown(times)}
		if on.Bound(alpha); on.inside() {
			return on.Candidate.N - c.Candidate.N
		}
	}
	return -1
}
