package guard

import (
	"math"
	"testing"

	"whittle"
	"whittle/carve/compare/eprocess"
)

// TestGroundsBeginWithOne: what the pairs and all generations of users begin with is a wealth of 1.
func TestGroundsBeginWithOne(t *testing.T) {
	e := newGrounds()
	sum, _ := e.eValue(0)
	pairs := parts[fromPairs] + parts[fromMirrored]
	for k := 1; k <= 2000; k++ {
		wealth, _ := e.eValue(k)
		if want := max(pairs, parts[fromFirsts]*eprocess.OfAttempts(k+1)); math.Abs(wealth-want) > 1e-12 {
			t.Fatalf("generation %d: it begins with %v, not with %v", k, wealth, want)
		}
		sum += parts[fromFirsts] * eprocess.OfAttempts(k+1)
	}
	if sum > 1 || sum < 0.999 {
		t.Errorf("together they begin with %v", sum)
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
