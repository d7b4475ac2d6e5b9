package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"whittle/internal/latency"
)

// WriteCSV writes a row for each request's name and one for all of them, with a head.
// Latencies are milliseconds from the intended time.
func (r *Report) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	rows := [][]string{{
		"name", "requests", "completed", "failed", "bytes_sent", "bytes_received", "min_ms", "mean_ms", "p50_ms", "p75_ms", "p90_ms", "p95_ms", "p99_ms", "p99_9_ms", "max_ms",
	}}
	row := func(name string, counts []int64, s latency.Snapshot) {
		// A spreadsheet would compute what begins with one of these.
		if name != "" && strings.ContainsAny(name[:1], "=+-@\t\r") {
			name = "'" + name
		}
		out := []string{name}
		for _, n := range counts {
			out = append(out, strconv.FormatInt(n, 10))
		}
		for _, d := range []time.Duration{s.Min, s.Mean, s.P50, s.P75, s.P90, s.P95, s.P99, s.P999, s.Max} {
			text := ""
			if s.Count > 0 {
				text = strconv.FormatFloat(latency.Milliseconds(d), 'f', 3, 64)
			}
			out = append(out, text)
		}
		rows = append(rows, out)
	}
	for _, n := range r.Names {
		row(n.Name, []int64{n.Requests, n.Completed, n.Failed, n.Sent, n.Received}, n.Intended)
	}
	row("all", []int64{r.Requests, r.Completed, r.Failed, r.Sent, r.Received}, r.Latency.Intended)
	return c.WriteAll(rows)
}
