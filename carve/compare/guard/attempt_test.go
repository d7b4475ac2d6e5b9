package guard

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
)

// Every attempt has its part of the error rate; together they have no more than
// all of it, and each is as hard to alarm as it says.
func TestGuardSpendsItsErrorRateOverAttempts(t *testing.T) {
	g := New(testGuard)
	sum := 0.0
	for range 10_000 {
		if level := g.level(); sum+level > g.alpha {
			t.Fatalf("attempt %d: %g + %g of %g", g.Attempt, sum, level, g.alpha)
		}
		sum += g.level()
		g.Reset()
	}
	if sum < 0.99*g.alpha {
		t.Errorf("only %g of %g is ever spent", sum, g.alpha)
	}
	g = New(testGuard)
	first := meterOf(t, g, meterErrors)
	g.Reset()
	healthy(g, 200)
	second := meterOf(t, g, meterErrors)
	if !(second.Threshold > 2*first.Threshold) || strings.Contains(first.Summary, "attempt") || !strings.Contains(second.Summary, "(attempt 2)") {
		t.Errorf("first %+v, second %+v", first, second)
	}
}

// Equal services of whose responses 2 in 1,000 are odd are rolled back in at most
// 1 of 100 runs by the mismatch guard at its default of 0.1 %, with repeats of 1
// exchange in 20, also where the noise begins in the middle; each of the two by itself in
// at most 3. A correct implementation may show 0.05 % (simtest.Rate).
func TestRareNoiseIsNoMismatch(t *testing.T) {
	t.Parallel()
	before := map[string]float64{"steady": 0.002, "rarer before": 0.001} // the noise until the shift begins
	simtest.InTurn(t, 0.01, 0.0005, 0.03, before, func(noise float64, run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), uint64(1000*noise)))
		g := New(testGuard)
		g.Share(0)
		noisyPairs(g, r, 2000, noise, 0)
		g.Share(100)
		noisyPairs(g, r, 4000, 0.002, 0)
		return g.Mismatch.Breached
	})
}

// noisyPairs gives a guard n compared exchanges of two services of whose responses
// the noise is odd, and of the candidate's so many more wrong.
func noisyPairs(g *Guard, r *rand.Rand, n int, noise, wrong float64) {
	for range n {
		m, c, again := r.Float64() < noise, r.Float64() < noise+wrong, r.Float64() < noise
		p := compared(m || c)
		if p.Repeated = r.IntN(20) == 0; p.Repeated {
			p.SelfDiffers = m || again
		}
		if r.IntN(10) == 0 {
			p.First = whittle.Candidate
		}
		g.Pair(p)
		if g.Mismatch.Breached {
			return
		}
	}
}

// A candidate that is wrong is found in spite of the same noise.
func TestMismatchDetection(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		wrong float64
		most  int // compared exchanges, in 19 of 20 runs
		seed  uint64
	}{{1, 10, 10}, {0.2, 850, 800}, {0.05, 19_000, 12_000}} {
		r := rand.New(rand.NewPCG(12, tt.seed))
		var took []int
		for range 40 {
			g := New(testGuard)
			g.Share(0)
			noisyPairs(g, r, 2000, 0.002, 0)
			g.Share(100)
			noisyPairs(g, r, 2*tt.most, 0.002, tt.wrong)
			if !g.Mismatch.Breached {
				g.Mismatch.Candidate.N = 1 << 30
			}
			took = append(took, g.Mismatch.Candidate.N)
		}
		if got := simtest.Quantile(took, 0.95); got > tt.most {
			t.Errorf("wrong in %g: found after %d, expected %d", tt.wrong, got, tt.most)
		}
		t.Logf("wrong in %g: %d (%d)", tt.wrong, simtest.Quantile(took, 0.5), simtest.Quantile(took, 0.95))
	}
}

