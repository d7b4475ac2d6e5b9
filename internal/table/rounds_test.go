package table

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"whittle/internal/fatal"
)

func TestRatioIsByRound(t *testing.T) {
	r, tb := Rounds{}, New("t")
	for i, v := range []float64{10, 40, 90} {
		r.Add(tb, "a", "m", v, "us")
		r.Add(tb, "b", "m", []float64{5, 10, 30}[i], "us")
	}
	fatal.Same(t, r.Ratio("m", "a", "b"), 3, "ratio")
	fatal.Same(t, r.Difference("m", "a", "b"), 30, "difference")
	if got := r.Ratio("m", "a", "missing"); !math.IsNaN(got) {
		t.Errorf("ratio to nobody: %v", got)
	}
	fatal.Same(t, len(tb.Rows()), 6, "rows")
}

// A round without a figure must not shift the later ones against another's.
func TestRatioKeepsToRoundsWithoutAFigure(t *testing.T) {
	r, tb := Rounds{}, New("t")
	for i, v := range []float64{math.NaN(), 40, 90} {
		r.Add(tb, "a", "m", v, "us")
		r.Add(tb, "b", "m", []float64{5, 10, 30}[i], "us")
	}
	fatal.Same(t, r.Ratio("m", "a", "b"), 3.5, "ratio")
	fatal.Same(t, r.Median("a", "m"), 65, "median")
	fatal.Same(t, len(tb.Rows()), 5, "rows")
}

func TestPeersArePinned(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "tool")
	// As wrk does, it fails when it is asked.
	fatal.If(t, os.WriteFile(tool, []byte("#!/bin/sh\necho 'tool debian/4.1.0-3 [epoll] 2012.5'\nexit 1\n"), 0o700))
	t.Setenv(AnyPeers, "")
	for want, ok := range map[string]bool{"4.1.0": true, "4.1": true, "4": true, "4.1.1": false, "4.10": false, "": true} {
		if err := Pinned(t.Context(), "tool", tool, want, "-v"); (err == nil) != ok {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := Pinned(t.Context(), "nothing", tool+"-none", "1.0"); err == nil {
		t.Error("a tool that is not there is of every version")
	}
	// As Envoy does, it says where it is before it says what it is.
	fatal.If(t, os.WriteFile(tool, []byte("#!/bin/sh\necho '/opt/versions/3.11.7/bin/envoy  version: 9e558/1.40.0/Clean'\n"), 0o700))
	fatal.If(t, Pinned(t.Context(), "envoy", tool, "1.40", "--version"))
	t.Setenv(AnyPeers, "1")
	fatal.If(t, Pinned(t.Context(), "tool", tool, "9.9", "-v"))
}
