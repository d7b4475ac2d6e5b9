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
)

const (
	users    = 8
	requests = 60 // of each user
	// memoryBound is what the gateway's process may hold at its peak, whatever
	// the candidate does.
	memoryBound = 256 << 20
)

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

// A hostile candidate beside the monolith: each user gets the monolith's
// response, and nobody waits for the candidate.
func TestShadow(t *testing.T) {
	for _, c := range candidates {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// A user who waited for the candidate would wait for this long.
			const patience = 4 * time.Second
			p := start(t, setup{Monolith: monolithAt(t), Candidate: c.serve(t), Timeout: patience})
			took := clients(t, p.url, patience, func(t *testing.T, sent int, resp *http.Response) {
				expectMonolith(t, sent, resp)
			})
			r, peak := p.stop(t)
			l := r.Ledger
			t.Logf("median %v, slowest %v, peak memory %d MiB, %d failed, %d compared, %d shed, skipped %v",
				took[len(took)/2], took[len(took)-1], peak>>20, l.Failed, l.Compared, l.Shed, l.Skipped)
			check(t, r, peak)
		})
	}
}

// A hostile candidate that users are sent to, again and again: each of them
// gets the monolith's response instead.
func TestServed(t *testing.T) {
	for _, c := range candidates {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, setup{Monolith: monolithAt(t), Candidate: c.serve(t), Timeout: 200 * time.Millisecond, Share: whittle.All})
			took := clients(t, p.url, time.Minute, func(t *testing.T, sent int, resp *http.Response) {
				if c.streams && resp.Header.Get("Content-Type") == "" {
					// A response of any length in good health: it streams, and
					// the user leaves when he has seen enough.
					if _, err := io.CopyN(io.Discard, resp.Body, 1<<20); err != nil {
						t.Errorf("the stream ended: %v", err)
					}
					return
				}
				expectMonolith(t, sent, resp)
			})
			r, peak := p.stop(t)
			t.Logf("median %v, slowest %v, peak memory %d MiB, %d trips, ledger %+v",
				took[len(took)/2], took[len(took)-1], peak>>20, r.Trips, r.Ledger)
			if r.Trips == 0 && !c.streams {
				t.Error("the breaker has never tripped")
			}
			check(t, r, peak)
		})
	}
}

func check(t *testing.T, r report, peak int64) {
	t.Helper()
	if l := r.Ledger; l.Total != l.Sum() || l.Pending != 0 || l.Total != users*requests {
		t.Errorf("ledger %+v for %d requests", l, users*requests)
	}
	if peak > memoryBound {
		t.Errorf("the gateway held %d MiB, bound %d", peak>>20, memoryBound>>20)
	}
	if r.Leak != "" {
		t.Errorf("the gateway left goroutines behind: %s", r.Leak)
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

// clients sends every user's requests and gives the latencies in order. Not one in
// twenty may take as long as patience.
func clients(t *testing.T, url string, patience time.Duration, look func(t *testing.T, sent int, resp *http.Response)) []time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	for user := range users {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := range requests {
				// Bodies on both sides of what sockets hold by themselves.
				sent := []int{0, 10, 200 << 10}[i%3]
				at := time.Now()
				if err := send(ctx, t, client, url, user, sent, look); err != nil {
					t.Errorf("user %d, request %d: %v", user, i, err)
					if errors.Is(err, context.DeadlineExceeded) {
						return
					}
				}
				mu.Lock()
				took = append(took, time.Since(at))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	// Whoever waited for the candidate would wait as long as patience, and so
	// would everybody; a machine that stands still now and then holds up a few.
	if len(took) == 0 || took[len(took)*19/20] >= patience {
		t.Fatalf("%d requests were answered, a twentieth of them not within %v", len(took), patience)
	}
	return took
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
