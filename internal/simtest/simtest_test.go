package simtest

import (
	"math"
	"testing"
)

func TestTail(t *testing.T) {
	for _, c := range []struct {
		k, n int
		p    float64
		want float64
	}{{0, 10, 0.1, 1 - math.Pow(0.9, 10)}, {9, 10, 0.5, math.Pow(0.5, 10)}, {10, 10, 0.5, 0}} {
		if got := tail(c.k, c.n, c.p); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("more than %d of %d at %v: %v, want %v", c.k, c.n, c.p, got, c.want)
		}
	}
}
