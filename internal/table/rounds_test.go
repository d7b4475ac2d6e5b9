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
	if got := r.Ratio("m", "a", "b"); got != 3 {
		t.Errorf("ratio %v, want the median of 2, 4 and 3", got)
	}
	if got := r.Difference("m", "a", "b"); got != 30 {
		t.Errorf("difference %v, want the median of 5, 30 and 60", got)
	}
	if got := r.Ratio("m", "a", "missing"); !math.IsNaN(got) {
		t.Errorf("ratio to nobody: %v", got)
	}
	if got := len(tb.Rows()); got != 6 {
		t.Errorf("%d rows, want one for each value", got)
	}
}

// A round without a figure must not shift the later ones against another's.
func TestRatioKeepsToRoundsWithoutAFigure(t *testing.T) {
	r, tb := Rounds{}, New("t")
	for i, v := range []float64{math.NaN(), 40, 90} {
		r.Add(tb, "a", "m", v, "us")
		r.Add(tb, "b", "m", []float64{5, 10, 30}[i], "us")
	}
	if got := r.Ratio("m", "a", "b"); got != 3.5 {
		t.Errorf("ratio %v, want the median of 4 and 3", got)
	}
	if got := r.Median("a", "m"); got != 65 {
		t.Errorf("median %v, want that of 40 and 90", got)
	}
	if got := len(tb.Rows()); got != 5 {
		t.Errorf("%d rows, want one for each number", got)
	}
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
	if err := Pinned(t.Context(), "envoy", tool, "1.40", "--version"); err != nil {
		t.Error(err)
	}
	t.Setenv(AnyPeers, "1")
	if err := Pinned(t.Context(), "tool", tool, "9.9", "-v"); err != nil {
		t.Error(err)
	}
}
