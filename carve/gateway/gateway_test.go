package gateway

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/gateway/accesslog"
	"whittle/internal/fatal"
	"whittle/record/redact"
)

func served(t *testing.T, g *Gateway, r *http.Request) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w.Result()
}

// TestMetricsCount reads the counters as a scrape does.
func TestMetricsCount(t *testing.T) {
	u := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/missing" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	g := made(t, Options{
		Monolith: whittle.Upstream{URL: u},
		Routes:   []whittle.Route{{Name: "/a", Match: whittle.Match{Pattern: "/a"}}},
	})
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
	fatal.Same(t, whittle.CodeOf(g.Reload(whittle.Upstream{URL: "nonsense"}, routes)), whittle.Invalid, "a bad reload")
	fatal.Same(t, g.table.Load() == before, true, "a bad reload keeps the table")
	fatal.If(t, g.Reload(o.Monolith, append(routes, whittle.Route{Name: "/b", Match: whittle.Match{Pattern: "/b"}})))
	ask()
	after := g.table.Load()
	if !after.monolith.Same(before.monolith) {
		t.Error("the same monolith lost its connections")
	}
	fatal.Same(t, after.entries[1].meter.class[5].Load(), 2, "counted over the reload")
	fatal.If(t, g.Close(context.Background()))
	fatal.Same(t, whittle.CodeOf(g.Reload(o.Monolith, nil)), whittle.FailedPrecondition, "reload after close")
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
		fatal.Same(t, w.Code, tt.status, "%q: status", tt.fields)
		if tt.status != http.StatusOK {
			continue
		}
		fatal.Same(t, <-hosts, "a.example", "%q: the upstream is asked as", tt.fields)
	}
	if len(hosts) > 0 {
		t.Error("a refused request went on")
	}
}

func TestComplaintsAreBounded(t *testing.T) {
	var c failureLog
	now := time.Unix(1000, 0)
	k := failureKey{route: "GET /", failure: whittle.FailedConnect}
	if more, due := c.due(k, now); !due || more != 0 {
		t.Fatal("the first failure is not logged")
	}
	for range 100 {
		if _, due := c.due(k, now.Add(logFailureEvery-1)); due {
			t.Fatal("the same failure is logged twice at once")
		}
	}
	if _, due := c.due(failureKey{route: "GET /", failure: whittle.FailedReset}, now); !due {
		t.Error("another failure is not logged")
	}
	if more, due := c.due(k, now.Add(logFailureEvery)); !due || more != 100 {
		t.Errorf("after a while: logged %v, with %d left out, want 100", due, more)
	}
	for i := range 3 * maxFailureKeys {
		c.due(failureKey{route: strings.Repeat("x", i)}, now)
	}
	if len(c.last) > maxFailureKeys {
		t.Errorf("%d kinds are kept", len(c.last))
	}
}

// TestLogsAreRedacted has secrets in a path and in the detail of a failure: neither the access log
// nor the log of failures has them. That a monolith is dead is in the log, and is not the client's
// to read.
func TestLogsAreRedacted(t *testing.T) {
	const token, address = "ghp_0123456789abcdefghij0123456789abcdef", "bob@example.com"
	r, err := redact.New(redact.Rules{}, redact.NewKey())
	fatal.If(t, err)
	var access, failures bytes.Buffer
	g := made(t, Options{
		Monolith: whittle.Upstream{URL: nobody},
		Access:   accesslog.New(slog.New(slog.NewJSONHandler(&access, nil)), accesslog.Default, r), Log: slog.New(slog.NewJSONHandler(&failures, nil)), Redact: r,
	})
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/users/"+address+"/keys/"+token, http.NoBody))
	if w.Code != http.StatusBadGateway || strings.Contains(w.Body.String(), "refused") {
		t.Errorf("the client got %d %q", w.Code, w.Body)
	}
	fatal.Has(t, failures.String(), `"side":"monolith"`, `"failure":"connect"`, `"client_got":502`, "refused")
	g.logFailure(t.Context(), "GET /keys", whittle.Candidate, whittle.FailedMalform, "malformed response "+token, http.StatusBadGateway)
	for name, log := range map[string]string{"access": access.String(), "failures": failures.String()} {
		if log == "" || strings.Contains(log, token) || strings.Contains(log, address) {
			t.Errorf("%s: %s", name, log)
		}
	}
	const key = "q7/Zk3pW9xT1/vB5nM8sD2fG6hJ4kL0qR1/wE3rT5yU7iO9pA2sD4/fG6hJ8kL0zX2cV4bN6"
	served(t, g, httptest.NewRequest(http.MethodGet, "/hooks/"+url.PathEscape("hooks.slack.com/services/T01234567/B0123456789/"+key)+"/edit", http.NoBody)).Body.Close()
	served(t, g, httptest.NewRequest(http.MethodGet, "/secrets/"+url.PathEscape("whsec_"+key)+"/edit", http.NoBody)).Body.Close()
	served(t, g, httptest.NewRequest(http.MethodGet, "/fetch/https://hooks.slack.com/services/T01234567/B0123456789/abcdefghijklmnopqrstuvwx", http.NoBody)).Body.Close()
	for _, part := range []string{key[:8], key[20:30], key[len(key)-8:], "B0123456789", "abcdefghij"} {
		if strings.Contains(access.String(), part) {
			t.Errorf("%s of a secret with slashes: %s", part, access.String())
		}
	}
	fatal.Has(t, access.String(), `"path":"/users/redacted-`, "/keys/redacted-")
}
