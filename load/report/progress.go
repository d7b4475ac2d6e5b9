package report

import (
	"fmt"
	"time"

	"whittle/internal/latency"
)

// Progress is the progress of a run.
type Progress struct {
	Elapsed time.Duration
	// Left until the last arrival; 0 when only users under way remain.
	Left time.Duration
	// Phase is the phase in force, from 0, and its name.
	Phase     int
	PhaseName string
	// Arrivals started, and Skipped because too many were under way.
	Arrivals, Skipped int64
	// Requests that ended: Completed with a complete response of any status;
	// Failed by any error kind, a 5xx included.
	Requests, Completed, Failed int64
	InFlight                    int64
	// Rate is responses per second since the last progress.
	Rate float64
	// Recent are the latencies, from the intended times, of the last 5 s.
	Recent latency.Snapshot
}

// String is one line about a run under way.
func (p Progress) String() string {
	s := fmt.Sprintf("%6s  %7.1f/s  in flight %d  completed %d  failed %d  p50 %s ms  p99 %s ms",
		p.Elapsed.Round(time.Second), p.Rate, p.InFlight, p.Completed, p.Failed,
		milliseconds(p.Recent.P50), milliseconds(p.Recent.P99))
	if p.Left > 0 {
		s += fmt.Sprintf("  %s left", p.Left.Round(time.Second))
	}
	return s
}
