// Package twosample tests whether two services draw alike what changes from call to call: a
// number's position, and how often each of a few kinds of values comes, of numbers each of a
// dozen ranges. Of an exchange it takes what the monolith and the candidate say at one place, of
// which nothing but a few sums and the first numbers is kept.
package twosample

import (
	"cmp"
	"math"
	"slices"

	"whittle/carve/compare/eprocess"
)

// Value is what is compared of one value.
type Value struct {
	// Kind distinguishes what is no number: a word, null, nothing.
	Kind     uint64
	Number   float64
	IsNumber bool
}

// Bounds of what is kept and looked at.
const (
	firstMost  = 64   // numbers of both sides, which give the ranges
	windowMost = 1024 // exchanges of a window: TestLateSuspicions
)

// What counts as alike.
const (
	// Slack is by how much of the pairs the one side may be the larger more often.
	Slack = 0.05
	// kindSlack is the same of how often a kind comes.
	kindSlack = 0.02
	// Margin is within what EQUIVALENT has it: of a pair the candidate's is the larger in 40 to
	// 60 %.
	Margin = 0.2
	// KindMargin is by which share of responses a kind may come more often.
	KindMargin = 0.15
	// Suspect is the evidence from which the two sides are not said to draw alike, nor the monolith
	// with itself.
	Suspect = 1000
)

// Test is the test of one place.
//
// Hypothesis: the two sides' values in an exchange are exchangeable given the past, as those
// of two services are that draw alike, each by itself. Then each payoff has mean 0: the sign
// of candidate − monolith (position; of lists, of their means), and
// 1[candidate has kind k] − 1[monolith has it], for each kind that has come before, of which a
// number's is its range among a dozen of the past. What must fall is more:
// that the mean lies within Slack or kindSlack of 0, so that data which move between the two
// calls are no finding. Where each server says what it has of itself, or the first call
// changes what the second returns, the hypothesis is false of equal services too: what is
// found is no proof.
//
// Error rate: 1 in Suspect for the place, however often one looks: half each for position and
// kinds. Each bets on the whole past, and on the last window of windowMost
// exchanges, so that a candidate that changes late is found. Source: Payoffs of eprocess;
// Ville's inequality; Shekhar & Ramdas 2023, arXiv 2112.09162.
type Test struct {
	Position trial `json:"p"`
	kinds
	// First are the first numbers of both sides, until they make the ranges.
	First []float64 `json:"r,omitempty"`
}

// trial is what one kind of payoff has come to.
type trial struct {
	All     eprocess.Payoffs `json:"a"`
	Window  eprocess.Payoffs `json:"w"`
	Windows int              `json:"e,omitempty"` // that have ended
	// Second are the payoffs of the monolith's second response against its first.
	Second eprocess.Payoffs `json:"s"`
}

func (t *trial) see(g float64) {
	t.All.Add(g)
	if t.Window.N >= windowMost {
		t.Window = eprocess.Payoffs{}
		t.Windows++
	}
	t.Window.Add(g)
}

// logEValue is the logarithm of the evidence: half of the first wealth is on the whole past,
// and of the other half 1/(k(k+1)) on the k-th window.
func (t *trial) logEValue(slack float64) float64 {
	return max(t.All.LogEValue(slack), t.Window.LogEValue(slack)+math.Log(eprocess.OfNth(1, t.Windows+1))) - math.Ln2
}

// isQuiet reports whether there is no evidence for sure, without its logarithms.
func (t *trial) isQuiet(slack float64) bool {
	return max(math.Abs(t.All.Mean()), math.Abs(t.Window.Mean())) <= slack
}

// bySecond reports whether the monolith's own second response was shown to deviate from its
// first in the same direction, by half as much and more, so that it is the order of asking
// that makes the difference.
func (t *trial) bySecond() bool {
	m, s := t.All.Mean(), t.Second.Mean()
	return m*s > 0 && 2*math.Abs(s) >= math.Abs(m) && t.Second.LogEValue(0) >= math.Log(Suspect)
}

// meanOf is the mean of a response's numbers; ok is false where it has none.
func meanOf(values []Value) (mean float64, ok bool) {
	n := 0.0
	for i := range values {
		if values[i].IsNumber {
			n++
			mean += (values[i].Number - mean) / n
		}
	}
	return mean, n > 0
}

// See takes what the two sides say in an exchange, and the monolith's second response; nil:
// there was none.
func (t *Test) See(monolith, candidate, again []Value) {
	t.see(monolith, candidate, again)
	m, okM := meanOf(monolith)
	c, okC := meanOf(candidate)
	if !okM || !okC {
		return
	}
	t.Position.see(float64(cmp.Compare(c, m)))
	if r, ok := meanOf(again); ok {
		t.Position.Second.Add(float64(cmp.Compare(r, m)))
	}
	for _, list := range [][]Value{monolith, candidate} {
		for i := 0; i < len(list) && len(t.First) < firstMost; i++ {
			if list[i].IsNumber {
				t.First = append(t.First, list[i].Number)
			}
		}
	}
	if len(t.First) == firstMost && len(t.Edges) == 0 {
		t.Edges = edgesOf(slices.Sorted(slices.Values(t.First)))
	}
}
