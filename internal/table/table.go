// Package table stores the figures of one benchmark: a table for people, a JSON
// file of rows for programs, and a description of the machine that they were
// measured on.
package table

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
	"time"
)

// Row is one figure.
type Row struct {
	// Subject is who was measured: "count", "nginx".
	Subject string `json:"subject"`
	// Metric is what was measured; rows of one subject may share a metric, one
	// for each round.
	Metric string `json:"metric"`
	// Value is finite.
	Value float64 `json:"value"`
	// Unit is the metric's unit: "ms", "us", "x" for a ratio.
	Unit string `json:"unit"`
}

// T is a table under construction. It belongs to one goroutine.
type T struct {
	name string
	rows []Row
}

// New starts an empty table; name is the benchmark's, without "bench-".
func New(name string) *T { return &T{name: name} }

// Add appends a row. A value that is not finite (the ratio to a zero) is left
// out, since JSON has no word for it.
func (t *T) Add(subject, metric string, value float64, unit string) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	t.rows = append(t.rows, Row{subject, metric, value, unit})
}

// Rows returns a copy of what was added, in the order of adding.
func (t *T) Rows() []Row { return append([]Row{}, t.rows...) }

// document is the shape of the JSON file.
type document[R any] struct {
	Benchmark string    `json:"benchmark"`
	At        time.Time `json:"at"`
	Machine   Machine   `json:"machine"`
	Rows      []R       `json:"rows"`
}

// Write writes the rows into a folder, as Save does.
func (t *T) Write(dir string) error { return Save(dir, t.name, t.Rows()) }

// Save writes a benchmark's rows, whatever their shape, as dir/bench-NAME.json: whole or
// not at all. It makes dir where it is missing.
func Save[R any](dir, name string, rows []R) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder for results: %w", err)
	}
	out, err := json.MarshalIndent(document[R]{name, time.Now().UTC().Truncate(time.Second), ThisMachine(), rows}, "", "  ")
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	path := filepath.Join(dir, "bench-"+name+".json")
	if err := os.WriteFile(path+".tmp", append(out, '\n'), 0o644); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("put results in place: %w", err)
	}
	return nil
}

// Print writes the machine and the rows for people. What cannot be written is
// the caller's terminal and is not reported.
func (t *T) Print(w io.Writer) {
	m := ThisMachine()
	fmt.Fprintf(w, "bench-%s on %d cores, %s, %s, kernel %s, %d MiB\n\n",
		t.name, m.Cores, m.CPU, m.Go, m.Kernel, m.MemoryMiB)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SUBJECT\tMETRIC\tVALUE\tUNIT")
	for _, r := range t.rows {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", r.Subject, r.Metric, short(r.Value), r.Unit)
	}
	_ = tw.Flush() // fails with w only
}

// short returns four significant digits and no exponent.
func short(v float64) string {
	digits := 0
	if a := math.Abs(v); a > 0 && a < 1000 {
		digits = min(3-int(math.Floor(math.Log10(a))), 9)
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}
