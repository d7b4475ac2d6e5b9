package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// arrivals lists all arrivals of some phases.
func arrivals(phases []Phase, seed uint64) []Arrival {
	return allArrivals(NewPacer(phases, rand.New(rand.NewPCG(seed, 0))).Next)
}

func TestArrivalsAreExact(t *testing.T) {
	sec := func(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
	for _, c := range []struct {
		name   string
		phases []Phase
		want   int
	}{
		{"the seed's plan", []Phase{Constant(20, 10*time.Second)}, 200},
		{"a fraction per second", []Phase{Constant(0.5, 9*time.Second)}, 4},
		{"rounding does not lose one", []Phase{Constant(100, sec(0.29))}, 29},
		{"an arrival rate of 0 is a pause", []Phase{Constant(0, time.Minute)}, 0},
		{"a count", []Phase{{Count: 7, HasCount: true, Duration: time.Second}}, 7},
		{"a count of 0", []Phase{{HasCount: true, Duration: time.Second}}, 0},
		{"several", []Phase{Constant(10, time.Second), {Duration: time.Second}, Constant(5, 2*time.Second)}, 20},
		// 10 + (50−10)/(5−1)·t: 10, 20, 30, 40, 50.
		{"a ramp", []Phase{{Rate: 10, Ramp: true, RampTo: 50, Duration: 5 * time.Second}}, 150},
		// 1 + 9/(4−1)·t = 1, 4, 7, 10.
		{"a ramp of whole steps", []Phase{{Rate: 1, Ramp: true, RampTo: 10, Duration: 4 * time.Second}}, 22},
		// 1 + 4/(6−1)·t = 1, 1.8, 2.6, 3.4, 4.2, 5: floored 1, 1, 2, 3, 4, 5.
		{"a ramp of floored steps", []Phase{{Rate: 1, Ramp: true, RampTo: 5, Duration: 6 * time.Second}}, 16},
		// 5 − 5/(3−1)·t = 5, 2.5, 0: floored 5, 2, 0.
		{"a ramp down to nothing", []Phase{{Rate: 5, Ramp: true, Duration: 3 * time.Second}}, 7},
		{"a ramp of one second takes the mean", []Phase{{Rate: 3, Ramp: true, RampTo: 8, Duration: time.Second}}, 5},
		// 2.5 s are three steps: 10, 20, 30 at a slope of 20/2.
		{"a ramp of a broken length", []Phase{{Rate: 10, Ramp: true, RampTo: 30, Duration: sec(2.5)}}, 60},
	} {
		got := arrivals(c.phases, 1)
		fatal.Same(t, len(got), c.want, "arrivals of %s", c.name)
		var planned int64
		for i := range c.phases {
			planned += c.phases[i].Planned()
		}
		fatal.Same(t, planned, int64(c.want), "planned of %s", c.name)
	}
}

func TestARampFollowsTheArithmeticSecondBySecond(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		ph := Phase{
			Rate: float64(rng.IntN(300)), RampTo: float64(rng.IntN(300)), Ramp: true,
			Duration: time.Duration(2+rng.IntN(30)) * time.Second,
		}
		bySecond := make([]int, ph.Duration/time.Second)
		for _, a := range arrivals([]Phase{ph}, 1) {
			bySecond[a.At/time.Second]++
		}
		n := len(bySecond)
		for s, got := range bySecond {
			// In whole numbers, so that the test does not share the rounding.
			want := (int(ph.RampTo-ph.Rate)*s + int(ph.Rate)*(n-1)) / (n - 1)
			if got != want {
				t.Fatalf("from %v to %v in %d s, second %d: %d arrivals, want %d", ph.Rate, ph.RampTo, n, s, got, want)
			}
		}
	}
}

func TestArrivalsAreInOrderAndWithinTheirPhase(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		phases := somePhases(rng)
		var before Arrival
		for _, a := range arrivals(phases, rng.Uint64()) {
			start := TotalLength(phases[:a.Phase])
			if a.At < before.At || a.Phase < before.Phase || a.At < start || a.At >= start+phases[a.Phase].Length() {
				t.Fatalf("%+v after %+v in %+v", a, before, phases)
			}
			before = a
		}
	}
}

