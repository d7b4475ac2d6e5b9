package distribution

import (
	"math/rand/v2"
	"testing"

	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/eprocess"
)

// Responses that follow the time of day alike on both sides are no breach: given
// the request and the past, the pair is still exchangeable. 200 runs in which
// the distribution drifts by many spreads, at most 2 alarms.
func TestADistributionThatDriftsOnBothSidesIsNoBreach(t *testing.T) {
	const runs = 200
	alarmed := 0
	for run := range runs {
		r := rand.New(rand.NewPCG(uint64(run), 32))
		level, i := 100.0, 0
		w := comparetest.World{
			Next:     func(r *rand.Rand, _ int) float64 { level += r.NormFloat64() + 0.2; return 1 },
			Response: func(r *rand.Rand, _ float64) float64 { i++; return level + r.NormFloat64() },
		}
		s := play(&w, r, 400, "", func(r *rand.Rand, per float64, _ int) float64 { return w.Response(r, per) })
		alarmed += int(eprocess.Indicator(len(s.alarms()) > 0))
	}
	if alarmed > runs/100 {
		t.Errorf("%d alarms in %d runs", alarmed, runs)
	}
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
