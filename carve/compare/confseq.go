package compare

import (
	"math"

	"whittle"
)

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

// halfWidth is half the width of a time-uniform interval for the average of
// the conditional means of n payoffs in [-1, 1] with the sum of squares v: at
// every n at once the average is within it, but for the chance alpha on each
// side.
//
// The empirical Bernstein bound: exp(l(X-mu) - psi(l)X²) has expectation at
// most 1 for X >= -1 and l in [0, 1) (Fan, Grama, Liu 2015; Howard, Ramdas,
// McAuliffe, Sekhon 2021, arXiv 1810.08240, theorem 4, with 0 as the predicted
// mean, which is sharp where there is no difference). The level is shared
// evenly by a few l, so no number of rounds has to be known beforehand.
func halfWidth(n int, v, alpha float64) float64 {
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

// ratioSums gathers pairs of magnitudes in [0, magnitudeCap], the candidate's
// and the monolith's, for an interval of the ratio of their means.
type ratioSums struct {
	N  int     `json:"n"`
	Y  float64 `json:"y"`
	X  float64 `json:"x"`
	YY float64 `json:"yy"`
	XX float64 `json:"xx"`
	XY float64 `json:"xy"`
}

// magnitudeCap bounds a magnitude, in spreads.
const magnitudeCap = 4

func (r *ratioSums) add(y, x float64) {
	y, x = min(y, magnitudeCap), min(x, magnitudeCap)
	r.N++
	r.Y += y
	r.X += x
	r.YY += y * y
	r.XX += x * x
	r.XY += x * y
}

// interval gives the ratio of the means and its time-uniform interval, alpha
// on each side. It inverts the test of each ratio q by the payoffs y - q·x,
// which have mean 0 at the true one.
func (r *ratioSums) interval(alpha float64) (estimate, low, high float64) {
	if r.N == 0 || r.X <= 0 {
		return 1, 0, math.Inf(1)
	}
	estimate = r.Y / r.X
	outside := func(q float64) bool { return r.outside(q, alpha) }
	return estimate, crossing(estimate, 0, outside), crossing(estimate, 100, outside)
}

// outside reports whether the payoffs reject a ratio.
func (r *ratioSums) outside(q, alpha float64) bool {
	unit := magnitudeCap * max(1, q)
	sum := (r.Y - q*r.X) / unit
	v := (r.YY - 2*q*r.XY + q*q*r.XX) / (unit * unit)
	return math.Abs(sum) > float64(r.N)*halfWidth(r.N, v, alpha)
}

// crossing finds where outside becomes true on the way from a point inside to a
// far one; the far one where it never does.
func crossing(inside, far float64, outside func(float64) bool) float64 {
	if !outside(far) {
		return far
	}
	for range 40 {
		mid := (inside + far) / 2
		if outside(mid) {
			far = mid
		} else {
			inside = mid
		}
	}
	return far
}

// The prior of a share in shareBound: most of it on small ones, as a share is
// only bounded in the hope that it is small.
const (
	shareA = 0.5
	shareB = 20
)

// shareBound is a time-uniform upper bound for a share of which k of n rounds
// showed it: at every n at once the share is at most the bound, but for the
// chance alpha. It inverts the beta-binomial mixture martingale: the
// likelihood averaged over a Beta prior, divided by the likelihood at p,
// reaches 1/alpha with chance at most alpha at the true p (Robbins 1970;
// Howard and others 2021, section 3.3).
func shareBound(k, n int, alpha float64) float64 {
	if n == 0 || k >= n {
		return 1
	}
	mixture := logChance(k, n, shareA, shareB)
	bar := math.Log(1 / alpha)
	outside := func(p float64) bool {
		if p >= 1 {
			return true
		}
		return mixture-(float64(k)*math.Log(p)+float64(n-k)*math.Log1p(-p)) >= bar
	}
	return crossing(max(float64(k)/float64(n), 1e-12), 1, outside)
}

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	return x + y - z
}

// neededFor is how many rounds without the event bring shareBound to p; 0 where it
// is there from the start.
func neededFor(p, alpha float64) int {
	if p >= 1 || p <= 0 {
		return 0
	}
	low, high := 0, 1
	for shareBound(0, high, alpha) > p && high < 1<<30 {
		low, high = high, 2*high
	}
	for high-low > 1 {
		if mid := (low + high) / 2; shareBound(0, mid, alpha) > p {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// ServedNeeded is how many responses that users got from the candidate have to be
// compared, none of them differing, until at most the given share can differ, at
// the confidence of a comparison.
func ServedNeeded(most float64, c whittle.Comparison) int { return neededFor(most, alphaOf(c)) }
