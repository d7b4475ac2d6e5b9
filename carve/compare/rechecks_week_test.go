package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"whittle/carve/compare/eprocess"
	"whittle/internal/simtest"
)

// TestAWeekOfOddities: of two equal sides, each odd by chance, what is bet on the first one
// being odd alone takes back at most 1 of 100 candidates in a week of three million compared
// exchanges, asked about once a second: not where both are often odd, nor seldom, nor where data
// move between the two responses in 1 of 2,000, which makes the first seem odd.
func TestAWeekOfOddities(t *testing.T) {
	t.Parallel()
	const exchanges, perSecond = 3_000_000, 5
	worlds := map[string]struct{ odd, moved float64 }{
		"1 of 50": {0.02, 0}, "1 of 5,000": {0.0002, 0}, "moved in 1 of 2,000": {0.0001, 0.0005},
	}
	simtest.InTurn(t, 0.01, 0.0005, 0.05, worlds, func(w struct{ odd, moved float64 }, run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), 9))
		b := newRechecks().Lopsided
		all := 2*w.odd + w.moved
		for n := 0; ; {
			gap := 1 + int(math.Log(1-r.Float64())/math.Log1p(-all))
			gap = max(gap, perSecond)
			if n += gap; n > exchanges {
				return false
			}
			b.Quiet = gap - 1
			if b.odd(r.Float64()*all >= w.odd, eprocess.OfRest*0.01, n); b.Decided() {
				return true
			}
		}
	})
}
