package distribution

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// guess is a hypothesis about wrong values: what the right response would have
// become if it were true.
type guess struct {
	// rank orders guesses that fit equally many: the more special first.
	rank int
	// fits reports whether a wrong value is what the guess says.
	fits func(v *wrongValue) bool
	// says is the cause in words, for fits in n of m.
	says func(n, m int) string
}

// tolerance is how far a value may be from what a guess says: eight times the
// noise of the two responses, or 3 % of the monolith's, as the candidate may also
// have another mean.
func tolerance(v *wrongValue) float64 {
	return max(8*math.Sqrt2*v.Noise, 0.03*math.Abs(v.X))
}

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

// group is wrong values with one cause.
type group struct {
	cause  string
	values []*wrongValue
}

// maxCauses bounds the causes that are distinguished.
const maxCauses = 3

// explain sorts wrong values by the guesses that fit most of them, one cause
// after the other. A cause needs fewOutlier values; what no guess fits is the
// last group, without a cause.
func explain(values []wrongValue, perName string) []group {
	left := make([]*wrongValue, len(values))
	for i := range values {
		left[i] = &values[i]
	}
	var groups []group
	for len(groups) < maxCauses && len(left) >= fewOutlier {
		g, n := bestGuess(left, perName)
		if n < fewOutlier {
			break
		}
		not := func(v *wrongValue) bool { return !g.fits(v) }
		fit := slices.DeleteFunc(slices.Clone(left), not)
		groups = append(groups, group{g.says(n, reached(fit, left)), fit})
		left = slices.DeleteFunc(left, g.fits)
	}
	if len(left) > 0 {
		groups = append(groups, group{"", left})
	}
	return groups
}

// reached counts the values at the sizes of request that a cause reaches, those
// it does not fit included, so that "9 of 9" is honest.
func reached(fit, all []*wrongValue) int {
	return count(all, func(v *wrongValue) bool {
		return slices.ContainsFunc(fit, func(f *wrongValue) bool { return f.Per == v.Per })
	})
}

func count(values []*wrongValue, is func(*wrongValue) bool) (n int) {
	for _, v := range values {
		n += int(eprocess.Indicator(is(v)))
	}
	return n
}

func bestGuess(values []*wrongValue, perName string) (best guess, most int) {
	for _, g := range guesses(values, perName) {
		n := count(values, g.fits)
		if n > most || n == most && g.rank < best.rank {
			best, most = g, n
		}
	}
	return best, most
}

func guesses(values []*wrongValue, perName string) []guess {
	list := wraps()
	if perName != "" {
		list = append(list, remainders(perName)...)
	}
	return append(list, learntGuesses(values)...)
}

// wraps guesses that a total ran over the end of an integer.
func wraps() []guess {
	var list []guess
	for i, bits := range []int{32, 16, 31, 64, 63, 8} {
		modulus := math.Ldexp(1, bits)
		list = append(list, guess{
			rank: i,
			fits: func(v *wrongValue) bool {
				turns := math.Round((v.X - v.Y) / modulus)
				return turns != 0 && tolerance(v) < modulus/8 && near(v.Y+turns*modulus, v.X, tolerance(v))
			},
			says: func(n, m int) string {
				return fmt.Sprintf("adding %s, or a multiple of it, makes %s fit: a %d-bit total wrapped",
					display.Figure(modulus), display.Of(n, m), bits)
			},
		})
	}
	return list
}

// remainders guesses that only whole blocks of `per` were worked on.
func remainders(perName string) []guess {
	var list []guess
	block := func(q float64) {
		list = append(list, guess{
			rank: 20 + len(list),
			fits: func(v *wrongValue) bool {
				whole := math.Floor(v.Per/q) * q
				if v.Per <= 0 || whole == v.Per {
					return false
				}
				want := v.X * whole / v.Per
				return near(v.Y, want, tolerance(v)) && !near(want, v.X, tolerance(v)) && whole > 0
			},
			says: func(n, m int) string {
				return fmt.Sprintf("fits %s rounded down to a multiple of %s in %s: a remainder was dropped",
					perName, display.Figure(q), display.Of(n, m))
			},
		})
	}
	for e := 9; e >= 1; e-- {
		for _, d := range []float64{1, 5, 2.5, 2} {
			block(d * math.Pow10(e))
		}
	}
	for e := 30; e >= 3; e-- {
		block(math.Ldexp(1, e))
	}
	return list
}

