// Package paired estimates how two series differ that were measured in turn, in
// pairs of blocks, one of each side, in random order.
//
// # The hypothesis and the test
//
// The hypothesis is "B is A times ρ". Under it, dividing B's values by ρ makes the
// two blocks of a pair exchangeable, because their order is random. So any score
// that is antisymmetric in the two keeps its distribution when its sign is flipped
// in any of the pairs. The test flips the signs at random and counts how often the
// sum is as far from zero as the observed one: an exact randomization test (Fisher
// 1935; Lehmann and Romano, Testing Statistical Hypotheses, 3rd ed., 15.2). It
// holds for any distribution of the values and any drift or correlation within a
// series; it assumes only that one block does not affect the next. Where B is not A
// times a factor but has the same figure, the test holds for many pairs, because
// the sum is studentized by its own flips (Janssen 1997; Chung and Romano 2013).
//
// Where each side varies slowly and independently of the other (a cache that
// fills, a garbage collector's cycle), the errors of neighbouring pairs are
// correlated. So signs are flipped not pair by pair but in at most 24 stretches of
// neighbours, as the block bootstrap keeps neighbours together (Künsch 1989; for
// signs, Shao 2010). The test stays exact, and the interval covers variation that
// is shorter than a stretch. No interval within one run shows what is constant in a
// process from its start to its end.
//
// The interval is all ρ that the test does not reject. So interval and test agree,
// and drift that both sides share does not widen it.
package paired

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// Alpha is the error rate of each interval by itself. FamilyAlpha is that of all
// verdicts of one comparison together. It is below the 5 % that is promised, so
// that the promise holds where servers vary for longer than a stretch.
const (
	Alpha       = 0.05
	FamilyAlpha = 0.03
)

// Ratio is the ratio of a figure of B to A's, with its interval.
type Ratio struct {
	// A and B are the two sides' own figures, over all blocks.
	A, B float64
	// Ratio is B/A with its 95 % interval. Infinite where only A is zero, not a
	// number where both are or one side is empty; Low is 0 and High infinite where
	// the data cannot bound it.
	Ratio, Low, High float64
	// P is the p-value: the probability of a difference at least as great if A and B
	// were equal.
	P float64
	// Pairs is how many blocks of each side, or windows or runs, it is based on.
	Pairs int
}

// Figure scores pairs of blocks.
type Figure interface {
	// Sides returns the figure of A and of B.
	Sides() (a, b float64)
	// Scores fills dst, one for each pair, with a score whose sign flips when
	// the pair's blocks are swapped after B's values were divided by ratio.
	Scores(dst []float64, ratio float64)
}

const (
	// stretches is how many runs of neighbouring pairs are flipped: enough for
	// an interval hardly wider than by single pairs (Student's quantile for 23
	// degrees of freedom is 2.07, the normal one 1.96).
	stretches = 24
	// Up to enumerated stretches are flipped in every possible way, more of them in
	// draws random ways.
	enumerated = 13
	draws      = 4999

	groupBits    = 8
	groupChoices = 1 << groupBits
)

// Test holds the signs by which stretches of pairs are flipped. It is not safe
// for concurrent use.
type Test struct {
	pairs, stretches int
	// signs has for each draw one byte for every eight stretches; a set bit
	// flips.
	signs [][]byte
	// exact says that signs has every choice there is.
	exact     bool
	scores    []float64 // of pairs
	stretched []float64 // of stretches
	sums      []float64 // for each group of eight stretches, the 256 sums they can have
}

// NewTest draws the signs for a number of pairs.
func NewTest(pairs int, rng *rand.Rand) *Test {
	long := min(pairs, stretches)
	groups := (long + groupBits - 1) / groupBits
	t := &Test{
		pairs: pairs, stretches: long, exact: long <= enumerated,
		scores: make([]float64, pairs), stretched: make([]float64, long), sums: make([]float64, groups*groupChoices),
	}
	n := draws
	if t.exact {
		n = 1 << long
	}
	all := make([]byte, n*groups)
	for i := range n {
		row := all[i*groups : (i+1)*groups]
		for g := range row {
			if t.exact {
				row[g] = byte(i >> (g * groupBits))
			} else {
				row[g] = byte(rng.Uint32())
			}
		}
		t.signs = append(t.signs, row)
	}
	return t
}

