package distribution

import (
	"math"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// repeatSlots bounds the memory of each side's past responses.
const repeatSlots = 1024

// repeatsEprocess bets that the candidate gives responses again that it gave
// before to a like request: a generator that is seeded alike, a cache. Two
// tests must both reject.
//
// With h the memory of the candidate's past responses, the first payoff is
// h(y) - h(x), which is antisymmetric; for responses that repeat by nature both
// terms are alike. The second, 1[the candidate repeated itself] - 1[the
// monolith repeated itself], spares a candidate that repeats itself no more
// than the monolith does.
type repeatsEprocess struct {
	Bets eprocess.Bets `json:"bets"`
	Own  eprocess.Bets `json:"own"`
	// memories of either side's responses.
	candidate, monolith memory
	// N exchanges, in Y of which the candidate and in X of which the monolith
	// repeated itself; SameSecond of Y came in the second of the earlier one.
	N          int `json:"n"`
	X          int `json:"x"`
	Y          int `json:"y"`
	SameSecond int `json:"second"`
}

// memory holds fingerprints of past responses and the seconds in which they came,
// by the lowest bits of the fingerprint; the newest stays.
type memory struct {
	marks, seconds [repeatSlots]uint32
}

func (m *memory) has(mark uint32) bool { return m.marks[mark%repeatSlots] == mark }

func (m *memory) keep(mark, second uint32) {
	m.marks[mark%repeatSlots], m.seconds[mark%repeatSlots] = mark, second
}

// see settles one exchange and reports whether the candidate repeated itself,
// and whether either response is one it gave before.
func (w *repeatsEprocess) see(per float64, x, y number, second int64, alpha float64, n int) (again, either bool) {
	mx, my, now := markOf(per, x), markOf(per, y), uint32(second)
	yAgain, xWas, xAgain := w.candidate.has(my), w.candidate.has(mx), w.monolith.has(mx)
	w.N++
	w.X += int(eprocess.Indicator(xAgain))
	w.Y += int(eprocess.Indicator(yAgain))
	w.SameSecond += int(eprocess.Indicator(yAgain && w.candidate.seconds[my%repeatSlots] == now))
	w.Bets.Bet(eprocess.Indicator(yAgain)-eprocess.Indicator(xWas), alpha, n)
	w.Own.Bet(eprocess.Indicator(yAgain)-eprocess.Indicator(xAgain), alpha, n)
	w.candidate.keep(my, now)
	w.monolith.keep(mx, now)
	return yAgain, yAgain || xWas
}

// DecidedAt is the exchange at which repeats were shown; 0: not.
func (w *repeatsEprocess) DecidedAt() int {
	if w.Bets.At == 0 || w.Own.At == 0 {
		return 0
	}
	return max(w.Bets.At, w.Own.At)
}

func (w *repeatsEprocess) eValue() float64 { return min(w.Bets.EValue(), w.Own.EValue()) }

// markOf is a fingerprint of a response to a like request; never 0.
func markOf(per float64, v number) uint32 {
	bits := math.Float64bits(v.f)
	if v.whole {
		bits = uint64(v.i)
	}
	h := digest.Mix(math.Float64bits(per)*0x9e3779b97f4a7c15 ^ digest.Mix(bits))
	return uint32(h>>32) | 1<<31
}
