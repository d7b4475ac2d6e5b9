package paired

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// windows are the medians of a run's seconds: a level that wanders.
func windows(rng *rand.Rand, n int, level float64) (all float64, out []Window) {
	near, sum := 0.0, 0.0
	for range n {
		near = 0.6*near + 0.03*rng.NormFloat64()
		v := math.Log(level) + near
		sum += v / float64(n)
		out = append(out, Window{math.Exp(v), 200})
	}
	return math.Exp(sum), out
}

func TestUnpairedRunsOfEqualsAreSeldomCalledDifferent(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	const runs = 400
	wrong := 0
	for range runs {
		a, as := windows(rng, 120, 20)
		b, bs := windows(rng, 120, 20)
		r := Unpaired(a, b, as, bs, rng)
		if r.P <= Alpha {
			wrong++
		}
		if (r.Low > 1 || r.High < 1) != (r.P < Alpha) {
			t.Fatalf("test and interval disagree: %+v", r)
		}
	}
	t.Logf("%d of %d", wrong, runs)
	// Blocks of eleven seconds do not hold all of the correlation: a little above
	// 5 % is what this bootstrap is known for.
	if wrong > runs*9/100 {
		t.Errorf("%d of %d called different", wrong, runs)
	}
}

func TestUnpaired(t *testing.T) {
	rng := source()
	a, as := windows(rng, 60, 20)
	b, bs := windows(rng, 60, 60)
	r := Unpaired(a, b, as, bs, rng)
	if r.Low > 3 || r.High < 3 || r.High/r.Low > 1.2 || r.P > 1e-6 {
		t.Errorf("three times slower: %+v", r)
	}
	if r := Unpaired(a, b, as[:7], bs, rng); !math.IsInf(r.High, 1) || !math.IsNaN(r.P) || r.Ratio != b/a {
		t.Errorf("seven windows: %+v", r)
	}
	for _, c := range []struct{ a, b, want float64 }{
		{0, b, math.Inf(1)}, {a, 0, 0}, {0, 0, math.NaN()}, {math.NaN(), b, math.NaN()}, {a, math.NaN(), math.NaN()}, {-1, b, math.NaN()}, {a, -1, math.NaN()},
	} {
		r := Unpaired(c.a, c.b, as, bs, rng)
		if r.Ratio != c.want && !(math.IsNaN(r.Ratio) && math.IsNaN(c.want)) || r.Low != 0 || !math.IsInf(r.High, 1) || !math.IsNaN(r.P) {
			t.Errorf("%v and %v: %+v, want a ratio of %v", c.a, c.b, r, c.want)
		}
	}
	holes := slices.Concat(as, []Window{{0, 5}, {3, 0}, {math.Inf(1), 1}})
	if r := Unpaired(a, b, holes, bs, rng); r.Pairs != 60 {
		t.Errorf("windows without a figure count: %+v", r)
	}
}

// Three pairs whose log ratios are ln 2 ± d: Student's quantile for two
// degrees of freedom is 4.3027.
func TestRunsAreStudents(t *testing.T) {
	d := 0.1
	r := Runs([]float64{10, 20, 5}, []float64{20 * math.Exp(-d), 40, 10 * math.Exp(d)})
	half := 4.30265 * d / math.Sqrt(3)
	if math.Abs(r.Ratio-2) > 1e-9 || math.Abs(math.Log(r.High/r.Ratio)-half) > 1e-4 || math.Abs(math.Log(r.Ratio/r.Low)-half) > 1e-4 {
		t.Errorf("%+v, want 2 and a half width of %v", r, half)
	}
	if math.Abs(r.A-10) > 1e-9 || math.Abs(r.B-20) > 1e-9 {
		t.Errorf("the sides are %v and %v", r.A, r.B)
	}
	if r := Runs([]float64{10}, []float64{20}); math.Abs(r.Ratio-2) > 1e-9 || !math.IsInf(r.High, 1) || !math.IsNaN(r.P) {
		t.Errorf("one pair: %+v", r)
	}
	if r := Runs([]float64{10, 0}, []float64{20, 1}); r.Pairs != 1 {
		t.Errorf("a run without a figure counts: %+v", r)
	}
	if r := Runs(nil, nil); !math.IsNaN(r.Ratio) {
		t.Errorf("no runs: %+v", r)
	}
	if r := Runs([]float64{3, 3}, []float64{3, 3}); r.P != 1 || r.Low != 1 || r.High != 1 {
		t.Errorf("the same twice: %+v", r)
	}
}
