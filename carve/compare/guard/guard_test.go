package guard

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/promisetest"
	"whittle/internal/simtest"
)

var testGuard = whittle.Guard{Errors: 0.01, P99: 1.5, Mismatch: 0.001, Confidence: 0.99, Consecutive: 5}

// traffic makes outcomes: what the sides do at time t of a run from 0 to 1.
type traffic struct {
	share     float64
	requests  int
	errors    func(t float64) float64 // both sides' rate
	excess    float64                 // the candidate's on top
	latency   func(t float64) float64 // both sides' median, ms
	slower    float64                 // the candidate's factor
	breakFrom int                     // the candidate's response from which it fails always; 0: never
}

func constant(v float64) func(float64) float64 { return func(float64) float64 { return v } }

const warmup = 300

// drive plays a run until a breach and gives after how many of the candidate's
// responses, from breakFrom on, it came; 0 for never.
func (tr *traffic) drive(g *Guard, r *rand.Rand) int {
	candidate := 0
	g.Share(whittle.Share(tr.share * float64(whittle.All)))
	for i := range warmup + tr.requests {
		t := max(0, float64(i-warmup)) / float64(tr.requests)
		o := whittle.Outcome{At: simtest.Start.Add(time.Duration(i) * 20 * time.Millisecond), Status: 200}
		rate, median := tr.errors(t), tr.latency(t)
		if i >= warmup && r.Float64() < tr.share {
			o.Side = whittle.Candidate
			candidate++
			rate += tr.excess
			median *= tr.slower
			if tr.breakFrom > 0 && candidate > tr.breakFrom {
				rate = 1
			}
		}
		if r.Float64() < rate {
			o.Status = 503
		}
		o.Latency = time.Duration(median * math.Exp(0.6*r.NormFloat64()) * float64(time.Millisecond))
		g.Outcome(o)
		if g.Errors.Breached || g.Slow.Breached {
			return candidate - tr.breakFrom
		}
	}
	return 0
}

func stepped(low, high float64, from, to float64) func(float64) float64 {
	return func(t float64) float64 {
		if t >= from && t < to {
			return high
		}
		return low
	}
}

// TestGuardFalseAlarms: a candidate that is the same as the monolith is
// stopped in at most 1 of 100 rollouts, read after every outcome, whatever the
// share, the rate and the course of both: in all of them together, and by itself each
// in at most 2. A correct implementation may show 0.1 % (simtest.Rate).
func TestGuardFalseAlarms(t *testing.T) {
	t.Parallel()
	waves := func(t float64) float64 { return 0.02 + 0.02*math.Sin(40*t) }
	worlds := map[string]traffic{}
	for _, c := range []struct {
		name string
		traffic
	}{
		{"one percent", traffic{share: 0.01, requests: 4000, errors: constant(0.001), latency: constant(20)}},
		{"even", traffic{share: 0.5, requests: 600, errors: constant(0.02), latency: constant(20)}},
		{"most", traffic{share: 0.9, requests: 600, errors: constant(0.05), latency: constant(20)}},
		{"all", traffic{share: 1, requests: 600, errors: constant(0.02), latency: constant(20)}},
		{"quarter, many errors", traffic{share: 0.25, requests: 600, errors: constant(0.3), latency: constant(20)}},
		{"both fail for a while", traffic{share: 0.1, requests: 1500, errors: stepped(0.001, 0.6, 0.4, 0.5), latency: constant(20)}},
		{"both in waves", traffic{share: 0.25, requests: 1500, errors: waves, latency: constant(20)}},
		{"both slow down", traffic{share: 0.25, requests: 1500, errors: constant(0.001), latency: func(t float64) float64 { return 20 + 200*t }}},
		{"both slow at once", traffic{share: 0.05, requests: 3000, errors: constant(0.001), latency: stepped(20, 120, 0.4, 0.7)}},
	} {
		c.slower = 1
		worlds[c.name] = c.traffic
		c.excess = 0.002 // at the limit itself: the hardest candidate to leave alone
		worlds[c.name+", at the limit"] = c.traffic
	}
	simtest.InTurn(t, 0.01, 0.001, 0.02, worlds, func(c traffic, run int) bool {
		g := testGuard
		if c.excess > 0 {
			g.P99, g.Errors = 1, c.excess
		}
		return c.drive(New(g), rand.New(rand.NewPCG(uint64(run), uint64(c.requests)))) != 0
	})
}

// TestGuardDetection holds how many of the candidate's responses it takes to stop it at a share of
// 5 % where every request is another user's, and prints them. (TestTableOfGuards has the table
// testdata/guards.md, with sticky users.)
func TestGuardDetection(t *testing.T) {
	t.Parallel()
	const share = 0.05
	for _, c := range []struct {
		what   string
		excess float64
		slower float64
		after  int // good responses of the candidate before
		most   int // the median
	}{
		{"errors in 100 %", 1, 1, 0, 4},
		{"errors in 50 %", 0.5, 1, 0, 9},
		{"errors in 10 %", 0.1, 1, 0, 90},
		{"errors in 5 %", 0.05, 1, 0, 250},
		{"errors in 3 %", 0.03, 1, 0, 800},
		{"errors in 100 %, after 5,000 good responses", 0, 1, 5000, 10},
		{"5 times slower", 0, 5, 0, 20},
		{"3 times slower", 0, 3, 0, 60},
		{"2 times slower", 0, 2, 0, 1500},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			tr := traffic{
				share: share, requests: 6000 / share, errors: constant(0.001), excess: c.excess, latency: constant(20), slower: c.slower, breakFrom: c.after,
			}
			r := rand.New(rand.NewPCG(7, 50))
			runs := 40
			if c.after > 0 {
				runs = 8
			}
			var took []int
			for range runs {
				took = append(took, cmp.Or(tr.drive(New(testGuard), r), 1<<30))
			}
			median, p95 := simtest.Quantile(took, 0.5), simtest.Quantile(took, 0.95)
			t.Logf("%s: %d (%d)", c.what, median, p95)
			if median > c.most {
				t.Errorf("%s: stopped after %d responses, expected %d", c.what, median, c.most)
			}
		})
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	promisetest.Guards(t, func(g whittle.Guard) promisetest.Guard { return New(g) })
}

// TestGroundsBeginWithOne: what the pairs and all generations of users begin with is a wealth of 1.
func TestGroundsBeginWithOne(t *testing.T) {
	e := newGrounds()
	sum, _ := e.eValue(0)
	pairs := parts[fromPairs] + parts[fromMirrored]
	for k := 1; k <= 2000; k++ {
		wealth, _ := e.eValue(k)
		if want := max(pairs, parts[fromFirsts]*eprocess.OfAttempts(k+1)); math.Abs(wealth-want) > 1e-12 {
			t.Fatalf("generation %d: it begins with %v, not with %v", k, wealth, want)
		}
		sum += parts[fromFirsts] * eprocess.OfAttempts(k+1)
	}
	if sum > 1 || sum < 0.999 {
		t.Errorf("together they begin with %v", sum)
	}
}

// TestConfidence: one outside (0, 1) stands for 0.99.
func TestConfidence(t *testing.T) {
	for given, want := range map[float64]float64{-1: 0.99, 0: 0.99, 0.5: 0.5, 1: 0.99, 2: 0.99, math.NaN(): 0.99} {
		if got := New(whittle.Guard{Confidence: given}).alpha; math.Abs(got-eprocess.OfGuards*(1-want)/2) > 1e-15 {
			t.Errorf("a confidence of %v: an error rate of %v for each of two meters", given, got)
		}
	}
}

func TestMain(m *testing.M) { simtest.Main(m) }
