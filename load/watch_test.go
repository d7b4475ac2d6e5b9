package load

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
)

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
}

// spin uses the processor.
func spin() {
	var h uint64 = 1469598103934665603
	for i := range uint64(400_000) {
		h = (h ^ i) * 1099511628211
	}
	if h == 0 {
		panic("the sum of nothing")
	}
}

func TestAProfileGivesCPUPerRequest(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) { spin() })
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	p := parsed(t, "config: {phases: [{duration: 1, arrivalRate: 200}]}\nscenarios: [{flow: [{get: {url: /}}]}]")
	r := run(t, p, Options{Target: srv.URL, WatchURLs: []string{srv.URL + "/debug/pprof/"}, MaxLate: time.Minute})
	if len(r.Processes) != 1 || !(r.CPUPerRequest > 0) || r.Processes[0].CPU > 1e4 || r.Processes[0].Ended {
		t.Errorf("%+v, %v ms per request", r.Processes, r.CPUPerRequest)
	}
	if !strings.HasSuffix(r.Processes[0].Name, "/debug/pprof/profile") || !strings.Contains(strings.Join(r.Warnings, " "), "samples: right to about") {
		t.Errorf("%s, %q", r.Processes[0].Name, r.Warnings)
	}
}

func TestWhatGivesNoProfileIsRefusedBeforeAnythingIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		code  whittle.Code
		says  string
	}{
		"none":  {http.NotFound, whittle.Unavailable, "404"},
		"busy":  {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "cpu profiling already in use", 500) }, whittle.Unavailable, "already in use"},
		"other": {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }, whittle.Invalid, "profile"},
	} {
		srv := httptest.NewServer(c.serve)
		_, err := Run(t.Context(), parsed(t, fivePlan), Options{Target: "http://127.0.0.1:1", WatchURLs: []string{srv.URL + "/debug/pprof"}})
		if whittle.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		srv.Close()
	}
}
