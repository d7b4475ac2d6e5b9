package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"whittle"
)

// Bounds on a saved report.
const (
	maxReportBytes = 64 << 20
	maxWindows     = 1000
)

// Read reads a report that was saved as JSON.
func Read(path string) (*Report, error) {
	b, err := whittle.ReadFile("report", path, maxReportBytes)
	if err != nil {
		return nil, err
	}
	r, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read report %s: %w", path, err)
	}
	return r, nil
}

// Parse reads a report's JSON form, of the format that this version
// writes. Errors have the code whittle.Invalid.
func Parse(b []byte) (*Report, error) {
	var r Report
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&r); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "decode: %w", err)
	}
	switch {
	case r.Format != Format:
		return nil, whittle.Errorf(whittle.Invalid, "its format is %q, and only %q is known", r.Format, Format).
			WithHint("save one with whittle load --json")
	case r.Histograms.Intended == nil:
		return nil, whittle.Errorf(whittle.Invalid, "it has no histogram of latencies")
	case len(r.Series) > maxWindows:
		return nil, whittle.Errorf(whittle.Invalid, "it has %d windows, %d at most", len(r.Series), maxWindows)
	}
	for i := range r.Series {
		if p := &r.Series[i]; p.Span < 0 || p.Timed < 0 || p.Completed < 0 {
			return nil, whittle.Errorf(whittle.Invalid, "window %d has counts below 0", i)
		}
	}
	return &r, nil
}
