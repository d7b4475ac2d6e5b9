package compare

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// lateRun plays services of which a response takes 200 ms in the middle and one in a few
// dozens more than the candidate's bound; the candidate is slower by a factor.
func lateRun(t *testing.T, seed uint64, factor float64, n int) whittle.Verdict {
	t.Helper()
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
	r := rand.New(rand.NewPCG(seed, 51))
	took := func(factor float64) time.Duration {
		return time.Duration(factor * float64(200*time.Millisecond) * math.Exp(1.6*r.NormFloat64()))
	}
	const bound = 5 * time.Second
	for i := range n {
		x := exchange(`{"a":1}`, `{"a":1}`)
		x.At = simtest.Start.Add(time.Duration(i) * 100 * time.Millisecond)
		x.Monolith.Latency, x.Candidate.Latency = took(1), took(factor)
		if x.Candidate.Latency > bound {
			over := time.Duration(r.IntN(int(20 * time.Millisecond)))
			x.Candidate = whittle.Response{Failure: whittle.FailedTimeout, Latency: bound + over}
		}
		j.Observe(x)
	}
	return j.Verdict()
}

// TestLateAlikeIsNoFailure: of two services that are late alike the candidate alone is given
// up, after 5 s, since the monolith's bound is longer. It is called DIFFERENT in at most 5 of
// 100 runs, and one that is late twice as often or more in all.
//
// Hypothesis: either side's response takes longer than the bound as likely as the other's.
// Error rate: 3 % of 0.01, what a head may spend. Source: Ville's inequality, as in header.Head.
func TestLateAlikeIsNoFailure(t *testing.T) {
	t.Parallel()
	simtest.AtMost(0.05, 0.001).Play(t, "refused", func(run int) bool {
		return lateRun(t, uint64(run), 1, 3000).State == whittle.Different
	})
	for seed := range 10 {
		if v := lateRun(t, uint64(seed), 3, 3000); v.State != whittle.Different {
			t.Errorf("run %d: %s", seed, v.Summary)
		}
	}
}
