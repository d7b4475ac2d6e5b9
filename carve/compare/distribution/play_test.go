package distribution

import (
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/eprocess"
	"whittle/internal/simtest"
)

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
