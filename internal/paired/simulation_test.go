package paired

import (
	"math"
	"math/rand/v2"
	"testing"
)

// machine makes latencies as servers have them: a skewed distribution with a second
// mode, a level that wanders with the machine, and one that wanders with each
// server by itself.
type machine struct {
	rng *rand.Rand
	// drift is how much the logarithm of the level rises over the whole run.
	drift float64
	// wander is the step of the machine's level from block to block, own that of
	// each server's; both return to their middle by themselves.
	wander, own float64
	// within is the correlation of neighbouring requests.
	within float64

	level float64
	sides [2]float64
}

// block is one block of a server whose latencies are scale times the usual.
func (m *machine) block(side, n int, at, scale float64) Sample {
	m.level = 0.8*m.level + m.wander*m.rng.NormFloat64()
	m.sides[side] = 0.5*m.sides[side] + m.own*m.rng.NormFloat64()
	base := math.Log(20*scale) + m.level + m.sides[side] + m.drift*at
	out := make([]float64, n)
	near := m.rng.NormFloat64()
	for i := range out {
		near = m.within*near + math.Sqrt(1-m.within*m.within)*m.rng.NormFloat64()
		v := math.Exp(base + 0.4*near)
		if m.rng.Float64() < 0.03 { // a collection, a cache's miss
			v += 30 * scale * m.rng.ExpFloat64()
		}
		out[i] = v
	}
	return NewSample(out)
}

// measure runs pairs of blocks in random order.
func (m *machine) measure(pairs, n int, scale float64) (a, b []Sample) {
	for k := range pairs {
		at := float64(k) / float64(pairs)
		if m.rng.IntN(2) == 0 {
			a = append(a, m.block(0, n, at, 1))
			b = append(b, m.block(1, n, at, scale))
		} else {
			b = append(b, m.block(1, n, at, scale))
			a = append(a, m.block(0, n, at, 1))
		}
	}
	return a, b
}

var quantiles = []struct {
	name string
	q    float64
}{{"median", .5}, {"p95", .95}, {"p99", .99}}

// judged says of each figure whether it is called different, by the p-values
// alone.
func judged(a, b []Sample, rng *rand.Rand) []Named {
	test, blocks := NewTest(len(a), rng), NewBlocks(a, b)
	var figures []Named
	for _, q := range quantiles {
		figures = append(figures, Named{Name: q.name, Ratio: Ratio{P: test.p(blocks.Quantile(q.q), 1)}})
	}
	Judge(figures)
	return figures
}

// machines are what a machine may be like, at its worst.
var machines = map[string]machine{
	"idle":               {},
	"drifts threefold":   {drift: 1.1},
	"machine wanders":    {wander: 0.1, within: 0.7},
	"servers wander":     {own: 0.03, within: 0.7},
	"all of it together": {drift: 0.5, wander: 0.1, own: 0.02, within: 0.9},
}

// A server compared with itself, 200 times on each machine: at most 5 % of the
// verdicts, over all three figures together, call it different.
func TestAServerComparedWithItselfIsSeldomCalledDifferent(t *testing.T) {
	const runs, pairs, requests = 200, 48, 60
	for name, kind := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := kind
			m.rng = rand.New(rand.NewPCG(7, 11))
			called, alone := 0, make([]int, len(quantiles))
			for range runs {
				a, b := m.measure(pairs, requests, 1)
				wrong := false
				for i, f := range judged(a, b, m.rng) {
					wrong = wrong || f.Different
					if f.P <= Alpha {
						alone[i]++
					}
				}
				if wrong {
					called++
				}
			}
			t.Logf("called different: %d of %d; intervals that leave out 1: %v", called, runs, alone)
			if called > runs*5/100 {
				t.Errorf("called different: %d of %d comparisons of a server with itself", called, runs)
			}
			for i, n := range alone {
				if n > runs*9/100 { // 5 % of 200, and 2.6 standard deviations
					t.Errorf("the interval of the %s leaves out 1 in %d of %d", quantiles[i].name, n, runs)
				}
			}
		})
	}
}

// Five minutes at 200 requests a second are 150 pairs of blocks of a second.
// There a median 3 % slower is found in more than four of five, and the
// interval holds the true ratio, on a machine whose level is another by 5 % in
// each second and on which each server wanders by 2 % of its own.
func TestAMedianThreePercentSlowerIsFoundInFiveMinutes(t *testing.T) {
	const runs, pairs, requests, slower = 20, 150, 200, 1.03
	for name, m := range map[string]machine{
		"idle": {}, "usual": {drift: 0.5, wander: 0.05, own: 0.02, within: 0.3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m.rng = rand.New(rand.NewPCG(5, 3))
			found, held, wide := 0, 0, 0.0
			for range runs {
				a, b := m.measure(pairs, requests, slower)
				if judged(a, b, m.rng)[0].Different {
					found++
				}
				r := NewTest(pairs, m.rng).Compare(NewBlocks(a, b).Quantile(.5))
				if r.Low <= slower && slower <= r.High {
					held++
				}
				wide += (r.High - r.Low) / 2 / runs
			}
			t.Logf("found in %d of %d; the interval is ±%.2f %% on average and holds the truth in %d", found, runs, 100*wide, held)
			if found < runs*4/5 {
				t.Errorf("a median 3 %% slower was found in %d of %d", found, runs)
			}
			if held < runs*4/5 {
				t.Errorf("the interval holds the true ratio in %d of %d", held, runs)
			}
		})
	}
}

