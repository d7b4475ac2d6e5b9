package report

import (
	"fmt"
	"time"

	"whittle/internal/latency"
)

// ApdexCounts are the counts of an Apdex index (Apdex Alliance, technical
// specification 1.1): requests whose latency from the intended time is within
// the threshold satisfy, those within four times it are tolerated and count
// half, all others frustrate, and so do those without a response.
type ApdexCounts struct {
	Threshold  float64 `json:"threshold_ms"`
	Satisfied  int64   `json:"satisfied"`
	Tolerated  int64   `json:"tolerated"`
	Frustrated int64   `json:"frustrated"`
}

// ComputeApdex sets the report's Apdex index and its counts.
func (r *Report) ComputeApdex(threshold time.Duration) {
	of := &ApdexCounts{Threshold: latency.Milliseconds(threshold)}
	for _, b := range r.Histograms.Intended.Bars() {
		switch {
		case b.To <= threshold:
			of.Satisfied += b.Count
		case b.To <= 4*threshold:
			of.Tolerated += b.Count
		}
	}
	of.Frustrated = max(r.Requests-r.Unfinished-of.Satisfied-of.Tolerated, 0)
	score := 0.0
	if all := of.Satisfied + of.Tolerated + of.Frustrated; all > 0 {
		score = (float64(of.Satisfied) + float64(of.Tolerated)/2) / float64(all)
	}
	r.Apdex, r.ApdexCounts = &score, of
}

// apdexLine is the index on one line, empty where the plan does not ask for it.
func (r *Report) apdexLine() string {
	if r.Apdex == nil || r.ApdexCounts == nil {
		return ""
	}
	return fmt.Sprintf("Apdex %.2f at %.4g ms: %d satisfied, %d tolerated, %d frustrated",
		*r.Apdex, r.ApdexCounts.Threshold, r.ApdexCounts.Satisfied, r.ApdexCounts.Tolerated, r.ApdexCounts.Frustrated)
}