// Compare returns the ratio of a figure with its interval and p-value.
func (t *Test) Compare(f Figure) Ratio {
	a, b := f.Sides()
	r := Ratio{A: a, B: b, Ratio: over(b, a), Low: 0, High: math.Inf(1), P: 1, Pairs: t.pairs}
	if t.pairs == 0 || math.IsNaN(a) || math.IsNaN(b) {
		return r
	}
	r.P = t.p(f, 1)
	if !(a > 0) || !(b > 0) {
		if c, ok := f.(counted); ok && r.P <= Alpha {
			r.Low, r.High = c.bound(t)
		}
		return r
	}
	if t.minP() > Alpha {
		return r
	}
	r.Low = r.Ratio * math.Exp(-t.intervalEnd(f, r.Ratio, -1))
	r.High = r.Ratio * math.Exp(t.intervalEnd(f, r.Ratio, 1))
	return r
}

// over is b/a: infinite where only a is zero, not a number where both are or
// one is below zero or none.
func over(b, a float64) float64 {
	if !(a >= 0) || !(b >= 0) {
		return math.NaN()
	}
	return b / a
}

// minP is the smallest p-value that so many pairs can give.
func (t *Test) minP() float64 {
	if t.exact {
		return min(2/math.Pow(2, float64(t.stretches)), 1)
	}
	return 1.0 / (draws + 1)
}

// The farthest that an interval is followed, and how finely its end is found,
// as logarithms.
const (
	maxLogRatio  = 14.0 // a factor of a million
	logTolerance = 1e-4
)

// intervalEnd is how far, as a logarithm, the ratio can go in one direction before
// the test rejects it; infinite where it never does.
func (t *Test) intervalEnd(f Figure, ratio, direction float64) float64 {
	held := func(w float64) bool { return t.p(f, ratio*math.Exp(direction*w)) > Alpha }
	in, out := 0.0, 1.0/1024
	for held(out) {
		if in, out = out, out*2; out > maxLogRatio {
			return math.Inf(1)
		}
	}
	for out-in > logTolerance*max(in, 0.01) {
		if mid := (in + out) / 2; held(mid) {
			in = mid
		} else {
			out = mid
		}
	}
	return out
}

// p is the two-sided p-value of "B is A times ratio".
func (t *Test) p(f Figure, ratio float64) float64 {
	f.Scores(t.scores, ratio)
	clear(t.stretched)
	for i, s := range t.scores {
		t.stretched[i*t.stretches/t.pairs] += s
	}
	sum, size := 0.0, 0.0
	for _, s := range t.stretched {
		sum += s
		size += math.Abs(s)
	}
	if size == 0 {
		return 1
	}
	t.tabulate()
	// Sums in another order differ in their last bits.
	bound := math.Abs(sum) - 1e-9*size
	far := 0
	for _, row := range t.signs {
		s := 0.0
		for g, choice := range row {
			s += t.sums[g<<groupBits|int(choice)]
		}
		if math.Abs(s) >= bound {
			far++
		}
	}
	if t.exact {
		return float64(far) / float64(len(t.signs))
	}
	return float64(far+1) / float64(len(t.signs)+1)
}

// tabulate fills in what each group of eight stretches adds up to for each choice
// of signs, each from one with a sign less.
func (t *Test) tabulate() {
	for g := 0; g<<groupBits < len(t.sums); g++ {
		sums := t.sums[g<<groupBits : (g+1)<<groupBits]
		scores := t.stretched[g*groupBits : min((g+1)*groupBits, t.stretches)]
		sums[0] = 0
		for _, s := range scores {
			sums[0] += s
		}
		for choice := 1; choice < groupChoices; choice++ {
			last := choice & (choice - 1)
			i := bits.TrailingZeros(uint(choice))
			sums[choice] = sums[last]
			if i < len(scores) {
				sums[choice] -= 2 * scores[i]
			}
		}
	}
}
