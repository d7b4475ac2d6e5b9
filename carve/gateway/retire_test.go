package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// TestARemovedRouteReturnsItsMemory: a route whose candidate hangs is removed, again
// and again. What its copies held is there for others, and no reload waits for it.
func TestARemovedRouteReturnsItsMemory(t *testing.T) {
	candidate := hanging(t, false, func(_ http.ResponseWriter, r *http.Request, end <-chan struct{}) {
		select {
		case <-r.Context().Done():
		case <-end:
		}
	})
	m := httptest.NewServer(says(200, "fine"))
	t.Cleanup(m.Close)
	spec := everything()
	at := upstreamAt(candidate.URL)
	at.Timeout = time.Hour
	spec.Candidate = &at
	o := Options{Monolith: upstreamAt(m.URL), Routes: []whittle.Route{spec}, Limits: whittle.Limits{Grace: 50 * time.Millisecond}}
	g, err := New(o)
	fatal.If(t, err)
	long := strings.Repeat("x", 32<<10)
	for range 3 {
		g.Apply("/work", whittle.Position{Generation: 1, Phase: whittle.PhaseShadow})
		for range 20 { // more than are asked at once
			r := httptest.NewRequest(http.MethodGet, "/work", http.NoBody)
			r.Header.Set("X-Long", long)
			g.ServeHTTP(httptest.NewRecorder(), r)
		}
		if g.copiesHeld.Load() == 0 {
			t.Fatal("nothing is held")
		}
		fatal.If(t, g.Reload(o.Monolith, nil))
		waits(t, time.Minute, func() bool { return g.copiesHeld.Load() == 0 })
		fatal.If(t, g.Reload(o.Monolith, o.Routes))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := g.Close(ctx); err != nil {
		t.Error(err)
	}
	for _, u := range g.table.Load().upstreams {
		u.Close()
	}
}

// TestAReloadWaitsForNobody: a route that hangs is removed within its grace, while
// the others go on.
func TestAReloadWaitsForNobody(t *testing.T) {
	candidate := hanging(t, false, func(_ http.ResponseWriter, _ *http.Request, end <-chan struct{}) { <-end })
	m := httptest.NewServer(says(200, "fine"))
	t.Cleanup(m.Close)
	spec := everything()
	at := upstreamAt(candidate.URL)
	at.Timeout = time.Hour
	spec.Candidate = &at
	g, err := New(Options{Monolith: upstreamAt(m.URL), Routes: []whittle.Route{spec}, Limits: whittle.Limits{Grace: time.Hour}})
	fatal.If(t, err)
	g.Apply("/work", whittle.Position{Generation: 1, Phase: whittle.PhaseShadow})
	g.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/work", http.NoBody))
	if err := g.Reload(upstreamAt(m.URL), nil); err != nil { // it would take the hour
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nor does an end that is to be at once wait for it
	if err := g.Close(ctx); err != nil {
		t.Error(err)
	}
	for _, u := range g.table.Load().upstreams {
		u.Close()
	}
}
