package distribution

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/eprocess"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
)

// Hypothesis: both sides respond by one distribution, independently. Promised error rate:
// at most 1 of 100 whole runs raises any alarm, looked at after every exchange
// (each test keeps the first exchange at which it passed its level, so a run is
// looked at after each by being looked at once at its end). Source: Ville's
// inequality, brief of the e-processes in docs/concepts.md. Each world is held by itself;
// the worst one has shown 0.1 % of 10,000 runs (simtest.Rate).
func TestIdenticalServicesRaiseNoFalseAlarm(t *testing.T) {
	simtest.InTurn(t, 0.01, 0.001, 0.01, equalWorlds(), equalRuns(t, 300, 0))
}

// The same promise for long runs of 10,000 exchanges, over all worlds together, and at
// most 8 of 100 in each by itself. A correct implementation may show 0.2 % (simtest.Rate).
func TestLongRunsRaiseNoFalseAlarm(t *testing.T) {
	simtest.InTurn(t, 0.01, 0.002, 0.08, equalWorlds(), equalRuns(t, 10_000, 100))
}

// equalWorlds are the worlds of equal services by name, with their numbers.
func equalWorlds() map[string]numbered {
	worlds := map[string]numbered{}
	for k, w := range comparetest.EqualWorlds() {
		worlds[w.Name] = numbered{w, uint64(k)}
	}
	return worlds
}

type numbered struct {
	comparetest.World
	k uint64
}

// equalRuns plays a world's run of so many exchanges; it reports whether any alarm came.
func equalRuns(t *testing.T, exchanges int, seed uint64) func(w numbered, run int) bool {
	return func(w numbered, run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), seed+w.k))
		s := play(&w.World, r, exchanges, "", func(r *rand.Rand, per float64, _ int) float64 { return w.Response(r, per) })
		a := s.alarms()
		if len(a) > 0 {
			t.Logf("%s, run %d: %v", w.Name, run, a)
		}
		return len(a) > 0
	}
}

// Hypothesis: the two sides are the same service. The mended service must also
// be called EQUIVALENT, with the default margins, in at least 95 of 100 runs
// within 3,500 exchanges of the mixed load, and DIFFERENT in no more than 1 of 100.
// A correct implementation may show 0.15 % of alarms, and 2 % that are late
// (simtest.Rate).
func TestEqualServicesAreFoundEquivalent(t *testing.T) {
	const most, step = 3_500, 50
	w := comparetest.EqualWorlds()[0]
	late, wrong := simtest.AtMost(0.05, 0.02), simtest.AtMost(0.01, 0.0015)
	var at []float64
	for run := 0; late.Open() || wrong.Open(); run++ {
		r := rand.New(rand.NewPCG(uint64(run), 77))
		s, err := New(whittle.Comparison{Kind: whittle.Statistical, Confidence: 0.99}, testAlpha, nil)
		fatal.If(t, err)
		x := &whittle.Exchange{}
		found := 0
		for i := 0; i < most && found == 0; i++ {
			p := w.Next(r, i)
			x.At = time.Unix(comparetest.SecondOf(i), 0)
			a := w.Response(r, p)
			s.weigh(x, p, a, w.Response(r, p))
			if i%step == step-1 {
				if !slices.ContainsFunc(s.bounds(0.01), func(b whittle.Bound) bool { return !b.Inside }) {
					found = i + 1
				}
			}
		}
		wrong.Saw(len(s.alarms()) > 0)
		if late.Saw(found == 0); found == 0 {
			found = most
		}
		at = append(at, float64(found))
	}
	t.Logf("EQUIVALENT at a median of %.0f exchanges", slices.Sorted(slices.Values(at))[len(at)/2])
	late.Hold(t, fmt.Sprintf("not within %d exchanges", most))
	wrong.Hold(t, "false alarms")
}

// Responses that follow the time of day alike on both sides are no breach: given
// the request and the past, the pair is still exchangeable. Of runs in which
// the distribution drifts by many spreads at most 1 in 100 raises an alarm; a correct implementation
// may show 0.1 % (simtest.Rate).
func TestADistributionThatDriftsOnBothSidesIsNoBreach(t *testing.T) {
	simtest.AtMost(0.01, 0.001).Play(t, "alarmed", func(run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), 32))
		level, i := 100.0, 0
		w := comparetest.World{
			Next:     func(r *rand.Rand, _ int) float64 { level += r.NormFloat64() + 0.2; return 1 },
			Response: func(r *rand.Rand, _ float64) float64 { i++; return level + r.NormFloat64() },
		}
		s := play(&w, r, 400, "", func(r *rand.Rand, per float64, _ int) float64 { return w.Response(r, per) })
		return len(s.alarms()) > 0
	})
}

