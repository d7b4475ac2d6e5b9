package jmeter

import (
	"fmt"
	"math"
	"slices"
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
		"rate(nan/sec) even_arrivals(1 s)": "a number is wanted", "rate(5/sec) even_arrivals(nan s)": "a number is wanted", "even_arrivals(infinity s)": "a number is wanted",
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

// The plugin's own runs gave the times: when each user's first and last request came.
func TestUsersOfASteppingGroupComeAndGoAsByThePlugin(t *testing.T) {
	type users struct {
		n           int
		delay, hold time.Duration
	}
	const s = time.Second
	for _, c := range []struct {
		total, first, step, every, ramp, flight, out, off int
		want                                              []users
	}{
		{total: 2, first: 1, step: 1, every: 1, flight: 2, out: 2, off: 1, want: []users{{1, 0, 3 * s}, {1, s, 2 * s}}},
		{total: 2, first: 1, step: 1, every: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, s}, {1, s, s}}},
		{total: 3, step: 2, every: 1, ramp: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, 5 * s / 2}, {1, s / 2, 3 * s}, {1, 2 * s, 5 * s / 2}}},
		{total: 4, step: 4, every: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, s}, {1, 0, 2 * s}, {1, 0, 3 * s}}}, // the first goes before it has come
		{total: 5, first: 2, step: 2, every: 1, ramp: 1, flight: 1, out: 2, off: 1, want: []users{{2, 0, 11 * s / 2}, {2, 2 * s, 9 * s / 2}, {1, 4 * s, 7 * s / 2}}},
	} {
		var properties strings.Builder
		for name, n := range map[string]int{
			"ThreadGroup.num_threads": c.total, "Start users count burst": c.first, "Start users count": c.step, "Start users period": c.every,
			"rampUp": c.ramp, "flighttime": c.flight, "Stop users count": c.out, "Stop users period": c.off,
		} {
			fmt.Fprintf(&properties, `<stringProp name="%s">%d</stringProp>`, name, n)
		}
		p, err := Parse("p.jmx", []byte(testPlan(`<`+steppingGroup+`>`+properties.String()+`</`+steppingGroup+`><hashTree>`+sampler("/", "")+`</hashTree>`)), plan.Source{})
		if err != nil {
			t.Fatal(err)
		}
		var got []users
		for _, g := range p.Groups {
			got = append(got, users{g.Users, g.Delay, g.Duration})
			if !g.Fresh {
				t.Error("its users keep their connections from loop to loop")
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestArrivalsOfThePluginsGroup(t *testing.T) {
	const s = time.Second
	even := func(rate float64, d time.Duration) plan.Phase {
		return plan.Phase{Rate: rate, RampTo: rate, Linear: true, Duration: d, MaxUsers: 7}
	}
	for _, c := range []struct {
		target, unit, ramp, steps, hold string
		want                            []plan.Phase
	}{
		{"600", "M", "", "", "0.5", []plan.Phase{even(10, 30*s)}},
		{"10", "S", "4", "2", "2", []plan.Phase{even(5, 2*s), even(10, 2*s), even(10, 2*s)}},
		{"10", "S", "3", "", "2", []plan.Phase{{Duration: 3 * s}, even(10, 2*s)}},
	} {
		var properties strings.Builder
		for name, text := range map[string]string{"TargetLevel": c.target, "Unit": c.unit, "RampUp": c.ramp, "Steps": c.steps, "Hold": c.hold, "ConcurrencyLimit": "7"} {
			fmt.Fprintf(&properties, `<stringProp name="%s">%s</stringProp>`, name, text)
		}
		p, err := Parse("p.jmx", []byte(testPlan(`<`+arrivalsGroup+`>`+properties.String()+`</`+arrivalsGroup+`><hashTree>`+sampler("/", "")+`</hashTree>`)), plan.Source{})
		if err != nil || p.OpenGroup == nil || !slices.Equal(p.Phases, c.want) {
			t.Errorf("%+v: %v, %v", c, p, err)
		}
	}
}

// What a second had left over does not come later, and who is late in one is sent at once.
func TestTurnsOfAShapingTimer(t *testing.T) {
	d := &shape{rows: []shapeRow{{2, 4, 2}, {0, 0, 1}, {1.5, 1.5, 1}}, total: 4}
	begin := time.Unix(100, 0)
	var s shaped
	at := func(now float64) float64 {
		turn, ok := s.turn(d, begin.Add(time.Duration(now*float64(time.Second))), 1)
		if !ok {
			return -turn.Sub(begin).Seconds()
		}
		return turn.Sub(begin).Seconds()
	}
	for i, c := range []struct{ now, want float64 }{
		{0, 0}, {0, 0.5}, // two in the first second
		{0.1, 1}, {1.5, 1.5}, {1.5, 1 + 2.0/3}, // three in the next
		{1.7, 3}, {2.9, 3 + 2.0/3}, {3, -4}, {9, -4}, // none in the row of none
	} {
		if got := at(c.now); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%d: at %v s the turn is %v s, not %v s", i, c.now, got, c.want)
		}
	}
}
