package paired

import (
	"math"
	"math/rand/v2"
	"testing"
)

func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// steady is a block of n values around a level.
func steady(rng *rand.Rand, n int, level float64) Sample {
	out := make([]float64, n)
	for i := range out {
		out[i] = level * math.Exp(0.2*rng.NormFloat64())
	}
	return NewSample(out)
}

func TestARatioIsFoundWithItsInterval(t *testing.T) {
	rng := source()
	for _, want := range []float64{0.001, 0.2, 0.97, 1, 1.2, 5.2, 300} {
		var a, b []Sample
		for range 60 {
			a, b = append(a, steady(rng, 100, 1)), append(b, steady(rng, 100, want))
		}
		test := NewTest(60, rng)
		for _, q := range []float64{.5, .95, .99} {
			r := test.Compare(NewBlocks(a, b).Quantile(q))
			if !(r.Low <= r.Ratio && r.Ratio <= r.High) || r.Low > want*1.01 || r.High < want*0.99 {
				t.Errorf("q %v of ratio %v: %+v", q, want, r)
			}
			if width := math.Log(r.High / r.Low); width > 0.1 {
				t.Errorf("q %v of ratio %v: the interval is %.0f %% wide", q, want, 100*width)
			}
			if agrees := (r.Low > 1 || r.High < 1) == (r.P <= Alpha); !agrees {
				t.Errorf("q %v of ratio %v: test and interval disagree: %+v", q, want, r)
			}
		}
	}
}

func TestSidesMirrorEachOther(t *testing.T) {
	rng := source()
	var a, b []Sample
	for range 12 {
		a, b = append(a, steady(rng, 50, 1)), append(b, steady(rng, 50, 1.3))
	}
	test := NewTest(12, rng)
	r, s := test.Compare(NewBlocks(a, b).Quantile(.5)), test.Compare(NewBlocks(b, a).Quantile(.5))
	if math.Abs(r.Low*s.High-1) > 1e-3 || math.Abs(r.High*s.Low-1) > 1e-3 || math.Abs(r.P-s.P) > 1e-12 {
		t.Errorf("%+v and its mirror %+v", r, s)
	}
}

// With five pairs the least p-value of any test of this kind is 1/16: there is
// no 95 % interval, and none is made up. With six there is.
func TestTooFewPairsGiveNoInterval(t *testing.T) {
	rng := source()
	for pairs, bounded := range map[int]bool{1: false, 5: false, 6: true} {
		var a, b []Sample
		for range pairs {
			a, b = append(a, steady(rng, 50, 1)), append(b, steady(rng, 50, 10))
		}
		r := NewTest(pairs, rng).Compare(NewBlocks(a, b).Quantile(.5))
		if got := r.Low > 0 && !math.IsInf(r.High, 1); got != bounded || (r.P <= Alpha) != bounded {
			t.Errorf("%d pairs: %+v", pairs, r)
		}
		if want := 2 / math.Pow(2, float64(pairs)); math.Abs(r.P-want) > 1e-12 {
			t.Errorf("%d pairs that all agree: p is %v, want %v", pairs, r.P, want)
		}
	}
}

func TestEmptySidesSayNothing(t *testing.T) {
	none := make([]Sample, 8)
	rng := source()
	some := make([]Sample, 8)
	for i := range some {
		some[i] = steady(rng, 9, 1)
	}
	for _, c := range [][2][]Sample{{none, none}, {some, none}, {none, some}} {
		r := NewTest(8, rng).Compare(NewBlocks(c[0], c[1]).Quantile(.5))
		if !math.IsNaN(r.Ratio) || r.P != 1 || r.Low != 0 || !math.IsInf(r.High, 1) {
			t.Errorf("%+v", r)
		}
	}
	if r := NewTest(0, rng).Compare(Mean(nil, nil)); r.P != 1 {
		t.Errorf("no pairs: %+v", r)
	}
}

func TestErrorsOfOneSideOnly(t *testing.T) {
	clean, broken := make([]Share, 12), make([]Share, 12)
	for i := range clean {
		clean[i], broken[i] = Share{0, 100}, Share{float64(1 + i%3), 100}
	}
	test := NewTest(12, source())
	r := test.Compare(Counted(clean, broken))
	if !math.IsInf(r.Ratio, 1) || r.P > 0.001 || !(r.Low > 1) || !math.IsInf(r.High, 1) {
		t.Errorf("A without errors, B with: %+v", r)
	}
	if s := test.Compare(Counted(broken, clean)); s.Ratio != 0 || s.P != r.P || s.Low != 0 || s.High != 1/r.Low {
		t.Errorf("A with errors, B without: %+v, and its mirror %+v", s, r)
	}
	if r := test.Compare(Counted(clean, clean)); !math.IsNaN(r.Ratio) || r.P != 1 || r.Low != 0 || !math.IsInf(r.High, 1) {
		t.Errorf("none on either side: %+v", r)
	}
	// One burst, however great, is one event.
	burst := make([]Share, 12)
	for i := range burst {
		burst[i] = Share{0, 100}
	}
	burst[4].Sum = 100
	if r := test.Compare(Counted(clean, burst)); r.P != 1 || r.Low != 0 {
		t.Errorf("one burst: %+v", r)
	}
	// What is measured is not counted: there is no least of it.
	if r := test.Compare(Mean(clean, broken)); !math.IsInf(r.Ratio, 1) || r.Low != 0 {
		t.Errorf("a mean: %+v", r)
	}
}

// Everything failed on one side, and nothing in twelve stretches of the other:
// the rule of three on those.
func TestRuleOfThree(t *testing.T) {
	clean, broken, few := make([]Share, 12), make([]Share, 12), make([]Share, 12)
	for i := range clean {
		clean[i], broken[i], few[i] = Share{0, 100}, Share{100, 100}, Share{0, 50}
	}
	test := NewTest(12, source())
	want := 12 / -math.Log(0.025)
	if r := test.Compare(Counted(clean, broken)); math.Abs(r.Low-want) > 1e-9 {
		t.Errorf("%+v, want a low end of %v", r, want)
	}
	if r := test.Compare(Counted(few, broken)); math.Abs(r.Low-want/2) > 1e-9 {
		t.Errorf("A was asked half as much: %+v, want a low end of %v", r, want/2)
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
