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

// Figures are a snapshot's latencies in milliseconds, as people read them. Where nothing was
// recorded they are 0.
type Figures struct {
	Min  float64 `json:"min_ms"`
	Mean float64 `json:"mean_ms"`
	P50  float64 `json:"p50_ms"`
	P75  float64 `json:"p75_ms"`
	P90  float64 `json:"p90_ms"`
	P95  float64 `json:"p95_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p99_9_ms"`
	Max  float64 `json:"max_ms"`
}

// snapshotJSON is a snapshot as JSON.
type snapshotJSON struct {
	Count int64 `json:"count"`
	Figures
	Below int64 `json:"below,omitempty"`
	Above int64 `json:"above,omitempty"`
}

// Milliseconds returns a duration in milliseconds, rounded to a microsecond.
func Milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1e3
}

func fromMilliseconds(ms float64) time.Duration { return time.Duration(ms*1e6 + .5) }

// Figures gives the latencies in milliseconds.
func (s *Snapshot) Figures() Figures {
	ms := Milliseconds
	return Figures{ms(s.Min), ms(s.Mean), ms(s.P50), ms(s.P75), ms(s.P90), ms(s.P95), ms(s.P99), ms(s.P999), ms(s.Max)}
}

// MarshalJSON writes milliseconds: {"count":3,"min_ms":1.2,…}.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	return json.Marshal(snapshotJSON{s.Count, s.Figures(), s.Below, s.Above})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Snapshot) UnmarshalJSON(b []byte) error {
	var j snapshotJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("read latency figures: %w", err)
	}
	d := fromMilliseconds
	*s = Snapshot{j.Count, d(j.Min), d(j.Mean), d(j.P50), d(j.P75), d(j.P90), d(j.P95), d(j.P99), d(j.P999), d(j.Max), j.Below, j.Above}
	return nil
}
