package paired

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mathext"
)

// Window is a figure over one window of a run, and the window's weight.
type Window struct{ Value, Weight float64 }

// The least number of windows, or of pairs of runs, that an interval can stand
// on.
const (
	minWindows = 8
	minRuns    = 2
)

// resamples is the number of bootstrap draws.
const resamples = 1000

// Unpaired compares two runs that were made at different times: a and b are
// the whole runs' figures, the windows show how they varied. The error of
// each side is that of the windows' weighted mean logarithm, by the circular
// block bootstrap (Künsch 1989; Politis and Romano 1992) with blocks of the
// square root of the windows' number, which keeps the correlation of near
// seconds; the interval is Student's on the number of blocks. It does not cover
// what changed on the machine between the runs: that is what pairing is for.
// Fewer than 8 windows of a side give no interval, and neither does a figure
// that is zero on one side: its ratio is infinite where that is A's, 0 where it
// is B's.
func Unpaired(a, b float64, as, bs []Window, rng *rand.Rand) Ratio {
	as, bs = whole(as), whole(bs)
	r := Ratio{A: a, B: b, Ratio: over(b, a), Low: 0, High: math.Inf(1), P: math.NaN(), Pairs: min(len(as), len(bs))}
	if !(a > 0) || !(b > 0) || r.Pairs < minWindows {
		return r
	}
	deviation := math.Hypot(windowError(as, rng), windowError(bs, rng))
	return r.student(deviation, float64(r.Pairs/blockLength(r.Pairs)-1))
}

func blockLength(windows int) int { return int(math.Ceil(math.Sqrt(float64(windows)))) }

// whole leaves out windows without a figure, and takes logarithms.
func whole(ws []Window) []Window {
	var out []Window
	for _, w := range ws {
		if w.Value > 0 && w.Weight > 0 && !math.IsInf(w.Value, 1) {
			out = append(out, Window{math.Log(w.Value), w.Weight})
		}
	}
	return out
}

// windowError is the standard error of the windows' weighted mean.
func windowError(ws []Window, rng *rand.Rand) float64 {
	n := len(ws)
	long := blockLength(n)
	var sum, squares float64
	for range resamples {
		var value, weight float64
		for drawn := 0; drawn < n; {
			start := rng.IntN(n)
			for i := 0; i < long && drawn < n; i++ {
				w := ws[(start+i)%n]
				value += w.Value * w.Weight
				weight += w.Weight
				drawn++
			}
		}
		mean := value / weight
		sum += mean
		squares += mean * mean
	}
	mean := sum / resamples
	return math.Sqrt(max(squares/resamples-mean*mean, 0) * resamples / (resamples - 1))
}

// Runs compares whole runs in pairs, as[i] with bs[i]: the ratio is that of the
// geometric means, the interval Student's over the pairs' log ratios. With two or
// three runs it is wide, because they say little about how runs vary. Fewer than
// two pairs give no interval.
func Runs(as, bs []float64) Ratio {
	var logs, la, lb []float64
	for i := range min(len(as), len(bs)) {
		if as[i] > 0 && bs[i] > 0 {
			la, lb = append(la, math.Log(as[i])), append(lb, math.Log(bs[i]))
			logs = append(logs, math.Log(bs[i])-math.Log(as[i]))
		}
	}
	r := Ratio{Ratio: math.NaN(), High: math.Inf(1), P: math.NaN(), Pairs: len(logs)}
	if len(logs) == 0 {
		return r
	}
	mean, deviation := meanError(logs)
	a, _ := meanError(la)
	b, _ := meanError(lb)
	r.A, r.B, r.Ratio = math.Exp(a), math.Exp(b), math.Exp(mean)
	if len(logs) < minRuns {
		return r
	}
	return r.student(deviation, float64(len(logs)-1))
}

// meanError returns the mean and its standard error.
func meanError(xs []float64) (mean, deviation float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		deviation += (x - mean) * (x - mean)
	}
	n := float64(len(xs))
	return mean, math.Sqrt(deviation / max(n-1, 1) / n)
}

// student puts interval and p-value around a ratio whose logarithm has the
// standard error.
func (r Ratio) student(deviation, freedom float64) Ratio {
	half := studentQuantile(Alpha, freedom) * deviation
	r.Low, r.High = r.Ratio*math.Exp(-half), r.Ratio*math.Exp(half)
	switch gap := math.Abs(math.Log(r.Ratio)); {
	case deviation > 0:
		r.P = studentTails(gap/deviation, freedom)
	case gap == 0:
		r.P = 1
	default:
		r.P = 0
	}
	return r
}

// studentTails is the probability that Student's t is at least so far from 0, to either
// side, and studentQuantile how far it is with such a probability. They are incomplete
// beta functions; gonum's distuv, which has them too, would link its linear algebra.
func studentTails(t, freedom float64) float64 {
	return mathext.RegIncBeta(freedom/2, 0.5, freedom/(t*t+freedom))
}

func studentQuantile(tails, freedom float64) float64 {
	x := mathext.InvRegIncBeta(freedom/2, 0.5, tails)
	return math.Sqrt(freedom * (1 - x) / x)
}
