//go:build !race

// The race detector makes 2^31 draws take a minute, and they meet no more of
// the pool than the tests next to this one.

package sum

import (
	"math"
	"testing"

	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// TestCountOfTheLargestTimes draws 2^31−1 numbers, which takes a second or two.
func TestCountOfTheLargestTimes(t *testing.T) {
	needs.Long(t, "it draws 2^31-1 numbers")
	p := testPool(t, Options{})
	got, err := p.Count(t.Context(), math.MaxInt32)
	fatal.If(t, err)
	// Which worker draws which chunk is a matter of scheduling, so the sum is
	// not fixed; six standard errors are passed once in 500 million runs.
	mean, deviation := 50.*math.MaxInt32, math.Sqrt(833.5*math.MaxInt32)
	if z := (float64(got) - mean) / deviation; math.Abs(z) > 6 {
		t.Errorf("sum %d is %.1f standard errors from %.0f", got, z, mean)
	}
	if _, drawn := p.Load(); drawn != math.MaxInt32 {
		t.Errorf("%d draws were made, want %d", drawn, math.MaxInt32)
	}
}