func TestPoissonGapsAreExponential(t *testing.T) {
	const rate, seconds = 200., 500
	got := arrivals([]Phase{{Rate: rate, Duration: seconds * time.Second, Poisson: true}}, 42)
	n := float64(len(got))
	// Five standard deviations of a Poisson count; the seed is fixed.
	if mean := rate * seconds; math.Abs(n-mean) > 5*math.Sqrt(mean) {
		t.Errorf("%v arrivals, want about %v", n, mean)
	}
	gaps := make([]float64, len(got)-1)
	for i := range gaps {
		gaps[i] = (got[i+1].At - got[i].At).Seconds()
	}
	slices.Sort(gaps)
	// Kolmogorov's distance; 1.95/√n has a chance of 0.1 % of being passed.
	var distance float64
	for i, g := range gaps {
		distance = max(distance, math.Abs(1-math.Exp(-rate*g)-float64(i)/float64(len(gaps))))
	}
	if limit := 1.95 / math.Sqrt(n); distance > limit {
		t.Errorf("distance from the exponential distribution %v, at most %v", distance, limit)
	}
	if again := arrivals([]Phase{{Rate: rate, Duration: seconds * time.Second, Poisson: true}}, 42); !slices.Equal(got, again) {
		t.Error("the same seed gave other arrivals")
	}
}

// somePhases draws phases of every kind.
func somePhases(rng *rand.Rand) []Phase {
	var out []Phase
	for range 1 + rng.IntN(4) {
		d := time.Duration(rng.Int64N(int64(5*time.Second))) + 1
		ph := Phase{Duration: d, Rate: rng.Float64() * 200}
		switch rng.IntN(5) {
		case 0:
			ph.Poisson = true
		case 1:
			ph.Ramp, ph.RampTo = true, rng.Float64()*200
		case 2:
			ph = Phase{Duration: d, HasCount: true, Count: rng.IntN(500)}
		case 3:
			ph = Phase{Duration: d}
		}
		out = append(out, ph)
	}
	return out
}

func allArrivals(next func() (Arrival, bool)) (out []Arrival) {
	for a, ok := next(); ok; a, ok = next() {
		out = append(out, a)
	}
	return out
}

// Of any phases, the parts' arrivals, each at its number in the whole, are the whole's:
// none is left out, none comes twice, none at another time. So are those of parts of
// parts, as event loops have them.
func TestPartsOfAScheduleAreTheWhole(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(17, 5))
	for range 300 {
		phases, seed := somePhases(rng), rng.Uint64()
		pacer := func() func() (Arrival, bool) { return NewPacer(phases, rand.New(rand.NewPCG(seed, 1))).Next }
		whole := allArrivals(pacer())
		parts, loops := 1+rng.IntN(7), 1+rng.IntN(3)
		got := make([]Arrival, len(whole))
		taken := 0
		for i := range parts {
			for k := range loops {
				p := Part{i, parts}.Split(k, loops)
				own := allArrivals(p.Arrivals(pacer()))
				if int64(len(own)) != p.Share(int64(len(whole))) {
					t.Fatalf("part %v has %d arrivals of %d, its share is %d", p, len(own), len(whole), p.Share(int64(len(whole))))
				}
				for n, a := range own {
					got[p.Number(int64(n))] = a
					taken++
				}
			}
		}
		if taken != len(whole) || !slices.Equal(got, whole) {
			t.Fatalf("%d parts of %d loops have %d arrivals, the whole %d: %+v", parts, loops, taken, len(whole), phases)
		}
	}
}

// Shares and quotas add up, and who has no users has no loops.
func TestSharesAndQuotasAddUp(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(17, 6))
	for range 2000 {
		parts := 1 + rng.IntN(9)
		g := &Group{Closed: Closed{Users: 1 + rng.IntN(20), Total: rng.Int64N(MaxLoops)}}
		if rng.IntN(2) == 0 {
			g.Users, g.Total = 1+rng.IntN(MaxClosed), rng.Int64N(30)
		}
		users, quota := int64(0), int64(0)
		for i := range parts {
			p := Part{i, parts}
			n, q := p.Share(int64(g.Users)), p.Quota(g)
			users, quota = users+n, quota+q
			if q < 0 || n == 0 && q > 0 {
				t.Fatalf("part %v of %d users and %d loops has %d users and %d loops", p, g.Users, g.Total, n, q)
			}
		}
		if users != int64(g.Users) || quota != g.Total {
			t.Fatalf("%d parts have %d of %d users and %d of %d loops", parts, users, g.Users, quota, g.Total)
		}
	}
	if n := (Part{}).Share(9); n != 9 || (Part{}).Number(4) != 4 || !(Part{}).Takes(7) {
		t.Error("the zero part is not the whole")
	}
}
