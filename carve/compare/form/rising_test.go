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

// TestUptimesOutOfOrder: two servers of which one was started days before the other are not
// called different for their uptimes, though responses overtake each other by up to a quarter
// of a second, or, of a server that is overloaded, by three seconds. What rises in order is
// not even suspected.
func TestUptimesOutOfOrder(t *testing.T) {
	for _, late := range []float64{0, 0.25, 3} {
		r := rand.New(rand.NewPCG(5, 6))
		f := formsOf(t, comparetest.FormComparison)
		f.take(noise.Key{Path: "$.up", Way: jsondiff.HowValue}, 0)
		for n := 1; n <= 800; n++ {
			at := float64(n)*0.025 + late*r.Float64()
			x := &whittle.Exchange{At: simtest.Start.Add(time.Duration(at * float64(time.Second)))}
			x.Monolith.Body = fmt.Appendf(nil, `{"up":%.4f}`, at)
			x.Candidate.Body = fmt.Appendf(nil, `{"up":%.4f}`, 200_000+at)
			f.See(x, nil, 0.01, n)
		}
		for _, found := range f.Findings() {
			if found.Decided || late == 0 {
				t.Errorf("late by %g: %s", late, found.Summary)
			}
		}
	}
}
