package walk

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/process"
)

// fake counts as the monolith does, in process, until it is broken.
type fake struct {
	*httptest.Server
	broken atomic.Bool
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := new(fake)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Times int }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if f.broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		sum := 0
		for range q.Times {
			sum += (rand.IntN(200) + 1) >> 1
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, "Counted to %d \n", sum)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) address() string { return f.Listener.Addr().String() }

// TestRollback breaks the candidate under 50 users at once: few requests meet
// it, the monolith has everybody back soon, and no user notices.
func TestRollback(t *testing.T) {
	const users, exposure = 50, 50
	m := process.Monolith(t)
	for i, way := range []struct {
		name string
		// candidate gives its address, what breaks it, and what ends that.
		candidate func(*testing.T) (s setting, breaks, mends func())
	}{
		{"killed", func(t *testing.T) (setting, func(), func()) {
			c := service(t)
			return setting{Candidate: c.Public}, c.Kill, func() {}
		}},
		{"stopped", func(t *testing.T) (setting, func(), func()) {
			c := service(t)
			return setting{Candidate: c.Public}, func() { c.Signal(t, syscall.SIGSTOP) }, func() { c.Signal(t, syscall.SIGCONT) }
		}},
		{"answers 500", func(t *testing.T) (setting, func(), func()) {
			f := newFake(t)
			return setting{Candidate: f.address(), Plain: true}, func() { f.broken.Store(true) }, func() {}
		}},
	} {
		for _, steps := range []int{1, 2} {
			if testing.Short() && steps != 1+i%2 {
				continue // each way at one step
			}
			t.Run(fmt.Sprintf("%s at %d %%", way.name, []int{0, 25, 100}[steps]), func(t *testing.T) {
				s, breaks, mends := way.candidate(t)
				s.Monolith = m.Public
				s.Rollout = "{auto: false, steps: [25, 100], hold: 1h, sticky_by: header:X-User}" // never live: exposure is bounded in the shift
				g := open(t, s)
				// A few are enough to compare; all come when there is evidence.
				few := gather(g.Public, 1, small)
				few.more(t, 20)
				few.home()
				few.content(t)
				g.await(t, "evidence", func(r *whittle.RouteStatus) bool { return r.Verdict.Compared > 0 })
				var slowest atomic.Int64
				c := gather(g.Public, users, func(u *user, _ int) error {
					at := time.Now()
					err := u.count(1000)
					for took, old := int64(time.Since(at)), slowest.Load(); took > old && !slowest.CompareAndSwap(old, took); {
						old = slowest.Load()
					}
					return err
				})
				g.climb(t, steps, 2*users)
				touched, pace := g.metric(t, "whittle_fallback_requests_total", ""), time.Duration(slowest.Load())
				at := time.Now()
				breaks()
				r := g.await(t, "the rollback", func(r *whittle.RouteStatus) bool { return r.Phase == whittle.PhaseRolledBack && r.Share == 0 })
				last := r.Timeline[len(r.Timeline)-1]
				took := last.At.Sub(at)
				c.more(t, 2*users)
				c.home()
				c.content(t)
				touched = g.metric(t, "whittle_fallback_requests_total", "") - touched
				t.Logf("share 0 after %v, %d requests fell back, %d served, slowest answer before %v: %s", took, touched, c.served.Load(), pace, last.Reason)
				if touched > exposure {
					t.Errorf("%d requests met the broken candidate", touched)
				}
				// The promised second is held where no load can slow the clock:
				// gateway's TestShareFallsWithinASecond.
				mends() // or what is mirrored would wait for it
				g.atRest(t)
			})
		}
	}
}
