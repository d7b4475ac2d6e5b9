package latency

import (
	"encoding/json"
	"fmt"
	"time"
)

// Snapshot is a histogram in eleven figures. The zero value says that nothing was
// recorded.
type Snapshot struct {
	Count                         int64
	Min, Mean                     time.Duration
	P50, P75, P90, P95, P99, P999 time.Duration
	Max                           time.Duration
	// Below and Above are how many of Count were out of range.
	Below, Above int64
}

// Snapshot sums the histogram up.
func (h *Histogram) Snapshot() Snapshot {
	return Snapshot{
		Count: h.Count(), Min: h.min, Mean: h.Mean(), Max: h.max,
		P50: h.Quantile(.5), P75: h.Quantile(.75), P90: h.Quantile(.9), P95: h.Quantile(.95),
		P99: h.Quantile(.99), P999: h.Quantile(.999),
		Below: h.below, Above: h.above,
	}
}

// snapshotJSON is a snapshot in milliseconds, as people read latencies.
type snapshotJSON struct {
	Count int64   `json:"count"`
	Min   float64 `json:"min_ms"`
	Mean  float64 `json:"mean_ms"`
	P50   float64 `json:"p50_ms"`
	P75   float64 `json:"p75_ms"`
	P90   float64 `json:"p90_ms"`
	P95   float64 `json:"p95_ms"`
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p99_9_ms"`
	Max   float64 `json:"max_ms"`
	Below int64   `json:"below,omitempty"`
	Above int64   `json:"above,omitempty"`
}

// Milliseconds returns a duration in milliseconds, rounded to a microsecond.
func Milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1e3
}

func fromMilliseconds(ms float64) time.Duration { return time.Duration(ms*1e6 + .5) }

// MarshalJSON writes milliseconds: {"count":3,"min_ms":1.2,…}.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	return json.Marshal(snapshotJSON{
		s.Count, Milliseconds(s.Min), Milliseconds(s.Mean), Milliseconds(s.P50), Milliseconds(s.P75), Milliseconds(s.P90),
		Milliseconds(s.P95), Milliseconds(s.P99), Milliseconds(s.P999), Milliseconds(s.Max), s.Below, s.Above,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Snapshot) UnmarshalJSON(b []byte) error {
	var j snapshotJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("read latency figures: %w", err)
	}
	*s = Snapshot{
		j.Count, fromMilliseconds(j.Min), fromMilliseconds(j.Mean), fromMilliseconds(j.P50), fromMilliseconds(j.P75), fromMilliseconds(j.P90),
		fromMilliseconds(j.P95), fromMilliseconds(j.P99), fromMilliseconds(j.P999), fromMilliseconds(j.Max), j.Below, j.Above,
	}
	return nil
}
