package guard

import (
	"math"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/internal/simtest"
)

// clocks is a reading of two processes, in milliseconds of CPU.
func clocks(seconds int, monolith, m, candidate, c int64) whittle.CPUReading {
	return whittle.CPUReading{
		At:       simtest.Start.Add(time.Duration(seconds) * time.Second),
		Monolith: whittle.CPUUse{CPU: time.Duration(monolith) * time.Millisecond, Requests: m}, Candidate: whittle.CPUUse{CPU: time.Duration(candidate) * time.Millisecond, Requests: c},
	}
}

// TestCPUIntervalsToTheEdge: an interval that has just enough counts, also when it took
// as long as one may, and when one side did nothing in a part of it.
func TestCPUIntervalsToTheEdge(t *testing.T) {
	for name, c := range map[string]struct {
		readings []whittle.CPUReading
		want     int
	}{
		"just enough":             {[]whittle.CPUReading{clocks(5, 250, 50, 250, 50)}, 1},
		"a request short":         {[]whittle.CPUReading{clocks(5, 250, 50, 250, 49)}, 0},
		"CPU short":               {[]whittle.CPUReading{clocks(5, 249, 50, 250, 50)}, 0},
		"as long as one may take": {[]whittle.CPUReading{clocks(600, 250, 50, 250, 50)}, 1},
		"no CPU in its beginning": {[]whittle.CPUReading{clocks(5, 0, 30, 130, 30), clocks(10, 250, 60, 260, 60)}, 1},
		"no requests at first":    {[]whittle.CPUReading{clocks(5, 130, 0, 130, 30), clocks(10, 260, 60, 260, 60)}, 1},
	} {
		g := New(cpuGuard)
		g.CPU(clocks(0, 0, 0, 0, 0), true)
		for _, r := range c.readings {
			g.CPU(r, true)
		}
		if got := meterOf(t, g, meterCPU).Count; got != c.want {
			t.Errorf("%s: %d intervals, want %d", name, got, c.want)
		}
	}
}

// TestCPUAtTheLimit: an interval exactly at the limit is neither above nor below it.
func TestCPUAtTheLimit(t *testing.T) {
	cfg := cpuGuard
	cfg.CPU = 2
	g := New(cfg)
	g.CPU(clocks(0, 0, 0, 0, 0), true)
	g.CPU(clocks(5, 1000, 1000, 3000, 1000), true)
	before := meterOf(t, g, meterCPU)
	g.CPU(clocks(10, 2000, 2000, 5000, 2000), true)
	after := meterOf(t, g, meterCPU)
	if g.Cost.Above != 1 || g.Cost.Intervals != 2 || after.EValue != before.EValue || before.EValue <= 1 {
		t.Errorf("above in %d of %d, evidence %v and then %v", g.Cost.Above, g.Cost.Intervals, before.EValue, after.EValue)
	}
	if want := 1 / g.level(); after.Threshold != want {
		t.Errorf("threshold %v, want %v", after.Threshold, want)
	}
}

// TestCPUStateIsChecked: a state that no run leaves is refused, one without an interval
// above the limit is not.
func TestCPUStateIsChecked(t *testing.T) {
	enough := whittle.CPUUse{CPU: cpuSpent, Requests: cpuRequests}
	for name, c := range map[string]struct {
		change func(*cpuContest)
		want   bool
	}{
		"none above":        {func(*cpuContest) {}, true},
		"all above":         {func(c *cpuContest) { c.Above = 3 }, true},
		"more than all":     {func(c *cpuContest) { c.Above = 4 }, false},
		"fewer than none":   {func(c *cpuContest) { c.Above = -1 }, false},
		"too few requests":  {func(c *cpuContest) { c.Recent[0].Monolith.Requests-- }, false},
		"too little CPU":    {func(c *cpuContest) { c.Recent[0].Candidate.CPU-- }, false},
		"too many are kept": {func(c *cpuContest) { c.Recent = make([]cpuTaken, cpuShown+1) }, false},
		"as many as may be": {func(c *cpuContest) {
			for len(c.Recent) < cpuShown {
				c.Recent = append(c.Recent, c.Recent[0])
			}
		}, true},
	} {
		s := cpuContest{Bets: eprocess.NewBets(), Intervals: 3, Recent: []cpuTaken{{enough, enough}}}
		if c.change(&s); s.valid() != c.want {
			t.Errorf("%s: valid %v", name, !c.want)
		}
	}
}

// TestGroundsToTheEdge: a wealth of exactly the threshold reaches it, and only a state
// whose stakes can have come about is taken.
func TestGroundsToTheEdge(t *testing.T) {
	e := newGrounds()
	if !e.reaches(1) || e.reaches(math.Nextafter(1, 2)) {
		t.Error("a wealth of 1 does not reach 1, or more")
	}
	for stake, want := range map[float64]bool{0: false, -1: false, 1: true, eprocess.MaxEValue: true, 2 * eprocess.MaxEValue: false} {
		if e.Stakes[fromFirsts] = stake; e.valid() != want {
			t.Errorf("a stake of %v: valid %v", stake, !want)
		}
	}
	s := seen{}
	for i := range 8 {
		s.add(i < 2)
	}
	if s.rate() != 0.25 {
		t.Errorf("2 of 8 are %v", s.rate())
	}
}

// TestConfidence: one outside (0, 1) stands for 0.99.
func TestConfidence(t *testing.T) {
	for given, want := range map[float64]float64{-1: 0.99, 0: 0.99, 0.5: 0.5, 1: 0.99, 2: 0.99, math.NaN(): 0.99} {
		if got := New(whittle.Guard{Confidence: given}).alpha; math.Abs(got-(1-want)/2) > 1e-15 {
			t.Errorf("a confidence of %v: an error rate of %v for each of two meters", given, got)
		}
	}
}
