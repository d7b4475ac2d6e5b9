package load

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
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

// cpuPage says that each reading costs a second of CPU.
func cpuPage() *httptest.Server {
	var n atomic.Int64
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "process_cpu_seconds_total %d\n", n.Add(1))
	}))
}

func TestAMetricsPageGivesCPUPerRequest(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	page := cpuPage()
	defer page.Close()
	p := parsed(t, "config: {phases: [{duration: 0.1, arrivalCount: 10}]}\nscenarios: [{flow: [{get: {url: /}}]}]")
	r := run(t, p, Options{Target: srv.URL, WatchURLs: []string{page.URL}})
	if len(r.Processes) != 1 || r.Processes[0].CPU < 1000 || r.CPUPerRequest != r.Processes[0].CPU/10 || r.Processes[0].Ended {
		t.Errorf("%+v, %v ms per request", r.Processes, r.CPUPerRequest)
	}
	if !strings.HasSuffix(r.Processes[0].Name, "/metrics") {
		t.Errorf("the page is %s", r.Processes[0].Name)
	}
}

func TestAPageWithoutTheCounterIsRefusedBeforeAnythingIsSent(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	for _, u := range []string{srv.URL, "ftp://x/metrics", "http://127.0.0.1:1/metrics"} {
		_, err := Run(t.Context(), parsed(t, fivePlan), Options{Target: "http://127.0.0.1:1", WatchURLs: []string{u}})
		if code := whittle.CodeOf(err); code != whittle.Invalid && code != whittle.Unavailable {
			t.Errorf("%s: %v", u, err)
		}
	}
	_, err := openPages(context.Background(), make([]string, maxPages+1))
	if whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("too many pages: %v", err)
	}
}
