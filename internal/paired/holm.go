package paired

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Holm adjusts p-values for multiple comparisons (Holm 1979). Calling different
// what stays at or below a rate has at most that family-wise error rate, whatever
// the dependence. NaN is ignored and stays NaN.
func Holm(ps []float64) []float64 {
	order := make([]int, 0, len(ps))
	for i, p := range ps {
		if !math.IsNaN(p) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	out := slices.Clone(ps)
	least := 0.0
	for k, i := range order {
		least = max(least, min(ps[i]*float64(len(order)-k), 1))
		out[i] = least
	}
	return out
}

// power is the part of comparisons in which a difference of the size that
// Detectable gives is found.
const power = 0.8

// Detectable returns the least difference, as a part (0.03: three percent), that
// would have been called different in four of five such comparisons, where so
// many figures are looked at together. It follows from the interval's width:
// half of it is the 97.5 % point of a near-normal error on the scale of
// logarithms, and Holm's first step asks for the error rate over the number
// of figures. Infinite where there is no interval.
func (r Ratio) Detectable(figures int) float64 {
	half := (math.Log(r.High) - math.Log(r.Low)) / 2
	if math.IsNaN(half) || math.IsInf(half, 1) {
		return math.Inf(1)
	}
	z := distuv.UnitNormal.Quantile
	deviation := half / z(1-Alpha/2)
	return math.Exp(deviation*(z(1-FamilyAlpha/2/float64(max(figures, 1)))+z(power))) - 1
}
