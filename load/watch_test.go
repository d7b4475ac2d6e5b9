package load

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

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
