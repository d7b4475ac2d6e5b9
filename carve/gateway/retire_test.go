package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"whittle"
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
	if err != nil {
		t.Fatal(err)
	}
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
		if err := g.Reload(o.Monolith, nil); err != nil {
			t.Fatal(err)
		}
		waits(t, time.Minute, func() bool { return g.copiesHeld.Load() == 0 })
		if err := g.Reload(o.Monolith, o.Routes); err != nil {
			t.Fatal(err)
		}
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
	if err != nil {
		t.Fatal(err)
	}
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

// TestAReloadFreesWhatItReplaces: after any number of reloads only the routes and
// upstreams in force are held, whatever it is that each of them changes. Requests came in
// all ways meanwhile, over connections that are kept.
func TestAReloadFreesWhatItReplaces(t *testing.T) {
	for name, change := range map[string]func(i int, monolith *whittle.Upstream, spec *whittle.Route){
		"nothing":                  func(int, *whittle.Upstream, *whittle.Route) {},
		"the monolith's timeout":   func(i int, monolith *whittle.Upstream, _ *whittle.Route) { monolith.Timeout += time.Duration(i) },
		"the route's timeout":      func(i int, _ *whittle.Upstream, spec *whittle.Route) { spec.Timeout = time.Minute + time.Duration(i) },
		"the candidate's build":    func(i int, _ *whittle.Upstream, spec *whittle.Route) { spec.Candidate.Build = strings.Repeat("1", i) },
		"the candidate's timeout":  func(i int, _ *whittle.Upstream, spec *whittle.Route) { spec.Candidate.Timeout += time.Duration(i) },
		"the policy":               func(i int, _ *whittle.Upstream, spec *whittle.Route) { spec.Guard.Exposure += i },
		"whether there is a route": func(i int, _ *whittle.Upstream, spec *whittle.Route) { spec.Name = []string{"/work", "/other"}[i%2] },
		"whether it has a candidate": func(i int, _ *whittle.Upstream, spec *whittle.Route) {
			spec.Candidate = []*whittle.Upstream{spec.Candidate, nil}[i%2]
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(says(200, "fine"))
			t.Cleanup(server.Close)
			monolith := upstreamAt(server.URL)
			with := func(i int) (whittle.Upstream, []whittle.Route) {
				m, candidate, spec := monolith, upstreamAt(server.URL), everything()
				candidate.Build, spec.Candidate = "0", &candidate
				change(i, &m, &spec)
				return m, []whittle.Route{spec}
			}
			ls, urls := facing(t, 1)
			o := Options{Observe: func(*whittle.Exchange) whittle.Observation { return whittle.Observation{} }}
			o.Monolith, o.Routes = with(0)
			g := behind(t, ls[0], o)
			t.Cleanup(http.DefaultClient.CloseIdleConnections)
			requests := func(i int) {
				g.Apply("/work", whittle.Position{Generation: uint64(i), Phase: whittle.PhaseShift, Share: whittle.All / 2})
				for _, body := range []io.Reader{http.NoBody, strings.NewReader("short"), struct{ io.Reader }{strings.NewReader("of unknown length")}} {
					for _, user := range []string{"a", "b", "c", "d"} {
						r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, urls[0]+"/work", body)
						if err != nil {
							t.Fatal(err)
						}
						r.Header.Set("X-User", user)
						resp, err := http.DefaultClient.Do(r)
						if err != nil {
							t.Fatal(err)
						}
						_, _ = io.Copy(io.Discard, resp.Body) // as it comes
						resp.Body.Close()
					}
				}
			}
			const reloads = 5
			earlier := parts{}
			for i := 1; i <= reloads; i++ {
				requests(i)
				earlier.add(g.table.Load())
				if err := g.Reload(with(i)); err != nil {
					t.Fatal(err)
				}
			}
			requests(reloads + 1) // in place of those before, where something has the last one
			now := parts{}
			now.add(g.table.Load())
			for part, held := range earlier {
				if now[part] == nil {
					waits(t, time.Minute, func() bool {
						runtime.GC()
						return !held()
					})
				}
			}
		})
	}
}

// parts are those of tables, by their weak pointers, with what tells whether they are
// still in memory.
type parts map[any]func() bool

func (p parts) add(t *table) {
	p[weak.Make(t)] = heldFunc(t)
	for _, rt := range t.routes {
		p[weak.Make(rt)] = heldFunc(rt)
	}
	for _, u := range t.upstreams {
		p[weak.Make(u)] = heldFunc(u)
	}
}

func heldFunc[T any](part *T) func() bool {
	w := weak.Make(part)
	return func() bool { return w.Value() != nil }
}

// BenchmarkReload gives what one reload leaves in memory, of five routes and a monolith
// that is another one each time.
func BenchmarkReload(b *testing.B) {
	o := Options{Monolith: upstreamAt(nobody)}
	for _, name := range []string{"/a", "/b", "/c", "/d", "/e"} {
		candidate, spec := upstreamAt(nobody), everything()
		spec.Name, spec.Match.Pattern, spec.Candidate = name, name, &candidate
		o.Routes = append(o.Routes, spec)
	}
	g, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = g.Close(b.Context()) }()
	live := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what the first has only taken out of pools
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	before := live()
	for b.Loop() {
		o.Monolith.Timeout++
		if err := g.Reload(o.Monolith, o.Routes); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((live()-before)/float64(b.N), "left-B/op")
}
