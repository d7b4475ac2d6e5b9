package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"whittle/internal/latency"
)

func TestApdexCountsHalfForTheTolerated(t *testing.T) {
	h := new(latency.Histogram)
	h.RecordN(50*time.Millisecond, 60)
	h.RecordN(300*time.Millisecond, 20)
	h.RecordN(900*time.Millisecond, 10)
	// 10 of the 101 have no response to be timed; one was cut off with the run.
	r := &Report{Requests: 101, Unfinished: 1, Histograms: Histograms{Intended: h}}
	r.ComputeApdex(100 * time.Millisecond)
	if want := (ApdexCounts{Threshold: 100, Satisfied: 60, Tolerated: 20, Frustrated: 20}); *r.ApdexCounts != want || *r.Apdex != .7 {
		t.Errorf("%v of %+v, want 0.7 of %+v", *r.Apdex, *r.ApdexCounts, want)
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"apdex":0.7`) || !strings.Contains(string(b), `"satisfied":60`) {
		t.Errorf("%v: %s", err, b)
	}
	var text strings.Builder
	if err := r.WriteSummary(&text); err != nil || !strings.Contains(text.String(), "Apdex 0.70 at 100 ms: 60 satisfied, 20 tolerated, 20 frustrated") {
		t.Errorf("%v:\n%s", err, text.String())
	}
}

func TestApdexOfNothingIsNought(t *testing.T) {
	r := &Report{Histograms: Histograms{Intended: new(latency.Histogram)}}
	if v, ok := r.Metric("apdex"); v != 0 || !ok || r.apdexLine() != "" {
		t.Errorf("%v, %v", v, ok)
	}
	r.ComputeApdex(time.Second)
	if b, err := json.Marshal(r); err != nil || !strings.Contains(string(b), `"apdex":0,`) {
		t.Errorf("%v: %s", err, b)
	}
}
