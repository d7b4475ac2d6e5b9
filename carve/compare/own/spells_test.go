package own

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"whittle/carve/compare/digest"
	"whittle/internal/simtest"
)

// spellWorld says what the two sides say in a header, exchange by exchange.
type spellWorld struct {
	r     *rand.Rand
	every float64 // exchanges between two moves, in the mean
	until [2]float64
	word  [2]string
}

var spellWords = map[string]func(r *rand.Rand, n int) string{
	"an id":    func(r *rand.Rand, _ int) string { return fmt.Sprintf("%016x", r.Uint64()) },
	"a word":   func(r *rand.Rand, _ int) string { return []string{"calm", "busy", "full"}[r.IntN(3)] },
	"a notice": func(r *rand.Rand, _ int) string { return []string{"", "maintenance"}[r.IntN(2)] },
	"a count":  func(_ *rand.Rand, n int) string { return fmt.Sprint(n) },
}

// spell is the word of a side's server at exchange n, which it refreshes by itself.
func (w *spellWorld) spell(side, n int, draw func(*rand.Rand, int) string) string {
	for w.until[side] == 0 || float64(n) >= w.until[side] {
		if w.until[side] == 0 {
			w.until[side] = w.r.Float64() * w.every
		} else {
			w.until[side] += (0.7 + 0.6*w.r.Float64()) * w.every
		}
		w.word[side] = draw(w.r, n)
	}
	return w.word[side]
}

// TestOwnHeadersAreKnown: of equal servers of which each refreshes a header by itself, once in 8
// to 60 exchanges, at most 1 in 100 is not known to have one of its own by the end of 1,200
// exchanges, and so called DIFFERENT. Of candidates whose wrong word is made of the
// monolith's, or which draw a word for each response, at most 1 in 100 is excused so.
//
// Hypothesis: equal servers' words move independently, and either's alone in half of the moves.
// Error rates: 0.01 each, with a confidence of 99 %; SIM_RUNS takes more runs.
// Source: the moves are a fair coin; three heads and three tails in ten are missed by chance
// in 1 of 18, in twenty in 1 of 2,500.
func TestOwnHeadersAreKnown(t *testing.T) {
	t.Parallel()
	isKnown := func(seed int, says func(w *spellWorld, side, n int) string) (known bool) {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		w, d := &spellWorld{r: r, every: 8 + 52*r.Float64()}, Spells{}
		for n := range 1200 {
			var words [2]uint32
			for side := range words {
				words[side] = uint32(digest.FNV([]byte(says(w, side, n))))
			}
			d.See(simtest.Start, words)
			known = known || d.Own()
		}
		return known
	}
	simtest.InTurn(t, 0.01, 0.0001, 0.01, spellWords, func(draw func(*rand.Rand, int) string, run int) bool {
		return !isKnown(run, func(w *spellWorld, side, n int) string { return w.spell(side, n, draw) })
	})
	wrong := map[string]func(w *spellWorld, side, n int) string{
		"made of the monolith's": func(w *spellWorld, side, n int) string {
			return w.spell(0, n, spellWords["an id"])[side:]
		},
		"a constant": func(w *spellWorld, side, n int) string {
			if side == 1 {
				return "none"
			}
			return w.spell(0, n, spellWords["a word"])
		},
		"drawn for each response": func(w *spellWorld, _, _ int) string { return spellWords["an id"](w.r, 0) },
		"one exchange late": func(w *spellWorld, side, n int) string {
			if side == 1 {
				return w.word[1]
			}
			w.word[1] = w.word[0]
			return w.spell(0, n, spellWords["an id"])
		},
	}
	simtest.InTurn(t, 0.01, 0, 0.01, wrong, func(says func(w *spellWorld, side, n int) string, run int) bool {
		return isKnown(run, says)
	})
}
