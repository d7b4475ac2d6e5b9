package load

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestSchedulesAreReadAsJMeterDoes(t *testing.T) {
	const s, m = time.Second, time.Minute
	line := func(from, to float64, d time.Duration, random bool) Phase {
		return Phase{Rate: from, RampTo: to, Duration: d, Linear: true, Poisson: random}
	}
	for src, want := range map[string][]Phase{
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

func TestALineOfArrivalsFollowsItsIntegral(t *testing.T) {
	for _, random := range []bool{false, true} {
		for _, rates := range [][2]float64{{0, 200}, {200, 0}, {50, 150}, {100, 100}, {150, 50}} {
			ph := Phase{Rate: rates[0], RampTo: rates[1], Duration: 100 * time.Second, Linear: true, Poisson: random}
			got := arrivals([]Phase{ph, Constant(1, time.Second)}, 3)
			n := int(ph.Planned())
			if want := int((rates[0] + rates[1]) / 2 * 100); n != want || len(got) != n+1 {
				t.Fatalf("%+v: %d arrivals of %d planned, want %d", ph, len(got)-1, n, want)
			}
			var worst float64
			for i, a := range got[:n] {
				if i > 0 && a.At < got[i-1].At || a.At >= ph.Duration {
					t.Fatalf("%+v: %v after %v", ph, a.At, got[i-1].At)
				}
				s := a.At.Seconds()
				due := rates[0]*s + (rates[1]-rates[0])/100*s*s/2
				worst = max(worst, math.Abs(due-float64(i)))
			}
			// Kolmogorov's distance; 1.95·√n has a chance of 0.1 % of being passed.
			limit := 0.01
			if random {
				limit = 1.95 * math.Sqrt(float64(n))
			}
			if worst > limit {
				t.Errorf("%+v: %v arrivals off, at most %v", ph, worst, limit)
			}
			if random && worst < 1 {
				t.Errorf("%+v: nothing random about it", ph)
			}
		}
	}
}
