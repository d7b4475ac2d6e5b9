package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"whittle/internal/fatal"
)

// What V8 inlined counts for its caller, and the collector for whoever was interrupted: the
// request that goes on after it where nothing ran before.
func TestTheTruthOfV8(t *testing.T) {
	type node struct {
		ID        int            `json:"id"`
		CallFrame map[string]any `json:"callFrame"`
		Children  []int          `json:"children,omitempty"`
	}
	call := func(name string) map[string]any { return map[string]any{"functionName": name} }
	samples := []int{2, 6, 3, 4, 6, 2, 6, 2, 5, 2} // idle, collector, handler, planted, collector, …, other
	deltas := make([]float64, len(samples)+1)
	for i := range deltas {
		deltas[i] = 5000
	}
	text, err := json.Marshal(map[string]any{
		"nodes": []node{
			{1, call("(root)"), []int{2, 3, 5, 6}},
			{2, call("(idle)"), nil},
			{3, call("handler"), []int{4}},
			{4, call("planted"), nil},
			{5, call("other"), nil},
			{6, call("(garbage collector)"), nil},
		},
		"samples": samples, "timeDeltas": deltas, "startTime": 0, "endTime": 60_000,
	})
	fatal.If(t, err)
	file := filepath.Join(t.TempDir(), "x.cpuprofile")
	fatal.If(t, os.WriteFile(file, text, 0o600))
	s := &service{}
	s.Planted.Function = "planted"
	var got truth
	fatal.If(t, s.readV8(file, time.Minute, &got))
	want := truth{below: 4, rest: 1, collects: 1, allocatesBelow: 2, allocates: 2}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	got.mix = 1
	if share, n := got.share(1); math.Abs(share-5.5/6) > 1e-9 || n != 6 {
		t.Errorf("a share of %.3f by %d samples", share, n)
	}
}

// The interval of a difference holds the difference, and narrows with the samples.
func TestADifferenceHasAnInterval(t *testing.T) {
	wide := 2.0
	for _, n := range []int64{30, 300, 3000} {
		low, high := difference(0.9, n, 0.85, n)
		if low > 0.05 || high < 0.05 || high-low >= wide {
			t.Errorf("%d samples: %.3f to %.3f", n, low, high)
		}
		wide = high - low
	}
	if low, high := difference(0.9, 1000, 0.9, 0); low < -0.03 || high > 0.03 {
		t.Errorf("of a known share: %.3f to %.3f", low, high)
	}
}
