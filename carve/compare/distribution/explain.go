package distribution

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// guess is a hypothesis about wrong values: what the right response would have become if it were true.
type guess struct {
	// fits reports whether a wrong value is what the guess says.
	fits func(v *wrongValue) bool
	// says is the cause in words, with %s for how many it fits.
	says string
}

// tolerance is how far a value may be from a guess: eight times the noise of the two responses, or 3 %
// of the monolith's, since the candidate may also have another mean.
func tolerance(v *wrongValue) float64 {
	return max(outlierSpreads*math.Sqrt2*v.Noise, 0.03*math.Abs(v.X))
}

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

// group is wrong values with one cause.
type group struct {
	cause  string
	values []*wrongValue
}

// explain sorts wrong values by the guesses that fit most of them, one cause after the other. A cause
// needs fewOutlier values. Values that no guess fits are the last group, without a cause.
func explain(values []wrongValue, perName string) (groups []group) {
	left := make([]*wrongValue, len(values))
	for i := range values {
		left[i] = &values[i]
	}
	for len(left) > 0 {
		var best guess
		most := fewOutlier - 1
		for _, g := range guesses(left, perName) {
			if n := count(left, g.fits); n > most {
				best, most = g, n
			}
		}
		if best.fits == nil {
			return append(groups, group{"", left})
		}
		fit := slices.DeleteFunc(slices.Clone(left), func(v *wrongValue) bool { return !best.fits(v) })
		// Count at the sizes of request that the cause reaches, so that "9 of 9" is honest.
		reached := count(left, func(v *wrongValue) bool {
			return slices.ContainsFunc(fit, func(f *wrongValue) bool { return f.Per == v.Per })
		})
		groups = append(groups, group{fmt.Sprintf(best.says, display.Of(most, reached)), fit})
		left = slices.DeleteFunc(left, best.fits)
	}
	return groups
}

func count(values []*wrongValue, is func(*wrongValue) bool) (n int) {
	for _, v := range values {
		n += int(eprocess.Indicator(is(v)))
	}
	return n
}

// guesses lists the guesses; the first that fits most is taken. They are: a total ran over the end of an
// integer, the response is always the same, only whole blocks of `per` were worked on.
func guesses(values []*wrongValue, perName string) (list []guess) {
	for _, bits := range []int{32, 16, 31, 64, 63, 8} {
		modulus := math.Ldexp(1, bits)
		list = append(list, guess{func(v *wrongValue) bool {
			turns := math.Round((v.X - v.Y) / modulus)
			return turns != 0 && tolerance(v) < modulus/8 && near(v.Y+turns*modulus, v.X, tolerance(v))
		}, fmt.Sprintf("adding %s, or a multiple of it, makes %%s fit: a %d-bit total wrapped", display.Figure(modulus), bits)})
	}
	for _, same := range values {
		list = append(list, guess{func(v *wrongValue) bool { return v.Y == same.Y }, "the response is " + display.Figure(same.Y) + " in %s, whatever was asked"})
	}
	if perName == "" {
		return list
	}
	var blocks []float64
	for e := 9; e >= 1; e-- {
		for _, d := range []float64{1, 5, 2.5, 2} {
			blocks = append(blocks, d*math.Pow10(e))
		}
	}
	for e := 30; e >= 3; e-- {
		blocks = append(blocks, math.Ldexp(1, e))
	}
	for _, q := range blocks {
		list = append(list, guess{func(v *wrongValue) bool {
			whole := math.Floor(v.Per/q) * q
			want := v.X * whole / v.Per
			return whole > 0 && whole != v.Per && near(v.Y, want, tolerance(v)) && !near(want, v.X, tolerance(v))
		}, fmt.Sprintf("fits %s rounded down to a multiple of %s in %%s: a remainder was dropped", strings.ReplaceAll(perName, "%", "%%"), display.Figure(q))})
	}
	return list
}

// class says which requests a group of wrong values came from: "request.times ≥ 60,000,000" where every
// larger one went wrong too and not every smaller one, or the first few values.
func class(values []*wrongValue, divisors []divisorTally, perName string) string {
	if perName == "" || len(values) == 0 {
		return ""
	}
	var list []float64
	for _, v := range values {
		list = append(list, v.Per)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	is := func(side func(per float64) bool) bool {
		return !slices.ContainsFunc(divisors, func(d divisorTally) bool { return side(d.Per) && d.Outlier < d.N })
	}
	if is(func(per float64) bool { return per >= list[0] }) && !is(func(per float64) bool { return per < list[0] }) {
		return perName + " ≥ " + display.Figure(list[0])
	}
	var words []string
	for _, p := range list[:min(len(list), 5)] {
		words = append(words, display.Figure(p))
	}
	if more := len(list) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return perName + " = " + strings.Join(words, ", ")
}
