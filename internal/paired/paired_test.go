package paired

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle/internal/fatal"
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

// The example of Holm's own paper's procedure: sorted p-values times what is
// left, never falling.
func TestHolm(t *testing.T) {
	got := Holm([]float64{.03, .01, math.NaN(), .04, .005})
	for i, want := range []float64{.06, .03, math.NaN(), .06, .02} {
		if math.Abs(got[i]-want) > 1e-12 || math.IsNaN(got[i]) != math.IsNaN(want) {
			t.Errorf("adjusted %v is %v, want %v", i, got[i], want)
		}
	}
	if got := Holm([]float64{.9, .8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("above one: %v", got)
	}
}

func ratio(low, mid, high, p float64) Ratio {
	return Ratio{A: 10, B: 10 * mid, Ratio: mid, Low: low, High: high, P: p, Pairs: 100}
}

func TestSentence(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		figures []Named
		want    string
	}{
		{
			[]Named{{Name: "median", Ratio: ratio(1/5.6, 1/5.2, 1/4.9, .0001)}},
			"B's median is 5.2 times lower (4.9 to 5.6).",
		},
		{
			[]Named{{Name: "median", Ratio: ratio(1.02, 1.03, 1.045, .0001)}, {Name: "p99", Ratio: ratio(11, 12, 13.4, .0001)}},
			"B's median is 3.0 % higher (2.0 % to 4.5 %), its p99 12 times higher (11 to 13).",
		},
		{
			[]Named{{Name: "median", Ratio: ratio(.75, .8, .9, .0001)}},
			"B's median is 20 % lower (10 % to 25 %).",
		},
		{
			[]Named{{Name: "median", Ratio: ratio(.98, 1, 1.02, .7)}, {Name: "p99", Ratio: ratio(.9, 1, 1.1, .7)}, {Name: "CPU per request", Ratio: ratio(0, nan, inf, nan)}},
			"No difference shown; one of 3.4 % in the median and one of 18 % in the p99 would have been, in four of five such comparisons.",
		},
		{
			[]Named{{Name: "median", Ratio: ratio(.98, 1, 1.02, .7)}, {Name: "errors per request", Ratio: Ratio{A: 0, B: .1, Ratio: inf, High: inf, P: .0002}}},
			"B's errors per request is above A's, which is 0. No other difference shown; one of 3.4 % in the median would have been, in four of five such comparisons.",
		},
		{
			[]Named{{Name: "p99", Ratio: ratio(.5, 1, 2, .7)}},
			"No difference shown; one of a factor of 2.9 in the p99 would have been, in four of five such comparisons.",
		},
		{
			[]Named{{Name: "median", Ratio: ratio(.98, 1, 1.02, .7)}, {Name: "p99", Ratio: ratio(1e-4, 2, 4e4, .7)}},
			"No difference shown; one of 3.4 % in the median would have been, in four of five such comparisons.",
		},
		{
			[]Named{{Name: "median", Ratio: ratio(0, 1.3, inf, .3)}},
			"No difference shown; how great one would have had to be cannot be said from so few measurements.",
		},
		{
			[]Named{{Name: "median", Ratio: ratio(0, nan, inf, nan)}},
			"Nothing can be said: there are too few measurements for an interval.",
		},
	} {
		Judge(c.figures)
		fatal.Same(t, Sentence(c.figures), c.want, "")
	}
}

// Six figures of p = 0.02 each are no difference together, for one in nine
// comparisons of equals has one.
func TestManyFiguresAreJudgedTogether(t *testing.T) {
	var figures []Named
	for range 6 {
		figures = append(figures, Named{Name: "x", Ratio: ratio(1.01, 1.1, 1.2, .02)})
	}
	Judge(figures)
	if figures[0].Different || !strings.HasPrefix(Sentence(figures), "No difference shown") {
		t.Errorf("%+v", figures[0])
	}
}

// A true difference of Detectable's size, with the normal error that the
// interval stands for, is called different in 80 %.
func TestDetectable(t *testing.T) {
	r := ratio(math.Exp(-.0196), 1, math.Exp(.0196), 1) // a standard error of 1 %
	if got, want := r.Detectable(1), math.Expm1(.01*(2.1701+.8416)); math.Abs(got-want) > 1e-5 {
		t.Errorf("%v, want %v", got, want)
	}
	fatal.Same(t, ratio(0, 1, 2, 1).Detectable(1), math.Inf(1), "what an open interval detects")
}
