package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/cpuwatch"
	"whittle/internal/listening"
)

// metricsPage is a process that has used more each time it is asked.
func metricsPage(t *testing.T, cost float64) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		fmt.Fprintf(w, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total %f\n# TYPE http_requests_total counter\nhttp_requests_total %d\n", float64(n)*100*cost, n*100)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/metrics", asked
}

// TestCPUWatchFeedsTheGuard wires a whole deployment, and reads two pages in
// its place.
func TestCPUWatchFeedsTheGuard(t *testing.T) {
	monolith, asked := metricsPage(t, 0.01)
	candidate, _ := metricsPage(t, 0.03)
	absent := httptest.NewServer(http.NotFoundHandler())
	defer absent.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	text := `
listen: 127.0.0.1:0
admin: off
state: ` + filepath.Join(t.TempDir(), "whittle.db") + `
monolith: {url: http://127.0.0.1:1, metrics: "` + monolith + `"}
routes:
  - {match: GET /a, candidate: {url: "http://127.0.0.1:1", metrics: "` + candidate + `"}, guard: {cpu: 1.1x}}
  - {match: GET /b, candidate: {url: "http://127.0.0.1:1", metrics: "` + absent.URL + `"}, guard: {cpu: 1.1x}}
  - {match: GET /c, candidate: {url: "http://127.0.0.1:1", metrics: "` + absent.URL + `/never"}}
`
	f, err := config.Parse("whittle.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	d, err := open(t.Context(), f, slog.New(slog.NewTextHandler(&said, nil)), inherited{sockets: &listening.Set{}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.abandon()
	d.control.Start()
	decide, stop := context.WithCancel(t.Context())
	decided := make(chan error, 1)
	go func() { decided <- d.control.Run(decide) }()
	<-d.control.Running()

	w := d.cpuWatch()
	w.Config = func() *config.File { return f }
	for range 5 {
		w.Look(t.Context())
	}
	stop() // saves what is known, so that the status shows it
	if err := <-decided; err != nil {
		t.Fatal(err)
	}
	s, err := d.control.Route("GET /a")
	if err != nil || s.Monolith.CPU != 10_000 || s.Candidate.CPU != 30_000 {
		t.Errorf("%+v, %+v, %v", s.Monolith, s.Candidate, err)
	}
	if m := s.Guards[len(s.Guards)-1]; m.Name != "cpu" || m.Breached || m.Count != 0 {
		t.Errorf("nobody depends on it, and the guard says %+v", m)
	}
	if s, err := d.control.Route("GET /b"); err != nil || s.Candidate.CPU != 0 {
		t.Errorf("without a page: %+v, %v", s.Candidate, err)
	}
	if n := asked.Load(); n != 5 {
		t.Errorf("the monolith's page was read %d times for two routes, want once a turn", n)
	}
	if n := strings.Count(said.String(), "the guard of CPU per request reads nothing"); n != 1 {
		t.Errorf("complained %d times: %s", n, said.String())
	}
}

func TestCPUWatchReadsNothingUnasked(t *testing.T) {
	f := &config.File{Routes: []whittle.Route{{Name: "GET /a"}}}
	w := &cpuwatch.Watch{Config: func() *config.File { return f }, Reading: func(route string, _ whittle.CPUReading) { t.Error(route) }}
	w.Look(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx); err != nil {
		t.Error(err)
	}
}
