package eprocess

import "math"

// The sizes of the bets behind an interval; each is best at one number of
// rounds, from a few dozen to a million.
var slopes = [...]float64{0.0012, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64}

// slopeCosts holds psi(slope) = -log(1-slope) - slope for each.
var slopeCosts = func() (c [len(slopes)]float64) {
	for i, l := range slopes {
		c[i] = -math.Log1p(-l) - l
	}
	return c
}()

// HalfWidth is half the width of a time-uniform interval for the average of
// the conditional means of n payoffs in [-1, 1] with the sum of squares v: at
// every n at once the average is within it, but for the chance alpha on each
// side.
//
// The empirical Bernstein bound: exp(l(X-mu) - psi(l)X²) has expectation at
// most 1 for X >= -1 and l in [0, 1) (Fan, Grama, Liu 2015; Howard, Ramdas,
// McAuliffe, Sekhon 2021, arXiv 1810.08240, theorem 4, with 0 as the predicted
// mean, which is sharp where there is no difference). The level is shared
// evenly by a few l, so no number of rounds has to be known beforehand.
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

// RatioSums gathers pairs of magnitudes in [0, magnitudeCap], the candidate's
// and the monolith's, for an interval of the ratio of their means.
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

// Add takes in one pair of magnitudes, each drawn in to magnitudeCap.
func (r *RatioSums) Add(y, x float64) {
	y, x = min(y, magnitudeCap), min(x, magnitudeCap)
	r.N++
	r.Y += y
	r.X += x
	r.YY += y * y
	r.XX += x * x
	r.XY += x * y
}

// Interval gives the ratio of the means and its time-uniform interval, alpha
// on each side. It inverts the test of each ratio q by the payoffs y - q·x,
// which have mean 0 at the true one.
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
