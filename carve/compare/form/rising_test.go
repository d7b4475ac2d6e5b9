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

// TestUptimesOutOfOrder: two servers of which one was started days before the other are
// not told apart by their uptimes, though responses overtake each other by up to a quarter
// of a second, or, of a server that is overloaded, by three seconds; numbers that do not
// rise are, where one side's are ten thousand times as large.
func TestUptimesOutOfOrder(t *testing.T) {
	for _, c := range []struct {
		rises, late bool
		want        bool
	}{{true, false, false}, {true, true, false}, {false, false, true}, {false, true, true}} {
		rises, want := c.rises, c.want
		r := rand.New(rand.NewPCG(5, 6))
		f := formsOf(t, comparetest.FormComparison)
		f.take(noise.Key{Path: "$.up", Way: jsondiff.HowValue}, 0)
		shown := false
		for n := 1; n <= 800; n++ {
			at := float64(n) * 0.025
			if c.late {
				at += 3 * r.Float64()
			}
			x := &whittle.Exchange{At: simtest.Start.Add(time.Duration(at * float64(time.Second)))}
			for side, body := range []*[]byte{&x.Monolith.Body, &x.Candidate.Body} {
				up := at + r.Float64()/4
				if !rises {
					up = 1 + 20*r.Float64()
				}
				if side == 1 && rises {
					up += 200_000
				} else if side == 1 {
					up *= 10_000
				}
				*body = fmt.Appendf(nil, `{"up":%.4f}`, up)
			}
			f.See(x, nil, 0.01, n)
			if c.late { // taken back once it is known
				shown = false
			}
			for _, found := range f.Findings() {
				shown = shown || found.Decided
			}
		}
		if shown != want {
			t.Errorf("rising %v, late %v: called different %v", rises, c.late, shown)
		}
	}
}
