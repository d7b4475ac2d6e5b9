package paired

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// minRuns is the least number of pairs of runs that an interval can stand on.
const minRuns = 2

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
