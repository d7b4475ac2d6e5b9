package paired

import (
	"math"
	"strings"
	"testing"
)

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
		if got := Sentence(c.figures); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
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
	if ratio(0, 1, 2, 1).Detectable(1) != math.Inf(1) {
		t.Error("an open interval detects something")
	}
}
