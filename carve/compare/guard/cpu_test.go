package guard

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle/internal/simtest"

	"whittle"
)

var cpuGuard = whittle.Guard{Errors: 0.01, P99: 1.5, Mismatch: 0.001, CPU: 1.1, Confidence: 0.99}

// processes are two that answer requests while their clocks are read every five
// seconds.
type processes struct {
	rate   float64       // requests a second, of each
	cost   time.Duration // the monolith's, of a request
	factor float64       // the candidate's cost over it
	noise  float64       // of an interval's cost, log-normal, of each side by itself
	drift  float64       // of both sides' cost together, over the run
	tick   time.Duration // what the clocks are counted in

	at whittle.CPUReading
}

func (p *processes) next(r *rand.Rand, t float64) whittle.CPUReading {
	const every = 5 * time.Second
	if p.at.At.IsZero() {
		p.at.At = simtest.Start
	}
	p.at.At = p.at.At.Add(every)
	machine := 1 + p.drift*math.Sin(8*t)
	step := func(u *whittle.CPUUse, factor float64) {
		n := int64(p.rate*every.Seconds()) + r.Int64N(5)
		u.Requests += n
		u.CPU += time.Duration(float64(n) * float64(p.cost) * factor * machine * math.Exp(p.noise*r.NormFloat64()))
	}
	step(&p.at.Monolith, 1)
	step(&p.at.Candidate, p.factor)
	shown := p.at
	shown.Monolith.CPU = shown.Monolith.CPU.Truncate(p.tick)
	shown.Candidate.CPU = shown.Candidate.CPU.Truncate(p.tick)
	return shown
}

// drive gives after how many readings the guard spoke; 0: never.
func (p processes) drive(g *Guard, r *rand.Rand, readings int) int {
	for i := range readings {
		g.CPU(p.next(r, float64(i)/float64(readings)), true)
		if g.Cost.Bets.Decided() {
			return i + 1
		}
	}
	return 0
}

// TestCPUFalseAlarms: a candidate at the limit itself is stopped in at most 1 of
// 100 rollouts of an hour, read after every interval, and on each machine by itself in at
// most 2; the test's part of the error rate is a quarter of 1 in 100. A correct
// implementation may show 0.1 % (simtest.Rate).
func TestCPUFalseAlarms(t *testing.T) {
	t.Parallel()
	machines := map[string]processes{
		"calm":               {rate: 100, cost: 2 * time.Millisecond, noise: 0.03, tick: 10 * time.Millisecond},
		"noisy":              {rate: 100, cost: 2 * time.Millisecond, noise: 0.5, tick: 10 * time.Millisecond},
		"a drifting machine": {rate: 100, cost: 2 * time.Millisecond, noise: 0.1, drift: 0.6, tick: 10 * time.Millisecond},
		"few, coarse ticks":  {rate: 11, cost: 6 * time.Millisecond, noise: 0.2, tick: 10 * time.Millisecond},
	}
	const hour = 720
	simtest.InTurn(t, 0.01, 0.001, 0.02, machines, func(p processes, run int) bool {
		p.factor = cpuGuard.CPU
		return p.drive(New(cpuGuard), rand.New(rand.NewPCG(uint64(run), uint64(100*p.noise))), hour) != 0
	})
}

// TestCPUDetection: how many readings, five seconds each, stop a dearer
// candidate. The table of docs/guardrails.md comes from here.
func TestCPUDetection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what          string
		factor, noise float64
		most          int // the median
	}{
		{"10 times as dear", 10, 0.1, 13},
		{"twice as dear", 2, 0.1, 13},
		{"1.3 times as dear", 1.3, 0.1, 30},
		{"1.3 times as dear, noisy", 1.3, 0.3, 200},
		{"1.2 times as dear, noisy", 1.2, 0.3, 800},
	} {
		r := rand.New(rand.NewPCG(5, 8))
		var took []int
		for range 200 {
			p := processes{rate: 100, cost: 2 * time.Millisecond, factor: c.factor, noise: c.noise, tick: 10 * time.Millisecond}
			at := p.drive(New(cpuGuard), r, 5000)
			if at == 0 {
				at = 1 << 30
			}
			took = append(took, at)
		}
		median, p95 := simtest.Quantile(took, 0.5), simtest.Quantile(took, 0.95)
		t.Logf("| %s | %d (%d) |", c.what, median, p95)
		if median > c.most {
			t.Errorf("%s: stopped after %d readings, expected %d", c.what, median, c.most)
		}
	}
}

