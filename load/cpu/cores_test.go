package cpu

import (
	"slices"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

func TestCores(t *testing.T) {
	before, err := parseCores([]byte("cpu  9 9 9 9\ncpu0 10 0 5 80 5 0 0 0 3 1\ncpu1 0 0 0 100 0\nintr 5\n"))
	fatal.If(t, err)
	now, err := parseCores([]byte("cpu0 60 0 30 95 5 10 0 0\ncpu1 0 0 0 90 0 0 0 25\n"))
	fatal.If(t, err)
	// Core 0: 85 of 100 ticks. Core 1: idle time ran backwards.
	if got := Busy(Since(before, now)); !slices.Equal(got, []float64{.85, 1}) {
		t.Errorf("busy parts %v", got)
	}
	if got := Since(before, now[:1]); got != nil {
		t.Errorf("a core went, and the others say %v", got)
	}
	sum := Sum(Sum(nil, []Core{{1, 4}}), []Core{{1, 4}})
	if got := Busy(sum); got[0] != .25 {
		t.Errorf("two spans: %v", got)
	}
	for _, bad := range []string{"cpu0 1 2 3", "cpu0 1 2 x 4"} {
		if _, err := parseCores([]byte(bad)); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
	many, err := parseCores([]byte(strings.Repeat("cpu7 1 1 1 1\n", 500)))
	if err != nil || len(many) != maxCores {
		t.Errorf("%d cores, %v", len(many), err)
	}
}

func FuzzCores(f *testing.F) {
	f.Add([]byte("cpu0 10 0 5 80 5 0 0 0 3 1\n"), []byte("cpu0 20 0 5 80 5 0 0 0 3 1\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		before, err := parseCores(a)
		if err != nil {
			return
		}
		now, err := parseCores(b)
		if err != nil {
			return
		}
		for _, p := range Busy(Since(before, now)) {
			if !(p >= 0 && p <= 1) {
				t.Errorf("a core is %v busy", p)
			}
		}
	})
}
