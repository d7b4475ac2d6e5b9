package walk

import (
	"context"
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
	"whittle/carve/rollout"
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

// TestKill kills whittle under load in every phase of a rollout, again and
// again on the same state file, at moments drawn from a seed.
func TestKill(t *testing.T) {
	const users = 8
	rounds := 20
	if testing.Short() {
		rounds = 10
	}
	rng := rand.New(rand.NewPCG(1, 2))
	m := process.Monolith(t)
	g := open(t, setting{Monolith: m.Public, Candidate: newFake(t).address(), Plain: true})
	phases := map[whittle.Phase]int{}
	for round := range rounds {
		c := gather(g.Public, users, small)
		c.more(t, 2*users)
		rolling := prepare(t, g, round)
		shown := shownUntil(t, g, time.Duration(rng.IntN(300))*time.Millisecond)
		if rolling != nil {
			go rolling()
			shown = shownUntil(t, g, time.Duration(rng.IntN(12))*time.Millisecond)
		}
		killed := time.Now()
		g.Kill()
		c.home()
		if c.failed > 0 && c.first.Before(killed) {
			t.Errorf("round %d: a user saw an error while whittle was up: %s", round, c.errors[0])
		}
		g.run(t)
		after := g.route(t)
		phases[shown.Phase]++
		sameOrSafer(t, round, &shown, &after)
	}
	t.Logf("killed in %v", phases)
	for _, p := range []whittle.Phase{whittle.PhaseShadow, whittle.PhaseShift, whittle.PhaseLive, whittle.PhaseRolledBack} {
		if phases[p] == 0 {
			t.Errorf("it was never killed in phase %s", p)
		}
	}
	c := gather(g.Public, users, small)
	c.more(t, 10*users)
	c.home()
	c.content(t)
	g.atRest(t)
}

// prepare brings the route into the phase of the round. What it returns, if
// anything, is an order to be given while the kill is on its way.
func prepare(t *testing.T, g *gate, round int) (rolling func()) {
	t.Helper()
	switch round % 5 {
	case 0:
		g.order(t, rollout.Off)
		g.order(t, rollout.Promote)
		g.await(t, "shadow", func(r *whittle.RouteStatus) bool { return r.Phase == whittle.PhaseShadow })
	case 1:
		g.climb(t, 1, 10)
	case 2:
		g.order(t, rollout.Promote)
		g.await(t, "live", func(r *whittle.RouteStatus) bool { return r.Phase == whittle.PhaseLive })
	case 3:
		client := g.client
		return func() {
			o := rollout.Order{Kind: rollout.Rollback, By: "the test"}
			_, _ = client.Order(context.Background(), countRoute, o) // the kill may come first
		}
	case 4:
		if g.route(t).Phase != whittle.PhaseRolledBack {
			g.order(t, rollout.Rollback)
		}
	}
	return nil
}

// shownUntil asks for the status over and over, and gives the last one.
func shownUntil(t *testing.T, g *gate, d time.Duration) whittle.RouteStatus {
	t.Helper()
	end := time.After(d)
	for {
		last := g.route(t)
		select {
		case <-end:
			return last
		default:
		}
	}
}

// sameOrSafer holds a restart to what the last status had shown.
func sameOrSafer(t *testing.T, round int, shown, after *whittle.RouteStatus) {
	t.Helper()
	if after.Share != shown.Share && after.Share != 0 {
		t.Errorf("round %d: share %d was shown, %d after the restart", round, shown.Share, after.Share)
	}
	// A status shows what is on disk, so nothing of it may be lost.
	if after.Verdict.Compared < shown.Verdict.Compared {
		t.Errorf("round %d: %d compared were shown, %d after the restart", round, shown.Verdict.Compared, after.Verdict.Compared)
	}
	if after.Ledger.Total < shown.Ledger.Total || after.Ledger.Compared < shown.Ledger.Compared {
		t.Errorf("round %d: ledger %+v was shown, %+v after the restart", round, shown.Ledger, after.Ledger)
	}
	if len(after.Timeline) < len(shown.Timeline) {
		t.Errorf("round %d: %d decisions were shown, %d after the restart", round, len(shown.Timeline), len(after.Timeline))
	}
	l := after.Ledger
	if l.Total != l.Sum() || l.Compared != int64(after.Verdict.Compared) {
		t.Errorf("round %d: ledger %+v for %d compared", round, l, after.Verdict.Compared)
	}
}
