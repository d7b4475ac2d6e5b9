package jmeter

import (
	"math"
	"strings"
	"testing"
	"time"

	"whittle/load/plan"
)

func TestSchedulesAreReadAsJMeterDoes(t *testing.T) {
	const s, m = time.Second, time.Minute
	line := func(from, to float64, d time.Duration, random bool) plan.Phase {
		return plan.Phase{Rate: from, RampTo: to, Duration: d, Linear: true, Poisson: random}
	}
	for src, want := range map[string][]plan.Phase{
		"rate(5/sec) random_arrivals(1 min)":                                         {line(5, 5, m, true)},
		"rate(1/s) random_arrivals(2 min) rate(3/sec)":                               {line(1, 3, 2*m, true)},
		"RATE(60/min) even_arrivals(1 min 30 sec) pause(10 s)":                       {line(1, 1, 90*s, false), {Duration: 10 * s}},
		"rate(0) even_arrivals(10 sec) rate(10/sec) even_arrivals(1 min)":            {line(0, 10, 10*s, false), line(10, 10, m, false)},
		"rate(2/sec) even_arrivals(1 s) even_arrivals(2 s) rate(3/sec)":              {line(2, 2, s, false), line(2, 3, 2*s, false)},
		"rate(1/sec) rate(2/sec) even_arrivals(1 s) rate(3/sec) rate(4 per sec)":     {line(2, 3, s, false)},
		"/* warm */ rate(3600/hour) // slowly\n random_arrivals(500 ms)":             {line(1, 1, s/2, true)},
		"rate(5/sec) even_arrivals(1 s) pause(2 s) rate(7/sec) random_arrivals(1 s)": {line(5, 5, s, false), {Duration: 2 * s}, line(7, 7, s, true)},
		"rate(86400/day) even_arrivals(0)":                                           {line(1, 1, 0, false)},
	} {
		got, err := parseSchedule(src)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %+v, %v", src, got, err)
			continue
		}
		for i := range want {
			if g, w := got[i], want[i]; math.Abs(g.Rate-w.Rate) > 1e-9 || math.Abs(g.RampTo-w.RampTo) > 1e-9 || g.Duration != w.Duration || g.Linear != w.Linear || g.Poisson != w.Poisson {
				t.Errorf("%s: phase %d is %+v, want %+v", src, i, g, w)
			}
		}
	}
	for src, says := range map[string]string{
		"": "has arrivals", "rate(5/sec)": "has arrivals", "rate(5) even_arrivals(1 s)": "number per unit",
		"rate(x/sec)": "a number is wanted", "burst(5)": "not known", "rate(5/sec": `")" is wanted`,
		"even_arrivals(1 fortnight)": "not a unit", "even_arrivals(1)": "not a unit", "rate(9e9/sec)": "", "/* x": "/* without */",
		"rate(99999999/sec) even_arrivals(1 s)": "more than", "even_arrivals(99999 days)": "longer than", "rate(5/sec) %": "not understood",
	} {
		if _, err := parseSchedule(src); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", src, err, says)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add("rate(5/sec) random_arrivals(1 min) pause(1 s) rate(1/min) even_arrivals(1 m)")
	f.Fuzz(func(t *testing.T, src string) {
		phases, err := parseSchedule(src)
		if err != nil {
			return
		}
		for _, ph := range phases {
			if n := ph.Planned(); n < 0 || ph.Duration < 0 || math.IsNaN(ph.Rate) {
				t.Errorf("%q gave %+v", src, ph)
			}
		}
	})
}
