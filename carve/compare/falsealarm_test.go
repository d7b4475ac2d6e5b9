package compare

import (
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
)

// Hypothesis: both sides answer by one law, independently. Promised error rate:
// at most 1 of 100 whole runs raises any alarm, looked at after every exchange
// (each test keeps the first exchange at which it passed its level, so a run is
// looked at after each by being looked at once at its end). Source: Ville's
// inequality, brief of the witnesses in docs/verdict.md.
func TestIdenticalServicesRaiseNoFalseAlarm(t *testing.T) {
	const runs, exchanges = 10_000, 300
	total, alarmed := 0, 0
	for k, w := range equalWorlds() {
		n, which := 0, map[string]int{}
		for run := range runs {
			r := rand.New(rand.NewPCG(uint64(run), uint64(k)))
			s := play(&w, r, exchanges, "", func(r *rand.Rand, per float64, _ int) float64 { return w.answer(r, per) })
			a := s.alarms()
			for _, name := range a {
				which[name]++
			}
			if len(a) > 0 {
				n++
			}
		}
		t.Logf("%-36s %3d false alarms in %d runs of %d exchanges %v", w.name, n, runs, exchanges, which)
		if n > runs/100 {
			t.Errorf("%s: %d false alarms in %d runs, promised at most %d", w.name, n, runs, runs/100)
		}
		total, alarmed = total+runs, alarmed+n
	}
	t.Logf("in all: %d of %d runs, %.2f %%", alarmed, total, 100*float64(alarmed)/float64(total))
}

// The same promise for long runs: 200 of 20,000 exchanges in each world.
func TestLongRunsRaiseNoFalseAlarm(t *testing.T) {
	const runs, exchanges = 60, 20_000
	alarmed, total := 0, 0
	for k, w := range equalWorlds() {
		for run := range runs {
			r := rand.New(rand.NewPCG(uint64(run), uint64(100+k)))
			s := play(&w, r, exchanges, "", func(r *rand.Rand, per float64, _ int) float64 { return w.answer(r, per) })
			total++
			if a := s.alarms(); len(a) > 0 {
				alarmed++
				t.Logf("%s, run %d: %v", w.name, run, a)
			}
		}
	}
	t.Logf("%d of %d runs of %d exchanges", alarmed, total, exchanges)
	if alarmed*100 > total {
		t.Errorf("%d false alarms in %d runs, promised at most 1 in 100", alarmed, total)
	}
}

// Hypothesis: the two sides are the same service. The mended service must also
// be called EQUIVALENT, with the default margins, in at least 95 of 100 runs
// within 3,500 exchanges of the mixed load, and never DIFFERENT in more than 1
// of 100.
func TestEqualServicesAreFoundEquivalent(t *testing.T) {
	const runs, most, step = 200, 3_500, 50
	w := equalWorlds()[0]
	late, wrong := 0, 0
	var at []float64
	for run := range runs {
		r := rand.New(rand.NewPCG(uint64(run), 77))
		s, err := newStatistical(whittle.Comparison{Kind: whittle.Statistical, Confidence: 0.99})
		if err != nil {
			t.Fatal(err)
		}
		x := &whittle.Exchange{}
		found := 0
		for i := 0; i < most && found == 0; i++ {
			p := w.next(r, i)
			x.At = time.Unix(secondOf(i), 0)
			a, _ := ofFloat(w.answer(r, p))
			b, _ := ofFloat(w.answer(r, p))
			s.weigh(x, p, a, b)
			if i%step == step-1 {
				if _, more := s.bounds(0.01); more == 0 {
					found = i + 1
				}
			}
		}
		if len(s.alarms()) > 0 {
			wrong++
		}
		if found == 0 {
			late++
			found = most
		}
		at = append(at, float64(found))
	}
	t.Logf("EQUIVALENT at a median of %.0f exchanges; not within %d in %d of %d runs; false alarms %d", median(at), most, late, runs, wrong)
	if late*20 > runs {
		t.Errorf("%d of %d runs were not EQUIVALENT within %d exchanges", late, runs, most)
	}
	if wrong*100 > 2*runs {
		t.Errorf("%d of %d runs raised a false alarm", wrong, runs)
	}
}
