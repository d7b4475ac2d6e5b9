package eprocess

import (
	"math"
)

// slopes are the sizes of the bets behind an interval. Each is best at one number of rounds, from a few
// dozen to a million.
var slopes = [...]float64{0.0012, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64}

// slopeCosts holds psi(slope) = -log(1-slope) - slope for each.
var slopeCosts = func() (c [len(slopes)]float64) {
	for i, l := range slopes {
		c[i] = -math.Log1p(-l) - l
	}
	return c
}()

// HalfWidth is half the width of a time-uniform interval for the average of the conditional means of n
// payoffs in [-1, 1] with the sum of squares v. At every n at once the average lies within it, except
// with the chance alpha on each side.
//
// It is the empirical Bernstein bound: exp(l(X-mu) - psi(l)X²) has expectation at most 1 for X >= -1 and
// l in [0, 1) (Fan, Grama, Liu 2015; Howard, Ramdas, McAuliffe, Sekhon 2021, arXiv 1810.08240, theorem
// 4, with 0 as the predicted mean, which is sharp where there is no difference). A few l share the level
// evenly, so the number of rounds need not be known beforehand.
func HalfWidth(n int, v, alpha float64) float64 {
	if n == 0 {
		return math.Inf(1)
	}
	level := math.Log(float64(len(slopes)) / alpha)
	best := math.Inf(1)
	for i, l := range slopes {
		best = min(best, (level+slopeCosts[i]*v)/l)
	}
	return best / float64(n)
}

// RatioSums gathers pairs of magnitudes in [0, magnitudeCap], the candidate's and the monolith's, for an
// interval of the ratio of their means.
type RatioSums struct {
	N  int     `json:"n"`
	Y  float64 `json:"y"`
	X  float64 `json:"x"`
	YY float64 `json:"yy"`
	XX float64 `json:"xx"`
	XY float64 `json:"xy"`
}

// magnitudeCap bounds a magnitude, in spreads.
const magnitudeCap = 4

// Add takes in one pair of magnitudes, each limited to magnitudeCap.
func (r *RatioSums) Add(y, x float64) {
	y, x = min(y, magnitudeCap), min(x, magnitudeCap)
	r.N++
	r.Y += y
	r.X += x
	r.YY += y * y
	r.XX += x * x
	r.XY += x * y
}

// Interval is the ratio of the means and its time-uniform interval, alpha on each side. It inverts the
// test of each ratio q by the payoffs y - q·x, which have mean 0 at the true one.
func (r *RatioSums) Interval(alpha float64) (estimate, low, high float64) {
	if r.N == 0 || r.X <= 0 {
		return 1, 0, math.Inf(1)
	}
	estimate = r.Y / r.X
	outside := func(q float64) bool { return r.Rejects(q, alpha) }
	return estimate, crossing(estimate, 0, outside), crossing(estimate, 100, outside)
}

// Rejects reports whether the payoffs reject a ratio.
func (r *RatioSums) Rejects(q, alpha float64) bool {
	unit := magnitudeCap * max(1, q)
	sum := (r.Y - q*r.X) / unit
	v := (r.YY - 2*q*r.XY + q*q*r.XX) / (unit * unit)
	return math.Abs(sum) > float64(r.N)*HalfWidth(r.N, v, alpha)
}

// Payoffs are the sums of antisymmetric payoffs in [-1, 1], one of each exchange, for a test and an
// interval at once.
//
// Hypothesis of the test: given the past, each payoff has a mean within slack of 0, as it is 0 where
// two services draw alike. For x >= -1 and l in [0, 1), exp(l·x - psi(l)·x²) is at most 1 + l·x. So
// with x = (g - slack)/(1 + slack) the product over all exchanges is a nonnegative supermartingale,
// and so is its mean over some l and both directions: the chance that it ever reaches 1/alpha is at
// most alpha (Ville's inequality), however often one looks. Source: as HalfWidth's.
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

// Interval holds the mean of the payoffs' means at every number of exchanges at once, except with the
// chance alpha on each side.
func (p *Payoffs) Interval(alpha float64) (low, high float64) {
	half := HalfWidth(p.N, p.Squares, alpha)
	return max(-1, p.Mean()-half), min(1, p.Mean()+half)
}

// Missing estimates how many more payoffs bring the interval within margin of 0; -1: unknown.
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

// More estimates how many more than n rounds narrow an interval from width to room, as it narrows about
// like 1/√n; -1: unknown.
func More(n int, width, room float64) int {
	grow := width / room
	if more := float64(n) * (grow*grow - 1); n > 0 && room > 0 && more < 1e9 {
		return max(1, int(more))
	}
	return -1
}