// CPU per request is noisy by the kernel's clock tick of 10 ms, and errors are
// rare: neither makes the test lie.
func TestMeansOfEqualsAreSeldomCalledDifferent(t *testing.T) {
	const runs, pairs = 200, 60
	rng := rand.New(rand.NewPCG(1, 8))
	wrong := map[string]int{}
	for range runs {
		var cpu, errs [2][]Share
		for range pairs {
			for side := range 2 {
				requests := 200.0
				used := requests * (1 + 0.1*rng.NormFloat64())
				cpu[side] = append(cpu[side], Share{math.Floor(used/10+rng.Float64()) * 10, requests})
				failed := 0.0
				if rng.IntN(10) == 0 {
					failed = float64(rng.IntN(30))
				}
				errs[side] = append(errs[side], Share{failed, requests})
			}
		}
		test := NewTest(pairs, rng)
		for name, f := range map[string]Figure{"cpu": Mean(cpu[0], cpu[1]), "errors": Counted(errs[0], errs[1])} {
			if test.p(f, 1) <= Alpha {
				wrong[name]++
			}
		}
	}
	for name, n := range wrong {
		if n > runs*9/100 {
			t.Errorf("%s: %d of %d called different", name, n, runs)
		}
	}
}

// errorPatterns are how errors come: each begins in a block drawn evenly and hits
// requests of it and, where they last, of the blocks after it.
var errorPatterns = map[string]func(rng *rand.Rand) (blocks, each int){
	"one by one":       func(*rand.Rand) (int, int) { return 1, 1 },
	"bursts":           func(rng *rand.Rand) (int, int) { return 1, 1 + int(10*rng.ExpFloat64()) },
	"outages":          func(*rand.Rand) (int, int) { return 2, 30 },
	"now one now many": func(rng *rand.Rand) (int, int) { return 1, []int{1, 1, 1, 40}[rng.IntN(4)] },
}

// poisson draws a number of events (Knuth).
func poisson(rng *rand.Rand, mean float64) (n int) {
	for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() {
		n++
	}
	return n
}

// failing is a side that has so many events on average in the whole run.
func failing(rng *rand.Rand, pairs int, events float64, pattern func(*rand.Rand) (int, int)) (out []Share, sum float64) {
	const requests = 100
	for range pairs {
		out = append(out, Share{0, requests})
	}
	for range poisson(rng, events) {
		at := rng.IntN(pairs)
		blocks, each := pattern(rng)
		for k := at; k < min(at+blocks, pairs); k++ {
			out[k].Sum = min(out[k].Sum+float64(each), requests)
		}
	}
	for _, s := range out {
		sum += s.Sum
	}
	return out, sum
}

// A side that happens to have had no error is shown to be better by more than it
// is in at most 2.5 % of comparisons, however errors come: one by one, in
// bursts, or in so many that nothing else is left.
func TestTheBoundOnASideWithoutErrorsHolds(t *testing.T) {
	const runs = 400
	for name, pattern := range errorPatterns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(17, 4))
			for _, pairs := range []int{12, 60} {
				test := NewTest(pairs, rng)
				for _, ratio := range []float64{1, 2, 5, 20, 200} {
					for _, events := range []float64{0.5, 1, 2, 3, 3.5} {
						var allA, allB float64
						var lows []float64
						for range runs {
							a, sumA := failing(rng, pairs, events, pattern)
							b, sumB := failing(rng, pairs, events*ratio, pattern)
							allA, allB = allA+sumA, allB+sumB
							if sumA > 0 {
								continue
							}
							low := test.Compare(Counted(a, b)).Low
							if high := test.Compare(Counted(b, a)).High; low > 0 && math.Abs(low*high-1) > 1e-9 {
								t.Fatalf("a low end of %v, and %v of the mirror's high one", low, high)
							}
							lows = append(lows, low)
						}
						wrong, shown := 0, 0
						for _, low := range lows {
							if low > allB/allA { // what the pattern comes to, blocks that cannot fail more than wholly included
								wrong++
							}
							if low > 1 {
								shown++
							}
						}
						t.Logf("%d pairs, %v events to %v: %d wrong, %d shown above 1", pairs, events, events*ratio, wrong, shown)
						if wrong > runs*45/1000 { // 2.5 % of 400, and 2.6 standard deviations
							t.Errorf("%d pairs, %v events of A in a run and %v of B: the interval leaves out the true ratio in %d of %d", pairs, events, events*ratio, wrong, runs)
						}
					}
				}
			}
		})
	}
}
