package cpu

import (
	"strings"
	"testing"
	"time"

	"whittle"
)

func TestMetricsPage(t *testing.T) {
	for _, c := range []struct {
		page  string
		want  time.Duration
		wrong string
	}{
		{"# HELP process_cpu_seconds_total x\nprocess_cpu_seconds_total 12.5\n", 12500 * time.Millisecond, ""},
		{"process_cpu_seconds_total{worker=\"1\"} 1\nprocess_cpu_seconds_total{worker=\"a } 2\"} 2.25 1700000000\n", 3250 * time.Millisecond, ""},
		{"process_cpu_seconds_total_other 4\nprocess_cpu_seconds_total\t1e-3", time.Millisecond, ""},
		{"", 0, "no process_cpu_seconds_total"},
		{"process_cpu_seconds_total NaN", 0, "NaN"},
		{"process_cpu_seconds_total -1", 0, "-1"},
		{"process_cpu_seconds_total +Inf", 0, "Inf"},
		{"process_cpu_seconds_total 1e300", 0, "seconds"},
		{"process_cpu_seconds_total{x=\"1", 0, "without an end"},
		{"process_cpu_seconds_total ", 0, "no value"},
	} {
		got, err := parseMetricsPage([]byte(c.page))
		if got != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%q: %v, %v; want %v, %q", c.page, got, err, c.want, c.wrong)
		}
	}
}

func FuzzMetricsPage(f *testing.F) {
	f.Add([]byte("process_cpu_seconds_total{a=\"}\"} 2 17\n"))
	f.Add([]byte("process_cpu_seconds_total 12\nprocess_cpu_seconds_total 1e9"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, err := parseMetricsPage(b); err == nil && (d < 0 || d > 1e9*time.Second) {
			t.Errorf("%q: %v", b, d)
		}
	})
}

func TestTheNumberOfPagesIsBounded(t *testing.T) {
	_, err := OpenSources(t.Context(), make([]string, maxPages+1))
	if whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("too many pages: %v", err)
	}
}
