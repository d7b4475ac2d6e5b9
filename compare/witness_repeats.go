package compare

import "math"

// repeatSlots bounds the memory of the candidate's past answers.
const repeatSlots = 1024

// repeatsWitness bets that the candidate gives answers again that it gave
// before to a like request: a generator that is seeded alike, a cache. With h
// the memory of the candidate's past answers, the payoff is h(y) - h(x), which
// is antisymmetric; for answers that repeat by nature both terms are alike.
type repeatsWitness struct {
	Bets bets `json:"bets"`
	// Marks are fingerprints of past answers and Seconds when they came, by
	// the lowest bits of the fingerprint; the newest stays.
	Marks   [repeatSlots]uint32 `json:"-"`
	Seconds [repeatSlots]uint32 `json:"-"`
	// N exchanges, in Y of which the candidate repeated itself and in X of
	// which the monolith's answer was one of those; SameSecond of Y came in
	// the second of the earlier one.
	N          int `json:"n"`
	X          int `json:"x"`
	Y          int `json:"y"`
	SameSecond int `json:"second"`
}

// see settles one exchange and reports whether the candidate repeated itself,
// and whether either answer is one it gave before.
func (w *repeatsWitness) see(per float64, x, y number, second int64, alpha float64, n int) (again, either bool) {
	mx, my := markOf(per, x), markOf(per, y)
	slot := my % repeatSlots
	yAgain, xAgain := w.Marks[slot] == my, w.Marks[mx%repeatSlots] == mx
	w.N++
	if xAgain {
		w.X++
	}
	if yAgain {
		w.Y++
		if w.Seconds[slot] == uint32(second) {
			w.SameSecond++
		}
	}
	w.Bets.bet(oneIf(yAgain)-oneIf(xAgain), alpha, n)
	w.Marks[slot], w.Seconds[slot] = my, uint32(second)
	return yAgain, yAgain || xAgain
}

// suspected reports whether the candidate's repeats are more than chance would
// likely give. Each answer then counts once in the candidate's moments, so that
// one draw seen twenty times is not mistaken for twenty.
func (w *repeatsWitness) suspected() bool { return w.Bets.Now > 4 }

// markOf is a fingerprint of an answer to a like request; never 0.
func markOf(per float64, v number) uint32 {
	bits := math.Float64bits(v.f)
	if v.whole {
		bits = uint64(v.i)
	}
	h := mix(math.Float64bits(per)*0x9e3779b97f4a7c15 ^ mix(bits))
	return uint32(h>>32) | 1<<31
}

// mix spreads the bits of a word (the finalizer of SplitMix64, Steele and
// others 2014).
func mix(h uint64) uint64 {
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	return h ^ h>>31
}
