package report

import (
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/latency"
)

func TestConditionsToFail(t *testing.T) {
	h := new(latency.Histogram)
	h.RecordN(100*time.Millisecond, 98)
	h.RecordN(400*time.Millisecond, 2)
	run := func() *Report {
		return &Report{Requests: 100, Completed: 100, Failed: 2, Rate: 50, Histograms: Histograms{Intended: h}}
	}
	silent := func() *Report {
		return &Report{Requests: 10, Failed: 10, Histograms: Histograms{Intended: new(latency.Histogram)}}
	}
	for _, c := range []struct {
		text string
		of   func() *Report
		want string // part of the error; empty: none
	}{
		{"p99 > 200ms", run, "the condition p99 > 200ms holds: it is 4"},
		{"p99>1s", run, ""},
		{"median >= 100ms", run, "holds: it is 100"},
		{"p50 < 99ms", run, ""},
		{"mean > 0.2s", run, ""},
		{"errors > 1%", run, "the condition errors > 1% holds: it is 2"},
		{"errors > 2 %", run, ""},
		{"errors >= 2", run, "holds: it is 2"},
		{"rate < 49.5", run, ""},
		{"rate <= 50", run, "holds: it is 50"},
		{"responses < 100", run, ""},
		{"requests < 101", run, "holds: it is 100"},
		{"cpu > 1", run, "cannot be decided: no process was watched"},
		{"p99 < 1h", silent, "cannot be decided: there was no response"},
	} {
		conditions, err := ParseFailIf([]string{c.text})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		r := c.of()
		r.CheckFailIf(conditions)
		err = r.Err()
		if c.want == "" && err != nil || c.want != "" && (whittle.CodeOf(err) != whittle.FallsShort || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
		if said := r.Ensure[0].String(); !strings.HasPrefix(said, "fail if ") || strings.Contains(said, "FAILED") != (c.want != "") {
			t.Errorf("%s: %q", c.text, said)
		}
	}
}

func TestWhatIsNoConditionIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "p99", "p99 > ", "p99 > 200", "p99 > -1s", "p98 > 1ms", "errors > x", "errors > -1", "errors > NaN%", "rate > 5%", "rate > Inf",
		"p99 = 1ms", "p99 >> 1ms", "p99 > 1ms 2ms", "errors > 1e999", strings.Repeat("p", 300) + " > 1",
	} {
		if _, err := ParseFailIf([]string{text}); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}
