package cputime

import (
	"math"
	"os"
	"testing"

	"whittle/internal/fatal"
)

func TestOfGrowsWithWork(t *testing.T) {
	before, err := Of(os.Getpid())
	fatal.If(t, err)
	x := 1.
	for range 1_000_000 {
		x = math.Sqrt(x + 1)
	}
	after, err := Of(os.Getpid())
	if err != nil || after <= before || x < 1 {
		t.Errorf("before %v, after %v, %v", before, after, err)
	}
	if _, err := Of(1 << 23); err == nil {
		t.Error("a process id above any has a CPU clock")
	}
}
