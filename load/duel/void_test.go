package duel

import (
	"math"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/latency"
	"whittle/internal/paired"
	"whittle/load/report"
)

// lateReport is a report of users of whom so many were started late.
func lateReport(late time.Duration, of float64) *report.Report {
	h := new(latency.Histogram)
	for i := range 1000 {
		by := 100 * time.Microsecond
		if float64(i) >= 1000*(1-of) {
			by = late
		}
		h.Record(by)
	}
	r := &report.Report{Requests: 1000, Completed: 1000}
	r.Latency.ScheduleError = h.Snapshot()
	r.Validate(10*time.Millisecond, time.Second)
	return r
}

// A generator that was late for a few users voids the figures of the tail that they are
// in, and not the median's verdict; late for more of them, it voids all.
func TestANoisyTailVoidsTheTailAlone(t *testing.T) {
	for _, c := range []struct {
		part float64
		void bool
		gone string // figures
	}{
		{0, false, ""},
		{.02, false, "p99"},
		{.07, false, "p95 p99"},
		{.2, false, "p95 p99"},
		{.3, true, ""},
		{.6, true, ""},
	} {
		for _, sides := range [][2]*report.Report{
			{lateReport(time.Second, c.part), lateReport(0, 0)},
			{lateReport(0, 0), lateReport(time.Second, c.part)},
		} {
			ratio := paired.Ratio{A: 1, B: 2, Ratio: 2, Low: 1.9, High: 2.1, P: 1e-6}
			cmp := &Comparison{A: sides[0], B: sides[1]}
			cmp.judge([]figure{{"median", "median", "ms", ratio}, {"p95", "p95", "ms", ratio}, {"p99", "p99", "ms", ratio}})
			var gone []string
			for _, f := range cmp.Figures {
				if f.Void != "" {
					gone = append(gone, f.Key)
					if !math.IsNaN(float64(f.Ratio)) || f.Different {
						t.Errorf("%v: %+v", c, f)
					}
				}
			}
			if (cmp.Void != "") != c.void || !c.void && strings.Join(gone, " ") != c.gone {
				t.Errorf("%v late: void %q, without %v", c.part, cmp.Void, gone)
			}
			if !c.void && (!strings.Contains(cmp.Verdict, "B's median") || strings.Count(strings.Join(cmp.Warnings, ";"), "is void") != len(gone)) {
				t.Errorf("%v late: %s, %q", c.part, cmp.Verdict, cmp.Warnings)
			}
			gate, err := ParseGate("p99 ratio > 1.1")
			fatal.If(t, err)
			want := whittle.FallsShort
			if c.part > 0 {
				want = whittle.Unavailable
			}
			if err := cmp.Err([]Gate{gate}); whittle.CodeOf(err) != want {
				t.Errorf("%v late: %v", c.part, err)
			}
		}
	}
}
