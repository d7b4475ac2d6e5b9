package distribution

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
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
		if err != nil {
			t.Fatal(err)
		}
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
