package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/internal/fatal"
)

func served(t *testing.T, g *Gateway, r *http.Request) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w.Result()
}

func TestTraceIsPassedOn(t *testing.T) {
	var seen []string
	u := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Traceparent"), r.Header.Get("Tracestate"))
	}))
	defer u.Close()
	g, err := New(Options{
		Monolith: whittle.Upstream{URL: u.URL},
		Routes:   []whittle.Route{{Name: "GET /a", Match: whittle.Match{Method: "GET", Pattern: "/a"}}},
	})
	fatal.If(t, err)
	defer g.Close(context.Background())
	r := httptest.NewRequest(http.MethodGet, "/a", http.NoBody)
	r.Header.Set("Traceparent", "00-parent")
	r.Header.Set("Tracestate", "vendor=1")
	served(t, g, r).Body.Close()
	if got := strings.Join(seen, " "); got != "00-parent vendor=1" {
		t.Errorf("upstream saw %q", got)
	}
}

// TestMetricsCount reads the counters as a scrape does.
func TestMetricsCount(t *testing.T) {
	u := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer u.Close()
	g, err := New(Options{
		Monolith: whittle.Upstream{URL: u.URL},
		Routes:   []whittle.Route{{Name: "/a", Match: whittle.Match{Pattern: "/a"}}},
	})
	fatal.If(t, err)
	defer g.Close(context.Background())
	reg := prometheus.NewPedanticRegistry()
	fatal.If(t, reg.Register(g))
	for _, path := range []string{"/a", "/a", "/missing", "/a"} {
		served(t, g, httptest.NewRequest(http.MethodGet, path, http.NoBody)).Body.Close()
	}
	families, err := reg.Gather()
	fatal.If(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			key := f.GetName()
			for _, l := range m.Label {
				key += " " + l.GetValue()
			}
			got[key] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	for key, want := range map[string]float64{
		"whittle_requests_total 2xx /a": 3, "whittle_requests_total 4xx ": 1, "whittle_request_seconds /a": 3,
		"whittle_request_seconds ": 1, "whittle_requests_running /a": 0,
	} {
		if v, ok := got[key]; !ok || v != want {
			t.Errorf("%s is %v (%v), want %v", key, v, ok, want)
		}
	}
}

func TestReloadKeepsCounting(t *testing.T) {
	routes := []whittle.Route{{Name: "/a", Match: whittle.Match{Pattern: "/a"}}}
	o := Options{Monolith: whittle.Upstream{URL: "http://127.0.0.1:1"}, Routes: routes}
	g, err := New(o)
	fatal.If(t, err)
	ask := func() { served(t, g, httptest.NewRequest(http.MethodGet, "/a", http.NoBody)).Body.Close() }
	ask()
	before := g.table.Load()
	if err := g.Reload(whittle.Upstream{URL: "nonsense"}, routes); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("a bad reload gave %v", err)
	}
	if g.table.Load() != before {
		t.Error("a bad reload changed the table")
	}
	fatal.If(t, g.Reload(o.Monolith, append(routes, whittle.Route{Name: "/b", Match: whittle.Match{Pattern: "/b"}})))
	ask()
	after := g.table.Load()
	if !after.monolith.Same(before.monolith) {
		t.Error("the same monolith lost its connections")
	}
	if n := after.entries[1].meter.class[5].Load(); n != 2 {
		t.Errorf("%d counted over the reload, want 2", n)
	}
	if err := g.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := g.Reload(o.Monolith, nil); whittle.CodeOf(err) != whittle.FailedPrecondition {
		t.Errorf("reload after close gave %v", err)
	}
}

// TestOneHostReachesTheUpstream: an HTTP/2 request may carry a host field as well as its
// authority. Two of them that differ are refused, and of two alike one goes on.
func TestOneHostReachesTheUpstream(t *testing.T) {
	hosts := make(chan string, 1)
	s := open(t, everything(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hosts <- r.Host }), says(http.StatusOK, ""))
	for _, tt := range []struct {
		fields []string
		status int
	}{
		{nil, http.StatusOK},
		{[]string{"A.example"}, http.StatusOK},
		{[]string{"b.example"}, http.StatusBadRequest},
		{[]string{"a.example", "a.example"}, http.StatusBadRequest},
	} {
		r, w := httptest.NewRequest(http.MethodGet, "http://a.example/elsewhere", nil), httptest.NewRecorder()
		if tt.fields != nil {
			r.Header["Host"] = tt.fields
		}
		s.g.ServeHTTP(w, r)
		if w.Code != tt.status {
			t.Errorf("%q: status %d, want %d", tt.fields, w.Code, tt.status)
		}
		if tt.status != http.StatusOK {
			continue
		}
		if host := <-hosts; host != "a.example" {
			t.Errorf("%q: the upstream is asked as %q", tt.fields, host)
		}
	}
	if len(hosts) > 0 {
		t.Error("a refused request went on")
	}
}
