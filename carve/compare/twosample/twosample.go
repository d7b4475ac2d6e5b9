// Package twosample tests whether two services draw alike what changes from call to call: a
// number's position and spread, and how often each of a few kinds of values comes. Of an
// exchange it takes what the monolith and the candidate say at one place, of which nothing
// but a few sums and the last numbers is kept.
package twosample

import (
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
	numbersMost = 8    // of one response
	recentMost  = 32   // numbers of each side
	middleEvery = 16   // exchanges between two middles
	windowMost  = 1024 // exchanges of a window
	secondLeast = 100  // evidence that the monolith's second response deviates by itself
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
	// Suspect is the evidence from which the two sides are not said to draw alike.
	Suspect = 1000
)

// Test is the test of one place.
//
// Hypothesis: the two sides' values in an exchange are exchangeable given the past, as those
// of two services are that draw alike, each by itself. Then each payoff has mean 0: the sign
// of candidate − monolith (position; of lists, its mean over the pairs), the sign of
// abs(candidate − m) − abs(monolith − m) with m the middle of the past numbers of both
// (spread), and 1[candidate has kind k] − 1[monolith has it], for each kind that has come
// before, of which a number's is its range among a dozen of the past. What must fall is more:
// that the mean lies within Slack or kindSlack of 0, so that data which move between the two
// calls are no finding. Where each server says what it has of itself, or the first call
// changes what the second returns, the hypothesis is false of equal services too: what is
// found is no proof.
//
// Error rate: 1 in Suspect for the place, however often one looks: a third each for position,
// spread and kinds. Each bets on the whole past, and on the last two windows of windowMost
// exchanges, so that a candidate that changes late is found. Source: Payoffs of eprocess;
// Ville's inequality; Shekhar & Ramdas 2023, arXiv 2112.09162.
type Test struct {
	position, spread trial
	kinds            kinds
	recent           [2]recent
	middle           float64
	n                int // exchanges with numbers
}

// trial is what one kind of payoff has come to.
type trial struct {
	all, window, last eprocess.Payoffs
	windows           int // that have ended
	// second are the payoffs of the monolith's second response against its first.
	second eprocess.Payoffs
}

func (t *trial) see(g float64) {
	t.all.Add(g)
	if t.window.N >= windowMost {
		t.last, t.window = t.window, eprocess.Payoffs{}
		t.windows++
	}
	t.window.Add(g)
}

// logEValue is the logarithm of the evidence: half of the first wealth is on the whole past,
// and of the other half 1/(k(k+1)) on the k-th window.
func (t *trial) logEValue(slack float64) float64 {
	k := float64(t.windows + 1)
	e := max(t.all.LogEValue(slack), t.window.LogEValue(slack)-math.Log(k*(k+1)))
	if t.windows > 0 {
		e = max(e, t.last.LogEValue(slack)-math.Log((k-1)*k))
	}
	return e - math.Ln2
}

// isQuiet reports whether there is no evidence for sure, without its logarithms.
func (t *trial) isQuiet(slack float64) bool {
	return max(math.Abs(t.all.Mean()), math.Abs(t.window.Mean()), math.Abs(t.last.Mean())) <= slack
}

// bySecond reports whether the monolith's own second response was shown to deviate from its
// first in the same direction, by half as much and more, so that it is the order of asking
// that makes the difference.
func (t *trial) bySecond() bool {
	m, s := t.all.Mean(), t.second.Mean()
	return m*s > 0 && 2*math.Abs(s) >= math.Abs(m) && t.second.LogEValue(0) >= math.Log(secondLeast)
}

// recent are the last numbers of a side.
type recent struct {
	list []float64
	next int
}

func (r *recent) add(x float64) {
	if len(r.list) < recentMost {
		r.list = append(r.list, x)
		return
	}
	r.list[r.next] = x
	r.next = (r.next + 1) % recentMost
}

// sample are the numbers of one response, a few of many.
type sample struct {
	list [numbersMost]float64
	n    int
}

func sampleOf(values []Value) (s sample) {
	step := (len(values) + numbersMost - 1) / numbersMost
	for i := 0; i < len(values); i += step {
		if values[i].IsNumber {
			s.list[s.n] = values[i].Number
			s.n++
		}
	}
	return s
}

func (s *sample) numbers() []float64 { return s.list[:s.n] }

// larger is how often those of a are larger than those of b, less how often they are smaller.
func larger(a, b *sample, of func(float64) float64) float64 {
	sum := 0
	for _, x := range a.numbers() {
		u := of(x)
		for _, y := range b.numbers() {
			switch v := of(y); {
			case u > v:
				sum++
			case u < v:
				sum--
			}
		}
	}
	return float64(sum) / float64(a.n*b.n)
}

func itself(x float64) float64 { return x }

// See takes what the two sides say in an exchange, and the monolith's second response; nil:
// there was none.
func (t *Test) See(monolith, candidate, again []Value) {
	m, c := sampleOf(monolith), sampleOf(candidate)
	if m.n > 0 && c.n > 0 {
		r := sampleOf(again)
		t.settle(&t.position, &m, &c, &r, itself)
		if t.ready() {
			t.settle(&t.spread, &m, &c, &r, func(x float64) float64 { return math.Abs(x - t.middle) })
		}
	}
	t.kinds.see(monolith, candidate, again)
	if m.n == 0 || c.n == 0 {
		return
	}
	for side, s := range [2]*sample{&m, &c} {
		for _, x := range s.numbers() {
			t.recent[side].add(x)
		}
	}
	if t.n++; t.n%middleEvery == 0 {
		t.choose()
	}
}

func (t *Test) settle(at *trial, m, c, again *sample, of func(float64) float64) {
	at.see(larger(c, m, of))
	if again.n > 0 {
		at.second.Add(larger(again, m, of))
	}
}

// ready reports whether there is a middle.
func (t *Test) ready() bool { return t.n >= middleEvery }

// choose finds the middle of the last numbers of both sides and, once there are enough, the
// ranges.
func (t *Test) choose() {
	var all [2 * recentMost]float64
	list := append(append(all[:0], t.recent[0].list...), t.recent[1].list...)
	slices.Sort(list)
	n := len(list)
	t.middle = list[(n-1)/2]/2 + list[n/2]/2
	if n == len(all) && len(t.kinds.edges) == 0 {
		t.kinds.edges = edgesOf(list)
	}
}
