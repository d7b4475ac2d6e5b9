package cpu

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/whittletest"
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

// serve gives a metrics page whose body is what page returns.
func serve(t *testing.T, page func() string) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page()) }))
	t.Cleanup(s.Close)
	return s.URL
}

// TestAPageIsReadWholeOrNotAtAll: a cut page may have a part of the processes, or of a number.
func TestAPageIsReadWholeOrNotAtAll(t *testing.T) {
	at := serve(t, func() string {
		return cpuMetric + " 1\n" + strings.Repeat("#", maxPageBytes-len(cpuMetric)-6) + "\n" + cpuMetric + " 2\n"
	})
	_, err := Open(t.Context(), nil, []string{at})
	whittletest.Refused(t, err, whittle.ResourceExhausted, "a page that is too long")
}

// TestAPageShowsNoPassword: its name is in reports and in errors.
func TestAPageShowsNoPassword(t *testing.T) {
	at := strings.Replace(serve(t, func() string { return cpuMetric + " 1\n" }), "://", "://me:secret@", 1)
	if all, err := Open(t.Context(), nil, []string{at}); err != nil || strings.Contains(all[0].Name, "secret") {
		t.Errorf("%v: the page is %v", err, all)
	}
	if _, err := Open(t.Context(), nil, []string{"http://me:secret@127.0.0.1:1"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a page that is not there: %v", err)
	}
}

// TestAProcessThatWasReplacedStaysEnded: the counter of the one after it is another.
func TestAProcessThatWasReplacedStaysEnded(t *testing.T) {
	readings := []string{"10", "12", "1", "30"}
	all, err := Open(t.Context(), nil, []string{serve(t, func() string {
		next := readings[0]
		readings = readings[1:]
		return cpuMetric + " " + next + "\n"
	})})
	fatal.If(t, err)
	for range 3 {
		all[0].sample(t.Context())
	}
	if used, gone := all[0].Used(); used != 2*time.Second || !gone {
		t.Errorf("%v, gone %t; want 2s of the first process, which has ended", used, gone)
	}
}

func TestCores(t *testing.T) {
	before, err := parseCores([]byte("cpu  9 9 9 9\ncpu0 10 0 5 80 5 0 0 0 3 1\ncpu1 0 0 0 100 0\nintr 5\n"))
	fatal.If(t, err)
	now, err := parseCores([]byte("cpu0 60 0 30 95 5 10 0 0\ncpu1 0 0 0 90 0 0 0 25\n"))
	fatal.If(t, err)
	// Core 0: 85 of 100 ticks. Core 1: idle time ran backwards.
	fatal.Same(t, Busy(Since(before, now)), []float64{.85, 1}, "busy parts")
	if got := Since(before, now[:1]); got != nil {
		t.Errorf("a core went, and the others say %v", got)
	}
	sum := Sum(Sum(nil, []Core{{1, 4}}), []Core{{1, 4}})
	if got := Busy(sum); got[0] != .25 {
		t.Errorf("two spans: %v", got)
	}
	for _, bad := range []string{"cpu0 1 2 3", "cpu0 1 2 x 4"} {
		if _, err := parseCores([]byte(bad)); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
	many, err := parseCores([]byte(strings.Repeat("cpu7 1 1 1 1\n", 500)))
	if err != nil || len(many) != maxCores {
		t.Errorf("%d cores, %v", len(many), err)
	}
}

func FuzzCores(f *testing.F) {
	f.Add([]byte("cpu0 10 0 5 80 5 0 0 0 3 1\n"), []byte("cpu0 20 0 5 80 5 0 0 0 3 1\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		before, err := parseCores(a)
		if err != nil {
			return
		}
		now, err := parseCores(b)
		if err != nil {
			return
		}
		for _, p := range Busy(Since(before, now)) {
			if !(p >= 0 && p <= 1) {
				t.Errorf("a core is %v busy", p)
			}
		}
	})
}
