package form

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
	"whittle/internal/simtest"
)

// TestRefreshedValuesRaiseNoAlarm: where each of two equal servers draws five prices every
// twenty requests and gives the same ones until then, the form of a value, such as one
// without decimals among a hundred, is found different in at most 1 of 100 runs.
//
// Hypothesis: the two sides' values are exchangeable whenever either is drawn, and stay
// as they are in between. Error rate: 0.01, several times what forms may spend. Source:
// Ville's inequality over the draws that are bet on (draws).
func TestRefreshedValuesRaiseNoAlarm(t *testing.T) {
	t.Parallel()
	simtest.AtMost(0.01, 0.0005).Play(t, "refused", func(run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), 71))
		f := formsOf(t, comparetest.FormComparison)
		f.take(noise.Key{Path: "$.prices[*]", Way: jsondiff.HowValue}, 0)
		var sides [2][]byte
		for n := 1; n <= 240; n++ {
			for side := range sides {
				if n%20 == 1+10*side || sides[side] == nil {
					sides[side] = pricesOf(r)
				}
			}
			x := &whittle.Exchange{At: simtest.Start.Add(time.Duration(n) * 25 * time.Millisecond)}
			x.Monolith.Body, x.Candidate.Body = sides[0], sides[1]
			f.See(x, nil, 0.0019, n)
		}
		for _, found := range f.Findings() {
			if found.Decided {
				return true
			}
		}
		return false
	})
}

func pricesOf(r *rand.Rand) []byte {
	b := []byte(`{"prices":[`)
	for i := range 5 {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%g", float64(r.IntN(10_000))/100)
	}
	return append(b, "]}"...)
}