// TestCPUMeter: what the meter says, before and after, and what it needs.
func TestCPUMeter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	p := processes{rate: 100, cost: time.Millisecond, factor: 3, tick: time.Millisecond}
	g := New(cpuGuard)
	if m := meterOf(t, g, meterCPU); m.Breached || m.Count != 0 || !strings.Contains(m.Summary, "is not known before") {
		t.Errorf("before any reading: %+v", m)
	}
	needed := meterOf(t, g, meterCPU).Needed
	g.CPU(p.next(r, 0), true)
	for range 5 { // nobody depends on the candidate
		g.CPU(p.next(r, 0), false)
	}
	if m := meterOf(t, g, meterCPU); m.Count != 0 || m.EValue != 1 || math.Abs(m.Candidate-3*m.Monolith) > 1 || math.Abs(m.Limit-1.1*m.Monolith) > 1e-9 {
		t.Errorf("in shadow: %+v", m)
	}
	for i := range needed {
		if meterOf(t, g, meterCPU).Breached {
			t.Fatalf("breached before interval %d", i+1)
		}
		g.CPU(p.next(r, 0), true)
	}
	m := meterOf(t, g, meterCPU)
	if !m.Breached || m.Count != needed || !strings.HasSuffix(m.Summary, ": breached") || math.Abs(m.Monolith-1000) > 1 {
		t.Errorf("after %d intervals above: %+v", needed, m)
	}
	state, err := g.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	again := New(cpuGuard)
	if err := again.UnmarshalBinary(state); err != nil || !meterOf(t, again, meterCPU).Breached {
		t.Errorf("restored: %v", err)
	}
	g.Reset()
	if m := meterOf(t, g, meterCPU); m.Breached || m.Count != 0 {
		t.Errorf("after a reset: %+v", m)
	}
	if n := len(New(cpuGuard).Meters()); n != 4 {
		t.Errorf("%d meters", n)
	}
}

// TestCPUIntervals: only those count in which both sides did enough, and no
// process began anew.
func TestCPUIntervals(t *testing.T) {
	reading := func(seconds int, monolith, candidate time.Duration, m, c int64) whittle.CPUReading {
		return whittle.CPUReading{
			At:       simtest.Start.Add(time.Duration(seconds) * time.Second),
			Monolith: whittle.CPUUse{CPU: monolith, Requests: m}, Candidate: whittle.CPUUse{CPU: candidate, Requests: c},
		}
	}
	s := time.Second
	for name, c := range map[string]struct {
		then whittle.CPUReading
		want int
	}{
		"enough":               {reading(5, 12*s, 22*s, 1100, 2100), 1},
		"few requests":         {reading(5, 12*s, 22*s, 1049, 2100), 0},
		"little CPU":           {reading(5, 12*s, 20*s+200*time.Millisecond, 1100, 2100), 0},
		"the candidate anew":   {reading(5, 12*s, 2*s, 1100, 300), 0},
		"the monolith's count": {reading(5, 12*s, 22*s, 500, 2100), 0},
		"long after":           {reading(601, 12*s, 22*s, 1100, 2100), 0},
		"the same moment":      {reading(0, 12*s, 22*s, 1100, 2100), 0},
	} {
		g := New(cpuGuard)
		g.CPU(reading(0, 10*s, 20*s, 1000, 2000), true)
		g.CPU(c.then, true)
		if got := meterOf(t, g, meterCPU).Count; got != c.want {
			t.Errorf("%s: %d intervals, want %d", name, got, c.want)
		}
	}
	off := New(testGuard)
	off.CPU(reading(0, s, s, 100, 100), true)
	off.CPU(reading(5, 2*s, 9*s, 200, 200), true)
	if len(off.Meters()) != 3 || off.Cost.Intervals != 0 {
		t.Error("it is guarded without a limit")
	}
}
