package paired

import (
	"math"
	"testing"
)

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
