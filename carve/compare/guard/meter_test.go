package guard

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

func outcome(i int, side whittle.Side, status int, latency time.Duration) whittle.Outcome {
	return whittle.Outcome{At: simtest.Start.Add(time.Duration(i) * time.Millisecond), Side: side, Status: status, Latency: latency}
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
		g := New(whittle.Guard{Mismatch: 0.01, Confidence: 0.99})
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
		if n := both.drive(g, rand.New(rand.NewPCG(7, 8))); n != 0 {
			t.Errorf("%v more are allowed: breached after %d", allowed, n)
		}
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
			if !strings.Contains(m.Summary, "0 of 0 candidate responses slower") || !strings.HasSuffix(m.Summary, ": breached by served and mirrored pairs together") {
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
		g := New(testGuard)
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
	g, needed := New(testGuard), 0
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
	for i := range 500 {
		g.Outcome(outcome(i, whittle.Candidate, 500, time.Second))
	}
	m := meterOf(t, g, meterErrors)
	if m.Breached || g.Run() != 500 {
		t.Errorf("with nothing to compare with: %+v", m)
	}
	g = New(testGuard)
	healthy(g, 3000)
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
	before := g.Errors.Firsts.Candidate.N
	g.Outcome(outcome(3001, whittle.Monolith, 200, time.Millisecond))
	if g.Firsts.Alone || g.Errors.Firsts.Candidate.N != before {
		t.Error("a response of the monolith does not end the time without it")
	}
}

func TestGuardOutcomes(t *testing.T) {
	g := New(testGuard)
	healthy(g, 500)
	for i := range 7 {
		g.Outcome(outcome(500+i, whittle.Candidate, 503, 0))
	}
	if g.Run() != 7 {
		t.Errorf("a run of %d", g.Run())
	}
	g.Outcome(whittle.Outcome{At: simtest.Start, Side: whittle.Candidate, Failure: whittle.FailedCanceled})
	if g.Run() != 7 || g.Errors.Firsts.Candidate.N != 1 {
		t.Errorf("a canceled request counts: run %d, %d responses", g.Run(), g.Errors.Firsts.Candidate.N)
	}
	g.Outcome(outcome(600, whittle.Candidate, 404, 0))
	if g.Run() != 0 {
		t.Error("a client error counts as bad")
	}
	g.Reset()
	m := meterOf(t, g, meterErrors)
	if m.Breached || m.Count != 0 || m.EValue != 1 {
		t.Errorf("after a reset: %+v", m)
	}
	if len(g.Meters()) != 3 || len(New(whittle.Guard{}).Meters()) != 2 {
		t.Error("latency is guarded exactly where P99 is set")
	}
}

// TestGuardOldResponses: what the monolith did long before is not the same time.
func TestGuardOldResponses(t *testing.T) {
	g := New(testGuard)
	healthy(g, 300)
	o := outcome(0, whittle.Candidate, 500, time.Millisecond)
	o.At = o.At.Add(time.Hour)
	g.Outcome(o)
	if f := &g.Firsts; len(f.Waiting) != 1 || f.Of != whittle.Candidate || g.Errors.Firsts.Candidate.N != 0 || g.Past.seen().N != 300 {
		t.Errorf("%d of %s wait, %d in the past", len(f.Waiting), f.Of, g.Past.seen().N)
	}
}

// TestGuardResumes: a guard restored in the middle of a run goes on as if it
// had never been put away, in bounded space.
func TestGuardResumes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	whole, half := New(testGuard), New(testGuard)
	for i := range 9000 {
		o := outcome(i, whittle.Side(min(1, r.IntN(5))^1), 200, time.Duration(r.ExpFloat64()*1e7))
		if r.IntN(50) == 0 {
			o.Status = 500
		}
		whole.Outcome(o)
		half.Outcome(o)
		whole.Pair(compared(i%900 == 0))
		half.Pair(compared(i%900 == 0))
		if i%1237 == 0 {
			state, err := half.MarshalBinary()
			if err != nil || len(state) > 64<<10 {
				t.Fatalf("%d bytes, %v", len(state), err)
			}
			half = New(testGuard)
			if err := half.UnmarshalBinary(state); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, _ := whole.MarshalBinary()
	b, _ := half.MarshalBinary()
	if !bytes.Equal(a, b) {
		t.Error("the states differ")
	}
	other := New(whittle.Guard{Errors: 0.5, Confidence: 0.9})
	if err := other.UnmarshalBinary(a); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("evidence gathered under other limits: %v", err)
	}
	if err := other.UnmarshalBinary([]byte(`{"v":7}`)); whittle.CodeOf(err) != whittle.Unsupported {
		t.Errorf("another version: %v", err)
	}
}

func BenchmarkGuardOutcome(b *testing.B) {
	g := New(testGuard)
	healthy(g, 1000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		g.Outcome(outcome(i, whittle.Side(i&1), 200, time.Duration(i%1000)*time.Microsecond))
	}
}

// Nor do responses of the candidate that no response of the monolith's came near.
func TestGuardOldResponsesOfTheCandidate(t *testing.T) {
	at := func(side whittle.Side, after time.Duration, status int) whittle.Outcome {
		return whittle.Outcome{Side: side, At: simtest.Start.Add(after), Status: status}
	}
	for _, tt := range []struct {
		gap  time.Duration
		want int // of the candidate's responses in the test
	}{{sameTime, 20}, {sameTime + time.Second, 0}} {
		g := New(testGuard)
		for range 20 {
			g.Outcome(at(whittle.Candidate, 0, 503))
		}
		g.Outcome(at(whittle.Monolith, tt.gap, 200))
		if g.Errors.Firsts.Candidate.N != tt.want {
			t.Errorf("after %v: %d responses in the test, want %d", tt.gap, g.Errors.Firsts.Candidate.N, tt.want)
		}
	}
}

// compared is a pair of good responses that differ or not.
func compared(differs bool) whittle.Pair {
	ok := whittle.Outcome{Status: 200, Latency: time.Millisecond}
	return whittle.Pair{Monolith: ok, Candidate: ok, Compared: true, Differs: differs}
}
