package rank

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"whittle/profile/report"
)

// head are the columns of rows.
var head = []string{"endpoint", "CPU", "CPU a request", "requests", "p50", "p99", "event loop blocked"}

// rows are the endpoints as a table, what belongs to none of them last.
func (r *Ranking) rows() [][]string {
	var rows [][]string
	for _, e := range r.Endpoints {
		blocked, requests := "–", "–"
		if e.Longest > 0 {
			blocked = fmt.Sprintf("%.0f %% of the time, up to %s", 100*e.Blocking, took(e.Longest))
		}
		if e.Requests > 0 { // otherwise nothing counted them
			requests = strconv.FormatInt(e.Requests, 10)
		}
		rows = append(rows, []string{
			e.Endpoint, fmt.Sprintf("%.1f %% (%.0f to %.0f)", 100*e.Share, 100*e.Low, 100*e.High), took(e.CPUPerRequest), requests, took(e.P50), took(e.P99), blocked,
		})
	}
	if r.Unknown > 0 {
		rows = append(rows, []string{report.NoRequest, fmt.Sprintf("%.1f %%", 100*r.Unknown), "–", "–", "–", "–", "–"})
	}
	return rows
}

// words are the message: what to carve first, or why that is not said.
func (r *Ranking) words() string {
	if r.Advice != "" {
		return r.Advice
	}
	return "No advice: " + r.NoAdvice + "."
}

// WriteSummary writes the ranking for a terminal. What is missing for an advice is the
// hint of the error that ends the program.
func (r *Ranking) WriteSummary(w io.Writer) error {
	if rows := r.rows(); len(rows) > 0 {
		fmt.Fprintf(w, "\n%s\n\n", r.words())
		report.WriteTable(w, head, rows)
		fmt.Fprintf(w, "\n  %d samples; in brackets what the share is with 95 %% confidence%s\n", r.Samples, report.LinesWords(r.Lines))
	}
	for _, b := range r.Blocked {
		fmt.Fprintf(w, "\n  %s\n", b)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "\nnote: %s\n", warning)
	}
	return nil
}

func took(ms float64) string {
	if ms == 0 {
		return "–"
	}
	return time.Duration(ms * float64(time.Millisecond)).Round(10 * time.Microsecond).String()
}
