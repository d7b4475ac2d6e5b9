package comparetest

import (
	"math"
	"math/rand/v2"
)

// A world says which requests come and how the two sides answer them.
type World struct {
	Name string
	// Next gives the divisor of the i-th request.
	Next func(r *rand.Rand, i int) float64
	// Response draws one side's response.
	Response func(r *rand.Rand, per float64) float64
}

// mixedTimes is the load of the simulations: `times` and how often it comes.
var mixedTimes = []struct{ times, part float64 }{
	{1_000, 0.20},
	{10_000, 0.20},
	{100_000, 0.20},
	{150_000, 0.15},
	{250_000, 0.12},
	{1_000_000, 0.10},
	{60_000_000, 0.03},
}

// DrawTimes draws the size of a request.
func DrawTimes(r *rand.Rand, _ int) float64 {
	u := r.Float64()
	for _, m := range mixedTimes {
		if u -= m.part; u < 0 {
			return m.times
		}
	}
	return mixedTimes[len(mixedTimes)-1].times
}

// The numbers that the two services draw.
const (
	MonolithMean      = 50.0
	MonolithVariance  = 100*100/12.0 + 1/6.0 // of Math.round(Math.random()*100)
	publishedMean     = 49.5
	publishedVariance = (100*100 - 1) / 12.0 // of Int31n(100)
)

// SumOf draws a sum of n numbers: each one for a small n, by the normal
// approximation (whose error is below 1e-3 of a spread here) for a large one.
func SumOf(r *rand.Rand, n, mean, variance float64, one func(*rand.Rand) float64) float64 {
	if n <= 64 {
		sum := 0.0
		for range int(n) {
			sum += one(r)
		}
		return sum
	}
	return math.Round(n*mean + math.Sqrt(n*variance)*r.NormFloat64())
}

func monolithDraw(r *rand.Rand) float64  { return math.Floor(r.Float64()*100 + 0.5) }
func publishedDraw(r *rand.Rand) float64 { return float64(r.IntN(100)) }

// MonolithCount is what the Node monolith says.
func MonolithCount(r *rand.Rand, times float64) float64 {
	return SumOf(r, times, MonolithMean, MonolithVariance, monolithDraw)
}

// Flaws are the four of the published service.
type Flaws struct{ Mean, Remainder, Wrap, Seed bool }

// CandidateCount is what the published service says in a second of the
// clock, with some of its flaws.
func (f Flaws) CandidateCount(r *rand.Rand, times float64, second int64) float64 {
	const job, workers = 100_000, 5
	mean, variance, one := MonolithMean, MonolithVariance, monolithDraw
	if f.Mean {
		mean, variance, one = publishedMean, publishedVariance, publishedDraw
	}
	jobs := int(times / job)
	rest := times - float64(jobs)*job
	if f.Remainder && jobs > 0 {
		rest = 0
	}
	var sum float64
	if f.Seed {
		// The workers share one stream: who has drawn k numbers has drawn the
		// first k of it. The jobs are taken in turn.
		var drawn [workers]float64
		for i := range jobs {
			drawn[i%workers] += job
		}
		drawn[jobs%workers] += rest
		sum = sharedStream(uint64(second), drawn[:], mean, variance)
	} else {
		sum = SumOf(r, float64(jobs)*job+rest, mean, variance, one)
	}
	if f.Wrap {
		return float64(int32(int64(sum)))
	}
	return sum
}

// sharedStream sums what workers drew from copies of the stream of one seed:
// each stretch of it counts as often as there are workers who got that far. The
// stretches between the sizes of mixedTimes and the ends of jobs are drawn one
// by one, so that two requests of one second share what they have in common.
func sharedStream(seed uint64, drawn []float64, mean, variance float64) float64 {
	sum, at := 0.0, 0.0
	for {
		next, share := math.Inf(1), 0.0
		for _, d := range drawn {
			if d > at {
				share++
			}
		}
		if share == 0 {
			return math.Round(sum)
		}
		for _, knot := range []float64{1_000, 10_000, 50_000, 100_000 * (1 + math.Floor(at/100_000))} {
			if knot > at {
				next = min(next, knot)
			}
		}
		stretch := rand.New(rand.NewPCG(seed, uint64(next)))
		n := next - at
		sum += share * (n*mean + math.Sqrt(n*variance)*stretch.NormFloat64())
		at = next
	}
}

// EqualWorlds are those in which both sides follow one distribution.
func EqualWorlds() []World {
	one := func(*rand.Rand, int) float64 { return 1 }
	few := func(*rand.Rand, int) float64 { return 20 }
	return []World{
		{"count, mixed times", DrawTimes, MonolithCount},
		{"count, any times", func(r *rand.Rand, _ int) float64 {
			return math.Floor(math.Exp(r.Float64() * math.Log(6e7)))
		}, MonolithCount},
		{"normal", one, func(r *rand.Rand, _ float64) float64 { return r.NormFloat64() }},
		{"heavy tails (Cauchy)", one, func(r *rand.Rand, _ float64) float64 {
			return 10 + math.Tan(math.Pi*(r.Float64()-0.5))
		}},
		{"heavy tails (Pareto, no variance)", DrawTimes, func(r *rand.Rand, per float64) float64 {
			return per * math.Pow(1-r.Float64(), -1/1.5)
		}},
		{"a die", one, func(r *rand.Rand, _ float64) float64 { return float64(1 + r.IntN(6)) }},
		{"0, seldom 1000", few, func(r *rand.Rand, _ float64) float64 {
			if r.IntN(50) == 0 {
				return 1000
			}
			return 0
		}},
		{"constant", DrawTimes, func(_ *rand.Rand, per float64) float64 { return 3 * per }},
		{"two peaks", DrawTimes, func(r *rand.Rand, per float64) float64 {
			return per * (1 + 9*float64(r.IntN(2)) + 0.01*r.NormFloat64())
		}},
		{"correlated requests", burstsOfTimes, MonolithCount},
		{"one request again and again", func(*rand.Rand, int) float64 { return 5 }, MonolithCount},
	}
}

// burstsOfTimes sends one size for a while, then another; the largest only
// late.
func burstsOfTimes(r *rand.Rand, i int) float64 {
	if i > 200 && i%7 == 0 {
		return 60_000_000
	}
	stay := rand.New(rand.NewPCG(uint64(i/25), 11))
	return mixedTimes[stay.IntN(len(mixedTimes)-1)].times
}

// SecondOf is the second of the clock in which an exchange comes, at 100 a
// second.
func SecondOf(i int) int64 { return 1_700_000_000 + int64(i/100) }
