package compare

import (
	"math/rand/v2"
	"testing"

	"whittle"
)

// What breaks the assumption, and what whittle then does (docs/concepts.md).

// The first call of a request changes what the second one responds: whoever is
// asked second returns more. The pairs are not exchangeable, so `mean` is found
// though the two services are the same; but where some requests are repeated to
// the monolith, its second responses are shifted likewise, and the finding shows
// nothing any more.
func TestResponsesThatDependOnWhoAskedFirst(t *testing.T) {
	for _, repeats := range []bool{false, true} {
		c := whittle.Comparison{Kind: whittle.Statistical, Confidence: 0.99, MinCompared: 300}
		j := judgeOf(t, c)
		r := rand.New(rand.NewPCG(1, 31))
		call := func(later float64) whittle.Response {
			return counted(1e6 + 40*later + 20*r.NormFloat64())
		}
		for i := range 400 {
			x := countExchange(i, 1, 0, 0)
			x.Monolith, x.Candidate = call(0), call(1)
			if repeats && i%5 == 0 {
				again := call(1)
				x.Repeat = &again
			}
			j.Observe(x)
		}
		v := j.Verdict()
		if got := v.State == whittle.Different; got == repeats {
			t.Errorf("with repeats %v: %s", repeats, v.Summary)
		}
		if f := findingsOf(&v, whittle.FoundMean); len(f) != 1 || repeats && f[0].Cause == "" {
			t.Errorf("with repeats %v: findings %+v", repeats, v.Findings)
		}
	}
}
