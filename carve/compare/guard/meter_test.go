package guard

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
)

func outcome(i int, side whittle.Side, status int, latency time.Duration) whittle.Outcome {
	return whittle.Outcome{At: simtest.Start.Add(time.Duration(i) * time.Millisecond), Side: side, Status: status, Latency: latency}
}

// shifting is a guard with half of the users on the candidate.
func shifting(cfg whittle.Guard) *Guard {
	g := New(cfg)
	g.Share(whittle.All / 2)
	return g
}

// healthy feeds n good responses of the monolith, 1 to 20 ms.
func healthy(g *Guard, n int) {
	for i := range n {
		g.Outcome(outcome(i, whittle.Monolith, 200, time.Duration(1+i%20)*time.Millisecond))
	}
}

func meterOf(t *testing.T, g *Guard, name string) whittle.Meter {
	t.Helper()
	for _, m := range g.Meters() {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no meter %q", name)
	return whittle.Meter{}
}

// TestMismatchFalseAlarms: a share of differences at the limit itself breaches
// in at most 1 of 100 runs. A correct implementation may show 0.1 % (simtest.Rate).
func TestMismatchFalseAlarms(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	simtest.AtMost(0.01, 0.001).Play(t, "breached", func(int) bool {
		g := shifting(whittle.Guard{Mismatch: 0.01, Confidence: 0.99})
		for range 1500 {
			g.Pair(compared(r.Float64() < 0.01))
		}
		return g.Mismatch.Breached
	})
}

// TestAGuardOfAMonolithThatFails: where nearly all responses of both sides are bad and
// many more are allowed, nothing breaches, and the evidence stays a number that can be
// shown and saved.
func TestAGuardOfAMonolithThatFails(t *testing.T) {
	for _, allowed := range []float64{0.01, 0.1, 0.2, 0.9} {
		cfg := testGuard
		cfg.Errors = allowed
		g := New(cfg)
		both := traffic{share: 0.5, requests: 600, errors: constant(0.95), latency: constant(20), slower: 1}
		fatal.Same(t, both.drive(g, rand.New(rand.NewPCG(7, 8))), 0, "%v more are allowed: breached after", allowed)
		for _, m := range g.Meters() {
			if math.IsNaN(m.EValue) || math.IsInf(m.EValue, 0) || m.EValue < 0 {
				t.Errorf("%v more are allowed: %s has evidence of %v", allowed, m.Name, m.EValue)
			}
		}
		if _, err := g.MarshalBinary(); err != nil {
			t.Errorf("%v more are allowed: %v", allowed, err)
		}
	}
}

// TestABreachNamesItsSource: responses of users may show nothing of what the
// pairs show, and a reason that counts those alone explains nothing.
func TestABreachNamesItsSource(t *testing.T) {
	g := New(testGuard)
	g.Share(0)
	healthy(g, 1000)
	g.Share(whittle.All / 20)
	for i := range 2000 {
		first, latency := whittle.Monolith, 40*time.Millisecond
		if i%10 == 0 {
			first = whittle.Candidate
		}
		c := outcome(1000+i, whittle.Candidate, 200, latency)
		g.Pair(whittle.Pair{User: uint64(1 + i), At: c.At, First: first, Monolith: outcome(1000+i, whittle.Monolith, 200, 10*time.Millisecond), Candidate: c})
		if m := meterOf(t, g, meterP99); m.Breached {
			if !strings.Contains(m.Summary, "0 of 0 candidate responses slower") || !strings.HasSuffix(m.Summary, ": breached by served exchanges, the candidate asked first") {
				t.Errorf("it says %s", m.Summary)
			}
			return
		}
	}
	t.Errorf("not breached: %+v", meterOf(t, g, meterP99))
}

// TestGuardIsSoonSure: two to four responses that are all bad are enough, each among as many of the
// monolith's as a block holds.
func TestGuardIsSoonSure(t *testing.T) {
	for name, broken := range map[string]func(i int) whittle.Outcome{
		meterErrors: func(i int) whittle.Outcome { return outcome(i, whittle.Candidate, 500, time.Millisecond) },
		meterP99:    func(i int) whittle.Outcome { return outcome(i, whittle.Candidate, 200, time.Second) },
	} {
		g := shifting(testGuard)
		healthy(g, 1000)
		needed := 0
		for ; !meterOf(t, g, name).Breached && needed < 9; needed++ {
			g.Outcome(broken(1001 + needed))
			healthy(g, waitMost)
		}
		if m := meterOf(t, g, name); needed < 2 || needed > 4 || m.Count != needed || !strings.HasSuffix(m.Summary, ": breached by the first response of each user") {
			t.Errorf("%s: not breached after %d: %+v", name, needed, m)
		}
	}
	g, needed := shifting(testGuard), 0
	for ; !g.Mismatch.Breached && needed < 9; needed++ {
		g.Pair(compared(true))
	}
	if needed < 2 || needed > 4 {
		t.Errorf("mismatch: breached after %d", needed)
	}
}

// TestGuardWithoutMonolith: at a share of 100 % the candidate is held against
// the monolith's last responses, and against nothing where there were none.
func TestGuardWithoutMonolith(t *testing.T) {
	g := New(testGuard)
	g.Share(whittle.All)
	for i := range 500 {
		g.Outcome(outcome(i, whittle.Candidate, 500, time.Second))
	}
	m := meterOf(t, g, meterErrors)
	if m.Breached {
		t.Errorf("with nothing to compare with: %+v", m)
	}
	g = New(testGuard)
	healthy(g, 3000)
	g.Share(whittle.All)
	for range 64 {
		g.Outcome(outcome(3000, whittle.Candidate, 200, 5*time.Millisecond))
	}
	took := 0
	for ; !g.Errors.Breached && took < 1000; took++ {
		g.Outcome(outcome(3000, whittle.Candidate, 502, 5*time.Millisecond))
	}
	if took > 6 {
		t.Errorf("at 100 %% a broken candidate was stopped after %d responses", took)
	}
}

func TestGuardOutcomes(t *testing.T) {
	g := shifting(testGuard)
	healthy(g, 500)
	for i := range 7 {
		g.Outcome(outcome(500+i, whittle.Candidate, 503, 0))
	}
	g.Outcome(whittle.Outcome{At: simtest.Start, Side: whittle.Candidate, Failure: whittle.FailedCanceled})
	if m := meterOf(t, g, meterErrors); m.Count != 7 || m.Candidate != 1 {
		t.Errorf("a canceled request counts: %+v", m)
	}
	g.Outcome(outcome(600, whittle.Candidate, 404, 0))
	if m := meterOf(t, g, meterErrors); m.Count != 8 || m.Candidate != 7./8 {
		t.Errorf("a client error counts as bad: %+v", m)
	}
	g.Reset()
	m := meterOf(t, g, meterErrors)
	if m.Breached || m.Count != 0 || m.EValue > 1 {
		t.Errorf("after a reset: %+v", m)
	}
	if len(g.Meters()) != 3 || len(New(whittle.Guard{}).Meters()) != 2 {
		t.Error("latency is guarded exactly where P99 is set")
	}
}

// TestGuardOldResponses: what one side did long before the other is not the same time.
func TestGuardOldResponses(t *testing.T) {
	for _, first := range []whittle.Side{whittle.Candidate, whittle.Monolith} {
		for gap, want := range map[time.Duration]bool{sameTime: true, sameTime + time.Second: false} {
			g := shifting(testGuard)
			for range 20 {
				g.Outcome(whittle.Outcome{Side: first, At: simtest.Start, Status: 503})
			}
			g.Outcome(whittle.Outcome{Side: 1 - first, At: simtest.Start.Add(gap), Status: 200})
			if n := g.Errors.Firsts.Played; (n > 0) != want {
				t.Errorf("%s first, %v before: %d responses in the test", first, gap, n)
			}
		}
	}
}

func BenchmarkGuardOutcome(b *testing.B) {
	g := shifting(testGuard)
	healthy(g, 1000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		g.Outcome(outcome(i, whittle.Side(i&1), 200, time.Duration(i%1000)*time.Microsecond))
	}
}

// compared is a pair of good responses that differ or not.
func compared(differs bool) whittle.Pair {
	ok := whittle.Outcome{Status: 200, Latency: time.Millisecond}
	return whittle.Pair{Monolith: ok, Candidate: ok, Compared: true, Differs: differs}
}
