package control_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/rollout"
	"whittle/carve/state"
)

// front stands for the gateway: it counts requests and keeps a share.
type front struct {
	mu     sync.Mutex // guards the following
	counts map[string]*whittle.Counts
	share  map[string]whittle.Share
	runs   uint64
}

func (f *front) options(store control.Store, routes []whittle.Route) control.Options {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs++
	for _, r := range routes {
		f.counts[r.Name] = &whittle.Counts{Run: f.runs}
	}
	return control.Options{
		Store: store, Routes: routes, Tick: time.Millisecond,
		Apply: func(route string, p whittle.Position) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.share[route] = p.Share
			return true
		},
		Counts: func(route string) whittle.Counts {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.counts[route].Seq++
			return *f.counts[route]
		},
	}
}

// mirror plays one exchange as the gateway would.
func (f *front) mirror(t *testing.T, c *control.Controller, x *whittle.Exchange) {
	f.mu.Lock()
	l := &f.counts[x.Route].Ledger
	l.Total++
	l.Pending++
	f.mu.Unlock()
	if !c.Observe(x).Counted {
		t.Error("an exchange that was observed is not in the ledger")
	}
}

func same(route string, n int) *whittle.Exchange {
	a := whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"text/plain"}}, Body: fmt.Append(nil, "answer ", n%17)}
	return &whittle.Exchange{
		Route: route, At: time.Now(), Request: whittle.Request{Method: "GET", Target: fmt.Sprintf("/x?n=%d", n%17)},
		Monolith: a, Candidate: a,
	}
}

// The real judge, guard and store, from several goroutines at once: every
// route goes from shadow to live, everything adds up, and a restart finds it.
func TestWholeRig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "whittle.db")
	var routes []whittle.Route
	for i := range 3 {
		routes = append(routes, whittle.Route{
			Name:      fmt.Sprintf("GET /x%d", i),
			Candidate: &whittle.Upstream{URL: "http://127.0.0.1:6666"},
			Compare:   whittle.Comparison{Kind: whittle.Exact, Confidence: 0.99, MaxDiffer: 0.05, MinCompared: 50},
			Rollout:   whittle.Rollout{Auto: true, Steps: []whittle.Share{100, 5000, whittle.All}, Hold: 5 * time.Millisecond, MinRequests: 10},
			Guard:     whittle.Guard{Errors: 0.01, Mismatch: 0.01, Confidence: 0.99, Consecutive: 5, Exposure: 20},
		})
	}
	f := &front{counts: map[string]*whittle.Counts{}, share: map[string]whittle.Share{}}
	store, err := state.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := control.New(f.options(store, routes))
	if err != nil {
		t.Fatal(err)
	}
	c.Start()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()

	var wg sync.WaitGroup
	for _, r := range routes {
		for range 2 {
			wg.Go(func() { f.drive(t, c, r.Name) })
		}
	}
	wg.Wait()
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	if store, err = state.Open(path); err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	again, err := control.New(f.options(store, routes))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range again.Status() {
		if s.Phase != whittle.PhaseLive || s.Share != whittle.All || s.Verdict.State != whittle.Equivalent {
			t.Errorf("%s came back as %s at %d, %s", s.Route, s.Phase, s.Share, s.Verdict.State)
		}
		l := s.Ledger
		if l.Total != l.Sum() || l.Pending != 0 || int64(s.Verdict.Compared) != l.Compared {
			t.Errorf("%s: ledger %+v over %d compared", s.Route, l, s.Verdict.Compared)
		}
	}
}

// drive is one worker's traffic until the route is live.
func (f *front) drive(t *testing.T, c *control.Controller, route string) {
	deadline := time.Now().Add(30 * time.Second)
	for n := 0; ; n++ {
		f.mirror(t, c, same(route, n))
		f.mu.Lock()
		share := f.share[route]
		f.mu.Unlock()
		c.Outcome(whittle.Outcome{Route: route, At: time.Now(), Side: whittle.Monolith, Status: 200, Latency: time.Millisecond})
		if share > 0 {
			c.Outcome(whittle.Outcome{Route: route, At: time.Now(), Side: whittle.Candidate, Status: 200, Latency: time.Millisecond})
		}
		if n%50 != 0 {
			continue
		}
		s, err := c.Route(route)
		if err != nil {
			t.Error(err)
			return
		}
		if s.Phase == whittle.PhaseLive {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%s is still in %s: %s (%s)", route, s.Phase, s.Next, s.Verdict.Summary)
			return
		}
	}
}

// A candidate that is broken from one moment to the next, with the real guard
// and a real disk.
func TestWholeRigRollsBack(t *testing.T) {
	r := whittle.Route{
		Name:      "GET /x",
		Candidate: &whittle.Upstream{URL: "http://127.0.0.1:6666"},
		Compare:   whittle.Comparison{Kind: whittle.Exact, Confidence: 0.99, MaxDiffer: 0.05, MinCompared: 50},
		Rollout:   whittle.Rollout{Steps: []whittle.Share{5000, whittle.All}, Hold: time.Hour, MinRequests: 1000},
		Guard:     whittle.Guard{Errors: 0.01, Mismatch: 0.01, Confidence: 0.99, Consecutive: 1000, Exposure: 1000},
	}
	f := &front{counts: map[string]*whittle.Counts{}, share: map[string]whittle.Share{}}
	store, err := state.Open(filepath.Join(t.TempDir(), "whittle.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, err := control.New(f.options(store, []whittle.Route{r}))
	if err != nil {
		t.Fatal(err)
	}
	c.Start()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	order := rollout.Order{Kind: rollout.Promote, Force: true, Reason: "to see it fall", By: "test"}
	for deadline := time.Now().Add(10 * time.Second); ; {
		err := c.Order(t.Context(), r.Name, order)
		if err == nil {
			break
		}
		if whittle.CodeOf(err) != whittle.Unavailable || time.Now().After(deadline) {
			t.Fatal(err) // Unavailable: Run has not begun yet
		}
	}
	for n := range 5000 {
		at := time.Now()
		c.Outcome(whittle.Outcome{Route: r.Name, At: at, Side: whittle.Monolith, Status: 200, Latency: time.Millisecond})
		c.Outcome(whittle.Outcome{Route: r.Name, At: at, Side: whittle.Candidate, Status: 500, Latency: time.Millisecond})
		f.mu.Lock()
		share := f.share[r.Name]
		f.mu.Unlock()
		if share == 0 {
			t.Logf("share 0 after %d bad responses", n)
			break
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		s, err := c.Route(r.Name)
		if err != nil {
			t.Fatal(err)
		}
		if s.Phase == whittle.PhaseRolledBack {
			t.Log(s.Timeline[len(s.Timeline)-1].Reason)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %s: %+v", s.Phase, s.Guards)
		}
	}
}