// Both sides keep responses in a cache of their own: the pairs of one key repeat
// each other, so a chance difference counts many times over. The repeats
// e-process stays silent, as the monolith repeats itself as often, but the others
// do not: their alarms are the price of the breach, and they are frequent.
func TestCachesOnBothSidesAreABreach(t *testing.T) {
	const runs = 100
	repeats, others := 0, 0
	for run := range runs {
		r := rand.New(rand.NewPCG(uint64(run), 33))
		cached := func() func(*rand.Rand, float64) float64 {
			kept := map[float64]float64{}
			return func(r *rand.Rand, per float64) float64 {
				if _, ok := kept[per]; !ok {
					kept[per] = comparetest.MonolithCount(r, per)
				}
				return kept[per]
			}
		}
		w, candidate := comparetest.World{Next: comparetest.DrawTimes, Response: cached()}, cached()
		s := play(&w, r, 300, "", func(r *rand.Rand, per float64, _ int) float64 { return candidate(r, per) })
		for _, a := range s.alarms() {
			if a == "repeats" {
				repeats++
			} else {
				others++
				break
			}
		}
	}
	t.Logf("of %d runs: repeats in %d, another alarm in %d", runs, repeats, others)
	if repeats > runs/50 {
		t.Errorf("repeats was found in %d of %d runs, though the monolith repeats itself as often", repeats, runs)
	}
	if others < runs/2 {
		t.Errorf("only %d of %d runs raised another alarm: docs/concepts.md says that they are frequent", others, runs)
	}
}

// testAlpha is what a judge at 99 % leaves to its method.
const testAlpha = 0.85 * 0.01

// play takes n exchanges of a world to a fresh statistical method, with the
// candidate's response drawn by its own function.
func play(w *comparetest.World, r *rand.Rand, n int, per string, candidate func(r *rand.Rand, per float64, i int) float64) *Method {
	s, err := New(whittle.Comparison{Kind: whittle.Statistical, Confidence: 0.99, Per: per}, testAlpha, nil)
	if err != nil {
		panic(err)
	}
	x := &whittle.Exchange{}
	for i := range n {
		p := w.Next(r, i)
		x.At = time.Unix(comparetest.SecondOf(i), 0)
		a := w.Response(r, p)
		s.weigh(x, p, a, candidate(r, p, i))
	}
	return s
}

// alarms lists every test that has passed its level, whatever the report makes
// of it.
func (s *Method) alarms() []string {
	var list []string
	for name, at := range map[string]int{
		"mean": s.Mean.At, "spread": s.Spread.At, "distribution": s.Distribution.At,
		"repeats": s.Repeats.DecidedAt(), "wrong": s.Wrong.Bets.At, "blank": s.Blank.Bets.At,
	} {
		if at > 0 {
			list = append(list, name)
		}
	}
	for i := range s.Strata {
		if s.Strata[i].Wrong.At > 0 {
			list = append(list, "wrong at one size")
		}
	}
	return list
}

func TestMain(m *testing.M) { simtest.Main(m) }

// The distance between two distributions, whose true value is 0.15 at the middle.
func TestTheDistancesIntervalHoldsAlways(t *testing.T) {
	const runs, rounds, alpha, truth = 300, 1_500, 0.025, 0.15
	missed := 0
	for run := range runs {
		r := rand.New(rand.NewPCG(uint64(run), 12))
		var s distances
		out := false
		for n := 1; n <= rounds; n++ {
			x, y := r.IntN(borders+1), r.IntN(borders+1)
			if r.Float64() < 2*truth {
				y /= 2
			}
			s.see(x, y, alpha, n)
			if n%50 == 0 {
				_, low, high := s.interval(alpha)
				out = out || truth < low || truth > high
			}
		}
		missed += int(eprocess.Indicator(out))
	}
	t.Logf("missed in %d of %d runs", missed, runs)
	if float64(missed) > 2*alpha*runs {
		t.Errorf("missed in %d of %d runs", missed, runs)
	}
}
