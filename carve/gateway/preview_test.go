package gateway

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/carve/gateway/preview"
)

const previewKey = "0123456789abcdef"

func previewing(after bool) *whittle.Preview {
	return &whittle.Preview{Key: previewKey, AfterRollback: after}
}

// seen says who responds, and what of tokens has reached it.
func seen(side string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Cache-Control", "public, max-age=3600")
		_, _ = fmt.Fprintf(w, "%s %s %q %q %s", side, r.Method, r.Header["X-Whittle-Preview"], r.Header["Cookie"], body)
	})
}

// TestPreview sends tokens by the fast path, by net/http and by HTTP/2, at every
// position that a route can have.
func TestPreview(t *testing.T) {
	const route = "/work"
	good := preview.Sign(previewKey, route, time.Now().Add(time.Hour))
	m, c := serving(t, seen("monolith")), serving(t, seen("candidate"))
	for _, way := range []string{"fast path", "net/http", "HTTP/2"} {
		for _, after := range []bool{false, true} {
			var mu sync.Mutex
			var outcomes, exchanges, records int
			count := func(n *int) { mu.Lock(); defer mu.Unlock(); *n++ }
			up := upstreamAt(c)
			g, url := running(t, Options{
				Monolith: upstreamAt(m), NetHTTP: way == "net/http",
				Routes: []whittle.Route{{
					Name: route, Match: whittle.Match{Pattern: route}, Candidate: &up, Safe: true, Record: whittle.All,
					Mirror:  whittle.Mirror{Sample: whittle.All, Queue: 8, Concurrency: 2, MaxBody: 1 << 10, MaxMemory: 1 << 20},
					Rollout: whittle.Rollout{Preview: previewing(after)}, Guard: whittle.Guard{Exposure: 5, Consecutive: 5},
				}},
				Outcome: func(whittle.Outcome) { count(&outcomes) },
				Observe: func(*whittle.Exchange) whittle.Observation { count(&exchanges); return whittle.Observation{} },
				Record:  func(*whittle.Exchange) bool { count(&records); return true },
			})
			by := speaking(t, way == "HTTP/2")
			generation := uint64(0)
			previewed := int64(0)
			for _, at := range []struct {
				phase   whittle.Phase
				tripped bool
				takes   bool
			}{
				{whittle.PhaseOff, false, false},
				{whittle.PhaseShadow, false, true},
				{whittle.PhaseShift, false, true},
				{whittle.PhaseShift, true, after},
				{whittle.PhaseRolledBack, false, after},
				{whittle.PhaseShadow, false, true},
			} {
				generation++
				g.Apply(route, whittle.Position{
					Generation: generation, Phase: at.phase, Share: map[bool]whittle.Share{true: 1}[at.phase == whittle.PhaseShift],
					Zero: map[bool]uint64{true: generation}[at.phase != whittle.PhaseShift],
				})
				if at.tripped {
					g.table.Load().routes[route].trip("a test's", generation)
				}
				for _, tt := range []struct {
					method, header, cookie string
					valid                  bool
				}{
					{"GET", good, "", true},
					{"GET", "", good, true},
					{"POST", good, "", true},
					{"GET", "forged", "", false},
					{"GET", "", "", false},
					{"GET", preview.Sign(previewKey, "/other", time.Now().Add(time.Hour)), "", false},
				} {
					var fields []string
					if tt.header != "" {
						fields = append(fields, "X-Whittle-Preview", tt.header)
					}
					if tt.cookie != "" {
						fields = append(fields, "Cookie", "a=1; whittle_preview="+tt.cookie)
					}
					resp, body := askBy(t, by, tt.method, url+route, map[string]string{http.MethodPost: "body"}[tt.method], fields...)
					h := resp.Header
					want, mark := "monolith", ""
					if tt.valid && at.takes {
						want, mark = "candidate", "candidate"
						previewed++
					}
					cookies := "[]"
					if tt.cookie != "" {
						cookies = `["a=1"]`
					}
					text := fmt.Sprintf("%s %s [] %s ", want, tt.method, cookies)
					if tt.method == http.MethodPost {
						text += "body"
					}
					if body != text || h.Get("X-Whittle-Preview") != mark || (mark != "") != (h.Get("Cache-Control") == "no-store") {
						t.Errorf("%s, %+v, %+v: %q, want %q; %v", way, at, tt, body, text, h)
					}
				}
			}
			l := await(t, g, route)
			waits(t, 20*time.Second, func() bool { // nobody waits for the recorder, so the last may be on its way
				mu.Lock()
				defer mu.Unlock()
				return int64(records) >= l.Total-previewed && int64(outcomes) >= l.Total-previewed
			})
			mu.Lock()
			if l.Skipped[whittle.SkipPreview] != previewed || l.Total != l.Sum() || int64(outcomes) != l.Total-previewed || int64(records) != l.Total-previewed || int64(exchanges) > l.Total-previewed {
				t.Errorf("%s: %d previewed, %d outcomes, %d records, %d exchanges, ledger %s", way, previewed, outcomes, records, exchanges, l.Account())
			}
			mu.Unlock()
			rt := g.table.Load().routes[route]
			if n := rt.counts.previewed.Load(); n != previewed || rt.counts.served.Load() != 0 || rt.counts.unsigned.Load() != 12 {
				t.Errorf("%s: %d of %d previewed, %d served, %d unsigned", way, n, previewed, rt.counts.served.Load(), rt.counts.unsigned.Load())
			}
		}
	}
}

// await waits until nothing of a route is pending.
func await(t *testing.T, g *Gateway, route string) (l whittle.Ledger) {
	t.Helper()
	waits(t, 20*time.Second, func() bool {
		l = g.Ledger(route)
		return l.Pending == 0
	})
	return l
}
