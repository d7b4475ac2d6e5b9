package eprocess

import (
	"math"
	"testing"
)

// TestOfAttempts: what the attempts at a rollout spend is as the formula says, and never more
// than 1 in all, which all of them together come to.
func TestOfAttempts(t *testing.T) {
	spent := 0.0
	for i := 1; i <= 1_000_000; i++ {
		part := OfAttempts(i)
		want, ok := map[int]float64{1: 0.8, 2: 0.1, 3: 0.2 / 6, 4: 0.2 / 12, 10: 0.2 / 90}[i]
		if ok && math.Abs(part-want) > 1e-15 {
			t.Errorf("attempt %d: %v, want %v", i, part, want)
		}
		spent += part
	}
	// The first n attempts spend 0.8 + 0.2 (1 − 1/n).
	if want := 1 - 0.2/1e6; math.Abs(spent-want) > 1e-9 {
		t.Errorf("a million attempts spend %v, want %v", spent, want)
	}
}
