package paired

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mathext"
)

// Named is a figure of a comparison.
type Named struct {
	// Name is as written in a sentence: "median", "CPU per request".
	Name string
	Ratio
	// Adjusted is the p-value after Holm, and Different what follows from it.
	Adjusted  float64
	Different bool
}

// Judge adjusts the figures' p-values together, in place, and says which are
// different.
func Judge(figures []Named) {
	ps := make([]float64, len(figures))
	for i := range figures {
		ps[i] = figures[i].P
	}
	for i, p := range Holm(ps) {
		figures[i].Adjusted, figures[i].Different = p, p <= FamilyAlpha
	}
}

// farDetectable is a tenfold difference: that one beyond it would have been
// seen says no more than that the measurements are too few.
const farDetectable = 9

// Sentence is the verdict on judged figures, in plain words.
func Sentence(figures []Named) string {
	var different, same []string
	tested := 0
	for i := range figures {
		if !math.IsNaN(figures[i].P) {
			tested++
		}
	}
	for i := range figures {
		f := &figures[i]
		switch least := f.Detectable(tested); {
		case f.Different && len(different) == 0:
			different = append(different, "B's "+f.Name+" is "+f.words())
		case f.Different:
			different = append(different, "its "+f.Name+" "+f.words())
		case math.IsNaN(f.P):
		case least > 0 && least < farDetectable:
			same = append(same, fmt.Sprintf("one of %s in the %s", extent(least), f.Name))
		}
	}
	none := "how great one would have had to be cannot be said from so few measurements."
	if len(same) > 0 {
		none = list(same) + " would have been, in four of five such comparisons."
	}
	switch {
	case tested == 0:
		return "Nothing can be said: there are too few measurements for an interval."
	case len(different) == 0:
		return "No difference shown; " + none
	case len(different) < tested && len(same) > 0:
		return strings.Join(different, ", ") + ". No other difference shown; " + none
	}
	return strings.Join(different, ", ") + "."
}

func list(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " and " + items[len(items)-1]
}

// words says how much higher or lower B is, with the interval.
func (r Ratio) words() string {
	low, mid, high, word := r.Low, r.Ratio, r.High, "higher"
	switch {
	case math.IsNaN(mid):
		return "different"
	case math.IsInf(mid, 1):
		return "above A's, which is 0"
	case mid == 0:
		return "0, where A's is not"
	case mid < 1:
		low, mid, high, word = 1/r.High, 1/r.Ratio, 1/r.Low, "lower"
	}
	if mid >= 1.5 {
		return fmt.Sprintf("%s times %s (%s to %s)", digits(mid), word, digits(low), digits(high))
	}
	// Of A's, as people say percent: 1/1.25 is 20 % lower.
	part := func(f float64) float64 { return f - 1 }
	if word == "lower" {
		part = func(f float64) float64 { return 1 - 1/f }
	}
	return fmt.Sprintf("%s %s (%s to %s)", percent(part(mid)), word, percent(part(low)), percent(part(high)))
}

// digits writes two significant digits, or all whole ones; a range that leaves
// its unit "times" still says so.
func digits(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "without bound"
	case f >= 9.95:
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprintf("%.1f", f)
}

// extent writes a difference as a percentage, or as a factor from twice on.
func extent(part float64) string {
	if part >= 1 {
		return "a factor of " + digits(1+part)
	}
	return percent(part)
}

func percent(part float64) string {
	p := part * 100
	switch {
	case math.Abs(p) >= 9.95:
		return fmt.Sprintf("%.0f %%", p)
	case math.Abs(p) >= 0.995:
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.2f %%", p)
}

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
	z := mathext.NormalQuantile
	deviation := half / z(1-Alpha/2)
	return math.Exp(deviation*(z(1-FamilyAlpha/2/float64(max(figures, 1)))+z(power))) - 1
}
