package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// arrivals lists all arrivals of some phases.
func arrivals(phases []Phase, seed uint64) []Arrival {
	var out []Arrival
	p := NewPacer(phases, rand.New(rand.NewPCG(seed, 0)))
	for a, ok := p.Next(); ok; a, ok = p.Next() {
		out = append(out, a)
	}
	return out
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
		if len(got) != c.want {
			t.Errorf("%s: %d arrivals, want %d", c.name, len(got), c.want)
		}
		var planned int64
		for i := range c.phases {
			planned += c.phases[i].Planned()
		}
		if planned != int64(c.want) {
			t.Errorf("%s: %d planned, want %d", c.name, planned, c.want)
		}
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
		var phases []Phase
		for range 1 + rng.IntN(4) {
			phases = append(phases, Phase{
				Duration: time.Duration(1+rng.IntN(5000)) * time.Millisecond, Rate: rng.Float64() * 200,
				Ramp: rng.IntN(3) == 0, RampTo: rng.Float64() * 200,
				HasCount: rng.IntN(4) == 0, Count: rng.IntN(100), Poisson: rng.IntN(2) == 0,
			})
			if last := &phases[len(phases)-1]; last.Ramp {
				last.HasCount = false
			}
		}
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
