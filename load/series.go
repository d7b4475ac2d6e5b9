package load

import (
	"math"
	"strconv"
	"time"

	"whittle/internal/latency"
	"whittle/load/cpu"
	"whittle/load/report"
)

func cores(used, span time.Duration) float64 {
	return thousandths(float64(used) / float64(span))
}

func thousandths(f float64) float64 { return math.Round(f*1e3) / 1e3 }

// points returns the series as the report shows it.
func (m *monitor) points() []report.Point {
	windows := m.series.Windows()
	out := make([]report.Point, len(windows))
	for i := range windows {
		out[i] = newPoint(&windows[i], &m.windows[i])
	}
	return out
}

func newPoint(w *latency.Window, c *windowCounts) report.Point {
	p := report.Point{
		At: w.Start.Seconds(), Width: w.Width.Seconds(), Span: thousandths(c.span.Seconds()),
		Arrivals: c.arrivals, Completed: c.completed, Failed: c.failed, InFlight: c.inFlight,
		Requests: c.counts.requests, Finished: c.counts.finished, UsersFailed: c.counts.failed, Skipped: c.counts.skipped,
		Received: c.counts.received, Late: latency.Milliseconds(c.lateness), Cores: cpu.Busy(c.cores),
		Timed: w.Count, Min: latency.Milliseconds(w.Min), Mean: latency.Milliseconds(w.Mean), Max: latency.Milliseconds(w.Max),
		P50: latency.Milliseconds(w.P50), P75: latency.Milliseconds(w.P75), P90: latency.Milliseconds(w.P90),
		P95: latency.Milliseconds(w.P95), P99: latency.Milliseconds(w.P99), P999: latency.Milliseconds(w.P999),
	}
	if c.span > 0 {
		p.GeneratorCores = cores(c.generatorCPU, c.span)
		p.WatchedCores = cores(c.watchedCPU, c.span)
	}
	for code, n := range c.counts.codes {
		if p.Codes == nil {
			p.Codes = map[string]int64{}
		}
		p.Codes[strconv.Itoa(code)] = n
	}
	if len(c.counts.errors) > 0 {
		p.Errors = c.counts.errors
	}
	return p
}
