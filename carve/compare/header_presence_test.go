package compare

import (
	"math/rand/v2"
	"testing"

	"whittle"
)

// TestHeadersOfOneSideAlone: a header that the monolith has in half of its responses, and
// the candidate in none or in all, keeps EQUIVALENT from being said. One that either has as
// often does not.
func TestHeadersOfOneSideAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		share float64 // of the candidate's responses
		state whittle.State
	}{{0.5, whittle.Equivalent}, {0, whittle.Undecided}, {1, whittle.Undecided}} {
		r := rand.New(rand.NewPCG(6, 1))
		j := learningJudge(t, true)
		for i := range 4500 {
			j.Observe(withHeaders(i, 20, func(side int) whittle.Header {
				h := whittle.Header{"X-Total-Count": {"7"}}
				if r.Float64() < []float64{0.5, c.share, 0.5}[side] {
					h["X-Deprecation"] = []string{"2027"}
				}
				return h
			}))
		}
		if v := j.Verdict(); v.State != c.state {
			t.Errorf("in %v of the candidate's: %s: %+v %+v", c.share, v.Summary, v.Bounds, v.Findings)
		}
	}
}