// learntGuesses are those with a constant that the values themselves suggest.
func learntGuesses(values []*wrongValue) []guess {
	var ratios, offsets, same []float64
	for _, v := range values {
		if v.X != 0 {
			ratios = append(ratios, v.Y/v.X)
		}
		offsets = append(offsets, v.Y-v.X)
		same = append(same, v.Y)
	}
	c, d := median(same), median(offsets)
	list := []guess{{
		rank: 10,
		fits: func(v *wrongValue) bool { return v.Y == c },
		says: func(n, m int) string {
			return fmt.Sprintf("the response is %s in %s, whatever was asked", display.Figure(c), display.Of(n, m))
		},
	}, {
		rank: 60,
		fits: func(v *wrongValue) bool {
			return near(v.Y-v.X, d, 8*math.Sqrt2*v.Noise+1e-9*math.Abs(d)) && d != 0
		},
		says: func(n, m int) string {
			return fmt.Sprintf("a constant offset of %s fits in %s", display.Figure(d), display.Of(n, m))
		},
	}}
	if len(ratios) == 0 {
		return list
	}
	r := median(ratios)
	return append(list, guess{
		rank: 50,
		fits: func(v *wrongValue) bool {
			return near(v.Y, r*v.X, max(math.Abs(r), 1e-9)*tolerance(v)) && !near(r, 1, 0.02)
		},
		says: func(n, m int) string {
			if near(r, -1, 0.02) {
				return "the sign is reversed in " + display.Of(n, m)
			}
			return fmt.Sprintf("a constant factor of %s fits in %s", display.Figure(r), display.Of(n, m))
		},
	})
}

// median of a list that is not empty.
func median(list []float64) float64 {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// class says which requests a group of wrong values came from: "request.times
// ≥ 60,000,000" where every larger one went wrong too, a list of values, or a
// range.
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
	low, high := list[0], list[len(list)-1]
	above := !slices.ContainsFunc(divisors, func(d divisorTally) bool { return d.Per >= low && d.Outlier < d.N })
	below := !slices.ContainsFunc(divisors, func(d divisorTally) bool { return d.Per <= high && d.Outlier < d.N })
	others := len(divisors) > len(list)
	switch {
	case above && others && !below && contiguous(list, divisors):
		return perName + " ≥ " + display.Figure(low)
	case below && others && !above && contiguous(list, divisors):
		return perName + " ≤ " + display.Figure(high)
	case len(list) <= 5:
		words := make([]string, len(list))
		for i, p := range list {
			words[i] = display.Figure(p)
		}
		return perName + " = " + strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s from %s to %s", perName, display.Figure(low), display.Figure(high))
}

// contiguous reports whether no divisor between the least and the greatest of a
// sorted list is missing from it.
func contiguous(list []float64, divisors []divisorTally) bool {
	return !slices.ContainsFunc(divisors, func(d divisorTally) bool {
		return d.Per > list[0] && d.Per < list[len(list)-1] && !slices.Contains(list, d.Per)
	})
}

// rootOf names the square root that a ratio of spreads is within 12 % of, as
// the sum of k equal draws spreads √k times as wide as that of k different
// ones; empty: none.
func rootOf(ratio float64) string {
	for k := 2; k <= 12; k++ {
		if near(ratio, math.Sqrt(float64(k)), 0.12*ratio) && near(ratio*ratio, float64(k), 0.5) {
			return fmt.Sprintf("about √%d, as if %d parts of each response were one draw repeated", k, k)
		}
	}
	return ""
}
