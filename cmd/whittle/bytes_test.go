package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"whittle/internal/fatal"
)

// TestARunPassesOnInBytes: what the parts of a running gateway ask for does not keep
// requests from the cheapest way, unless they look at the request.
func TestARunPassesOnInBytes(t *testing.T) {
	m := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }))
	defer m.Close()
	for _, tt := range []struct {
		name, more string
		want       float64
	}{
		{"nothing else", "", 3},
		{"an admin port", "admin: 127.0.0.1:0\n", 3},
		{"a route of others", "routes:\n  - {match: GET /b, candidate: " + m.URL + "}\n", 3},
		{"a route without a candidate", "routes:\n  - {match: GET /a}\n", 3},
		{"all recorded", "record: {sample: 100%}\n", 0},
		{"a route recorded", "record: {sample: 0%}\nroutes:\n  - {match: GET /a, record: 100%}\n", 0},
		{"none recorded", "record: {sample: 0%}\n", 3},
		{"an access log", "log: {access: true}\n", 3},
	} {
		if !strings.Contains(tt.more, "admin:") {
			tt.more = "admin: off\n" + tt.more
		}
		t.Run(tt.name, func(t *testing.T) {
			h := runs(t, fmt.Sprintf("listen: 127.0.0.1:0\nmonolith: %s\n%s", m.URL, tt.more))
			for range 3 {
				h.asks("/a")
			}
			http.DefaultClient.CloseIdleConnections() // else the end would wait for them
			h.ends()                                  // a request is counted behind its response
			if got := metricOf(t, h.d.gateway, "whittle_requests_in_bytes_total"); got != tt.want {
				t.Errorf("%v of 3 requests in bytes, want %v", got, tt.want)
			}
		})
	}
}

// metricOf is the value of a metric that has no labels.
func metricOf(t *testing.T, c prometheus.Collector, name string) float64 {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	fatal.If(t, err)
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}
