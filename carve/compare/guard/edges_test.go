package guard

import (
	"math"
	"testing"

	"whittle"
	"whittle/carve/compare/eprocess"
)

// TestGroundsBeginWithOne: all parts together are a wealth of 1, of which each has its own.
func TestGroundsBeginWithOne(t *testing.T) {
	e := newGrounds()
	for k := range 2000 {
		if k > 0 {
			e.roll()
		}
		if wealth, _ := e.eValue(k); math.Abs(wealth-(1-min(1, float64(k))*parts[fromLater])) > 1e-12 {
			t.Fatalf("generation %d: it begins with %v", k, wealth)
		}
	}
}

// TestConfidence: one outside (0, 1) stands for 0.99.
func TestConfidence(t *testing.T) {
	for given, want := range map[float64]float64{-1: 0.99, 0: 0.99, 0.5: 0.5, 1: 0.99, 2: 0.99, math.NaN(): 0.99} {
		if got := New(whittle.Guard{Confidence: given}).alpha; math.Abs(got-eprocess.OfGuards*(1-want)/2) > 1e-15 {
			t.Errorf("a confidence of %v: an error rate of %v for each of two meters", given, got)
		}
	}
}
