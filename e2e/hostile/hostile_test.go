package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/needs"
)

const (
	users = 8
	// memoryBound is what the gateway's process may hold at its peak, whatever
	// the candidate does. Some 50 MiB are there before the first request, so it is
	// passed by half a mebibyte left behind by each request of a whole run.
	memoryBound = 128 << 20
)

// requests is how many each user sends: in the short form enough to trip the breaker and
// to fill each bound.
func requests() int {
	if testing.Short() {
		return 8
	}
	return 24
}

// seen is how much a user takes of a response without end, in bytes: kept of each request
// it would pass the bound.
func seen() int64 { return memoryBound / int64(users*requests()) * 3 / 4 }

// monolithAt answers what it got, at once.
func monolithAt(t *testing.T) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = fmt.Fprintf(w, "monolith got %d bytes", n)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// patience is the gateway's timeout for the candidate: a user who waited for one that
// hangs would wait for this long.
const patience = 4 * time.Second

// A hostile candidate next to the monolith: each user gets the monolith's
// response, and nobody waits for the candidate. How long that is, is held against a
// gateway whose candidate is a copy of the monolith, asked by the same users in turn:
// what the machine does meanwhile is in both.
func TestShadow(t *testing.T) {
	if process.NetHTTP {
		needs.Long(t, "nobody waits for a candidate, whoever has read the request")
	}
	plain := start(t, setup{NetHTTP: process.NetHTTP, Monolith: monolithAt(t), Candidate: monolithAt(t), Timeout: patience})
	for _, c := range candidates {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, setup{NetHTTP: process.NetHTTP, Monolith: monolithAt(t), Candidate: c.serve(t), Timeout: patience})
			both := clients(t, expectMonolith, p.url(), plain.url())
			took := both[0]
			for _, q := range []struct {
				name  string
				place float64
				more  time.Duration
			}{{"median", .5, patience / 16}, {"p95", .95, patience / 4}} {
				got, want := quantile(took, q.place), quantile(both[1], q.place)
				if got > want+q.more {
					t.Errorf("users waited %v (%s) next to it, and %v next to a well-behaved candidate", got, q.name, want)
				}
			}
			r := p.stop(t)
			l := r.Ledger
			t.Logf("median %v and p95 %v, next to a well-behaved one %v and %v; peak memory %d MiB, %d failed, %d compared, %d shed, skipped %v",
				quantile(took, .5), quantile(took, .95), quantile(both[1], .5), quantile(both[1], .95), r.Peak>>20, l.Failed, l.Compared, l.Shed, l.Skipped)
			counted(t, r)
		})
	}
}

// A hostile candidate that users are sent to, again and again: each of them
// gets the monolith's response instead.
func TestServed(t *testing.T) {
	for _, c := range candidates {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, setup{NetHTTP: process.NetHTTP, Monolith: monolithAt(t), Candidate: c.serve(t), Timeout: 200 * time.Millisecond, Share: whittle.All})
			took := clients(t, func(t *testing.T, sent int, resp *http.Response) {
				if c.streams && resp.Header.Get("Content-Type") == "" {
					// A response of any length in good health: it streams, and
					// the user leaves when he has seen enough.
					if _, err := io.CopyN(io.Discard, resp.Body, seen()); err != nil {
						t.Errorf("the stream ended: %v", err)
					}
					return
				}
				expectMonolith(t, sent, resp)
			}, p.url())[0]
			r := p.stop(t)
			t.Logf("median %v, slowest %v, peak memory %d MiB, %d trips, ledger %+v",
				took[len(took)/2], took[len(took)-1], r.Peak>>20, r.Trips, r.Ledger)
			if r.Trips == 0 && !c.streams {
				t.Error("the breaker has never tripped")
			}
			counted(t, r)
		})
	}
}

// counted holds that each user's requests are in the ledger.
func counted(t *testing.T, r report) {
	t.Helper()
	if want := int64(users * requests()); r.Ledger.Total != want {
		t.Errorf("ledger %+v for %d requests", r.Ledger, want)
	}
}

func expectMonolith(t *testing.T, sent int, resp *http.Response) {
	t.Helper()
	body, err := io.ReadAll(resp.Body)
	want := fmt.Sprintf("monolith got %d bytes", sent)
	if err != nil || resp.StatusCode != http.StatusOK || string(body) != want {
		t.Errorf("the user got %d %.60q, %v; want the monolith's %q", resp.StatusCode, body, err, want)
	}
}

// clients sends every user's requests to the first gateway, and every second one to the
// others in turn, and gives the latencies at each in order.
func clients(t *testing.T, look func(t *testing.T, sent int, resp *http.Response), urls ...string) [][]time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	took := make([][]time.Duration, len(urls))
	var wg sync.WaitGroup
	for user := range users {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := range requests() {
				// Bodies on both sides of what sockets hold by themselves.
				sent := []int{0, 10, 200 << 10}[i%3]
				for g, url := range urls[:1+(len(urls)-1)*(1-i%2)] {
					at := time.Now()
					if err := send(ctx, t, client, url, user, sent, look); err != nil {
						t.Errorf("user %d, request %d: %v", user, i, err)
						if errors.Is(err, context.DeadlineExceeded) {
							return
						}
					}
					mu.Lock()
					took[g] = append(took[g], time.Since(at))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for g, at := range took {
		slices.Sort(at)
		if want := users * requests() / min(1+g, 2); len(at) != want {
			t.Fatalf("%d of %d requests got a response", len(at), want)
		}
	}
	return took
}

// quantile of sorted latencies.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1))]
}

func send(ctx context.Context, t *testing.T, client *http.Client, url string, user, size int, look func(t *testing.T, sent int, resp *http.Response)) error {
	method := http.MethodPost
	if size == 0 {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, url+"/count?user="+fmt.Sprint(user), strings.NewReader(strings.Repeat("x", size)))
	if err != nil {
		return err
	}
	r.Header.Set("X-User", fmt.Sprint(user))
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	look(t, size, resp)
	return nil
}
