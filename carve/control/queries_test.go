package control_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// asked is a route with a limit rule and a test of proportions.
func asked(change ...func(*whittle.Route)) whittle.Route {
	return spec(append([]func(*whittle.Route){func(r *whittle.Route) {
		side := whittle.SideQuery{Monolith: "m", Candidate: "c"}
		r.Guard.Confidence = 0.99
		r.Queries = []whittle.Query{
			{Name: "depth", Value: whittle.SideQuery{Candidate: "d"}, Limit: 10, For: 2, Every: time.Second},
			{Name: "orders", Bad: side, Total: side, Excess: 0.01, For: 3, Every: time.Second},
		}
	}}, change...)...)
}

// reads gives both queries' readings.
func (h *rig) reads(depth, mBad, mAll, cBad, cAll float64) {
	at := time.Now()
	h.c.Query(name, "depth", whittle.QueryReading{At: at, Value: whittle.SideValues{Candidate: depth}})
	h.c.Query(name, "orders", whittle.QueryReading{
		At: at, Bad: whittle.SideValues{Monolith: mBad, Candidate: cBad}, Total: whittle.SideValues{Monolith: mAll, Candidate: cAll},
	})
	h.c.Query(name, "of another config", whittle.QueryReading{At: at})
	h.c.Query("GET /nothing", "depth", whittle.QueryReading{At: at})
	pass(time.Second)
}

// TestQueriesHoldUpARiseAndLowerAShare: no rise before there is data, none beyond a
// limit, a fall by a limit rule and by a test, and what was counted outlives a restart.
func TestQueriesHoldUpARiseAndLowerAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := newRig(t, disk, asked())
		h.run()
		h.say(whittle.Equivalent)
		pass(time.Second)
		if s := h.status(); s.Next != "shadow → 1 %: query depth has no reading yet; query orders has no reading yet." || len(s.Guards) != 4 {
			t.Errorf("%q, %+v", s.Next, s.Guards)
		}
		h.reads(11, 1, 100, 0, 0)
		h.reads(11, 2, 200, 0, 0)
		if s := h.status(); s.Share != 0 || s.Next != "shadow → 1 %: query depth is beyond its limit: candidate 11, at most 10." {
			t.Errorf("at %d: %q", s.Share, s.Next)
		}
		h.reads(9, 3, 300, 0, 0)
		if h.share() != 100 {
			t.Fatalf("at %d: %s", h.share(), h.status().Next)
		}
		h.reads(11, 4, 400, 0, 10)
		h.reads(11, 5, 500, 1, 20)
		s := h.status()
		if last := s.Timeline[len(s.Timeline)-1]; h.share() != 0 || !strings.HasPrefix(last.Reason, "The query depth guard was breached: candidate 11, at most 10; ") {
			t.Errorf("at %d: %q", h.share(), last.Reason)
		}
		_ = h.stop()
	})
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := newRig(t, disk, asked())
		h.run()
		h.reads(0, 1, 100, 0, 0)
		h.say(whittle.Equivalent)
		pass(time.Second)
		for i := range 3 {
			h.reads(0, float64(2+i), float64(200+100*i), float64(i), float64(10*i))
		}
		before := h.status().Guards
		_ = h.stop()
		h = newRig(t, disk, asked())
		h.run()
		h.say(whittle.Equivalent)
		pass(time.Second)
		if after := h.status().Guards; after[3].Count != before[3].Count || before[3].Count != 20 || after[3].Summary != before[3].Summary {
			t.Errorf("before %+v\nafter %+v", before[3], after[3])
		}
		for i := range 3 {
			h.reads(0, float64(12+i), float64(1200+100*i), float64(30*i), float64(1000+40*i))
		}
		s := h.status()
		if last := s.Timeline[len(s.Timeline)-1]; h.share() != 0 || !strings.HasPrefix(last.Reason, "The query orders guard was breached: bad events: ") {
			t.Errorf("at %d: %q, %+v", h.share(), last.Reason, s.Guards[3])
		}
		_ = h.stop()
		// Another query under the name begins anew.
		h = newRig(t, disk, asked(func(r *whittle.Route) { r.Queries[1].Excess = 0.02 }))
		if m := h.status().Guards[3]; m.Count != 0 || m.Breached {
			t.Errorf("another query: %+v", m)
		}
	})
}

// TestAReloadKeepsWhatAQueryCounted, where it is the same one.
func TestAReloadKeepsWhatAQueryCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t, &memory{}, asked())
		h.run()
		h.reads(3, 1, 100, 0, 0)
		reload := func(r whittle.Route) {
			t.Helper()
			fatal.If(t, h.c.Reload(whittle.Upstream{}, []whittle.Route{r}, func() error { return nil }))
			pass(2 * time.Second)
		}
		reload(asked(func(r *whittle.Route) { r.Rollout.Hold = time.Minute }))
		if m := h.status().Guards[2]; m.Candidate != 3 {
			t.Errorf("the same query: %+v", m)
		}
		reload(asked(func(r *whittle.Route) { r.Queries[0].Limit = 20 }))
		if m := h.status().Guards[2]; m.Candidate != 0 || m.Count != 0 {
			t.Errorf("another one: %+v", m)
		}
		reload(spec())
		if n := len(h.status().Guards); n != 2 {
			t.Errorf("%d guards without queries", n)
		}
		_ = h.stop()
	})
}