// A place that the monolith changes in 2 of 100 responses, as a value that moves between two
// responses, is noise to the judge. Of equal services the guard rolls back at most 1 in 100 for it; a
// correct implementation may show 0.05 % (simtest.Rate). A candidate that turns wrong there in every
// response is found within 30 compared users' responses, in 19 of 20 runs.
func TestTurningWrongWhereTheMonolithSeldomChanges(t *testing.T) {
	t.Parallel()
	const moves = 0.02
	play := func(run uint64, wrong float64, served int) (found int) {
		r := rand.New(rand.NewPCG(run, 21))
		g := New(testGuard)
		for n, users := 0, 0; users < served; n++ {
			if n == 2000 {
				g.Share(100)
			}
			m, c, again := r.Float64() < moves, r.Float64() < moves, r.Float64() < moves
			p := compared(false)
			if p.Repeated = n%20 == 0; p.Repeated {
				p.SelfSeldom = m || again
			}
			if n > 2000 {
				p.First = whittle.Candidate
				c = c || users >= served/2 && r.Float64() < wrong
				users++
			}
			if m || c {
				p.Seldom = 1
			}
			if g.Pair(p); g.Mismatch.Breached {
				return users - served/2
			}
		}
		return served
	}
	simtest.AtMost(0.01, 0.0005).Play(t, "rolled back", func(run int) bool { return play(uint64(run), 0, 4000) < 4000 })
	var took []int
	for run := range uint64(40) {
		took = append(took, play(run, 1, 4000))
	}
	if got := simtest.Quantile(took, 0.95); got > 30 {
		t.Errorf("found after %d", got)
	}
}

// What the monolith fails at as well counts neither for nor against the
// candidate.
func TestBothBadIsNobodys(t *testing.T) {
	g := New(testGuard)
	g.Share(0)
	healthy(g, 1000)
	g.Share(whittle.All)
	for i := range 50 {
		o := outcome(1000+i, whittle.Candidate, 503, time.Millisecond)
		o.User, o.BothBad = uint64(1+i%3), true
		g.Outcome(o)
		g.Pair(whittle.Pair{User: o.User, At: o.At, First: whittle.Candidate, Monolith: outcome(1000+i, whittle.Monolith, 503, 0), Candidate: o})
	}
	if m := meterOf(t, g, meterErrors); m.Breached || m.Count != 0 || m.EValue > 1.01 {
		t.Errorf("%+v", m)
	}
	if s := meterOf(t, g, meterErrors).Summary; !strings.Contains(s, "50 exchanges") {
		t.Errorf("the summary does not name its units: %s", s)
	}
}

// At a full share and without pairs, known users are held against the monolith
// as it was with all of them on it.
func TestKnownUsersAtAFullShareWithoutPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, broken := range []string{"", "errors", "latency"} {
		route := newGuardedRoute(100, r)
		if route.rollout(3000) >= 0 {
			t.Fatal("an equal candidate was rolled back")
		}
		switch broken {
		case "errors":
			route.does.errors = 0.2
		case "latency":
			route.does.slower = 10
		}
		n := 0
		for n < 3000 && !route.next() {
			n++
		}
		if (n < 3000) != (broken != "") {
			t.Errorf("broken %q: stopped after %d", broken, n)
		}
	}
}

// A guard with more users than it has room for resumes as if it had never been
// put away, in bounded space, and goes on to a second attempt.
func TestGuardWithManyUsersResumes(t *testing.T) {
	whole := newGuardedRoute(5000, rand.New(rand.NewPCG(4, 4)))
	half := newGuardedRoute(5000, rand.New(rand.NewPCG(4, 4)))
	for _, route := range []*guardedRoute{whole, half} {
		route.paired, route.noise = true, 0.01
	}
	for _, s := range []whittle.Share{0, 100, 2500, 0, 500, whittle.All} {
		for _, route := range []*guardedRoute{whole, half} {
			if s == 500 {
				route.g.Reset()
			}
			route.to(s, 0)
			for range 4000 {
				route.next()
			}
		}
		state, err := half.g.MarshalBinary()
		if err != nil || len(state) > 64<<10 {
			t.Fatalf("%d bytes, %v", len(state), err)
		}
		half.g = New(testGuard)
		fatal.If(t, half.g.UnmarshalBinary(state))
	}
	a, _ := whole.g.MarshalBinary()
	b, _ := half.g.MarshalBinary()
	if !bytes.Equal(a, b) || half.g.Attempt != 2 {
		t.Errorf("the states differ, or attempt %d is not the second", half.g.Attempt)
	}
}
