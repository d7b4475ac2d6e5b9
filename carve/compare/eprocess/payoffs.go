package eprocess

import "math"

// Payoffs are the sums of antisymmetric payoffs in [-1, 1], one of each exchange: positive
// where it speaks for the one side and negative where it speaks for the other. They carry a
// test and an interval at once, and need no more than three numbers.
//
// Hypothesis of the test: given the past, each payoff has a mean of at most slack, and at
// least -slack. Of two services that draw alike, each by itself, the mean is 0. For x with
// x >= -1 and l in [0, 1) is exp(l·x - psi(l)·x²) at most 1 + l·x, so for
// x = (g - slack)/(1 + slack) the product over all exchanges is a nonnegative
// supermartingale, and so is its mean over some l and both directions: the chance that it
// ever reaches 1/alpha is at most alpha (Ville's inequality), however often one looks.
//
// Source: Fan, Grama, Liu 2015; Howard, Ramdas, McAuliffe, Sekhon 2021, arXiv 1810.08240.
type Payoffs struct {
	N       int     `json:"n"`
	Sum     float64 `json:"s"`
	Squares float64 `json:"q"`
}

// Add takes in one payoff.
func (p *Payoffs) Add(g float64) {
	g = Clamp(g)
	p.N++
	p.Sum += g
	p.Squares += g * g
}

// Mean is that of the payoffs so far.
func (p *Payoffs) Mean() float64 { return p.Sum / float64(max(1, p.N)) }

// LogEValue is the logarithm of the evidence against a mean within slack.
func (p *Payoffs) LogEValue(slack float64) float64 {
	n := float64(p.N)
	sum := math.Inf(-1)
	for _, s := range [2]float64{p.Sum, -p.Sum} {
		x := (s - slack*n) / (1 + slack)
		v := (p.Squares - 2*slack*s + slack*slack*n) / ((1 + slack) * (1 + slack))
		for i, l := range slopes {
			sum = logSum(sum, l*x-slopeCosts[i]*v)
		}
	}
	return sum - math.Log(2*float64(len(slopes)))
}

// Interval holds the mean of the payoffs' means at every number of exchanges at once, but
// for the chance alpha on each side.
func (p *Payoffs) Interval(alpha float64) (low, high float64) {
	half := HalfWidth(p.N, p.Squares, alpha)
	return max(-1, p.Mean()-half), min(1, p.Mean()+half)
}

// Missing estimates how many more payoffs bring the interval within margin of 0; -1: it
// cannot be said.
func (p *Payoffs) Missing(alpha, margin float64) int {
	low, high := p.Interval(alpha)
	if low >= -margin && high <= margin {
		return 0
	}
	mean, half := math.Abs(p.Mean()), HalfWidth(p.N, p.Squares, alpha)
	room := margin - mean
	if mean < half { // it may be 0
		room = max(room, margin/2)
	}
	return More(p.N, half, room)
}

// More estimates how many more than n rounds narrow an interval from a width to what there is room
// for, as it narrows about like 1/√n; -1: it cannot be said.
func More(n int, width, room float64) int {
	grow := width / room
	if more := float64(n) * (grow*grow - 1); n > 0 && room > 0 && more < 1e9 {
		return max(1, int(more))
	}
	return -1
}
