package profile

import (
	"cmp"
	"slices"
)

// Cost is what one function cost.
type Cost struct {
	Function int32 // index into Profile.Functions
	Self     int64 // spent in the function itself
	Total    int64 // and in all that it called; recursion counts once
	// HotLine is the line at which most of Total was spent.
	HotLine int32
}

// Hot gives the functions by what was spent in them, the dearest first: all of
// them, without Idle ones. less says by what: BySelf or ByTotal.
func (p *Profile) Hot(by func(Cost) int64) []Cost {
	costs := make([]Cost, len(p.Functions))
	lines := make([]map[int32]int64, len(p.Functions))
	seen := make([]int, len(p.Functions)) // the last sample that counted it
	for i, s := range p.Samples {
		if p.CategoryOf(&s) == Idle { // a worker that waits is below its thread's function
			continue
		}
		for depth, f := range s.Stack {
			if depth == 0 {
				costs[f.Function].Self += s.Value
			}
			if seen[f.Function] == i+1 {
				continue
			}
			seen[f.Function] = i + 1
			costs[f.Function].Total += s.Value
			if lines[f.Function] == nil {
				lines[f.Function] = map[int32]int64{}
			}
			lines[f.Function][f.Line] += s.Value
		}
	}
	out := costs[:0]
	for i, c := range costs {
		if c.Total == 0 {
			continue
		}
		c.Function, c.HotLine = int32(i), Heaviest(lines[i])
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Cost) int {
		return cmp.Or(cmp.Compare(by(b), by(a)), cmp.Compare(p.Functions[a.Function].Name, p.Functions[b.Function].Name))
	})
	return out
}

// BySelf orders by what was spent in a function itself.
func BySelf(c Cost) int64 { return c.Self }

// ByTotal orders by what was spent in a function and below it.
func ByTotal(c Cost) int64 { return c.Total }

// Heaviest gives the key of the largest value, of several the smallest, of none its zero.
func Heaviest[K cmp.Ordered](sums map[K]int64) K {
	var best K
	first := true
	for k, v := range sums {
		if first || v > sums[best] || v == sums[best] && k < best {
			best, first = k, false
		}
	}
	return best
}

func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// sortBy orders by the largest number first, then by text.
func sortBy[T any](s []T, key func(T) (int64, string)) {
	slices.SortFunc(s, func(a, b T) int {
		na, ta := key(a)
		nb, tb := key(b)
		return cmp.Or(cmp.Compare(nb, na), cmp.Compare(ta, tb))
	})
}
