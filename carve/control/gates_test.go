package control_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// gated is a route with a gate of each kind.
func gated(before ...whittle.GateMoment) whittle.Route {
	return spec(func(r *whittle.Route) {
		r.Rollout.Gates = []whittle.Gate{{Name: "qa", Before: before, Hook: &whittle.Hook{URL: "http://127.0.0.1:1"}, Every: time.Second}}
	})
}

// due is the one question that is asked now, or none.
func (h *rig) due() (ask whittle.GateAsk, is bool) {
	h.t.Helper()
	asks := h.c.Gates()
	if len(asks) > 1 {
		h.t.Errorf("asked: %+v", asks)
	}
	if len(asks) == 0 {
		return ask, false
	}
	return asks[0], true
}

// TestAGateHoldsUpARiseAlone: a gate is asked once everything else is there, its wait is
// said, what it says of an older step is ignored, and a fall does not wait for it.
func TestAGateHoldsUpARiseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t, &memory{}, gated(whittle.GateFirst, whittle.GateStep, whittle.GateLive))
		h.run()
		pass(time.Second)
		if ask, is := h.due(); is {
			t.Errorf("asked before the verdict: %+v", ask)
		}
		h.say(whittle.Equivalent)
		pass(time.Second)
		ask, is := h.due()
		if !is || ask.Before != whittle.GateFirst || ask.From != 0 || ask.To != 100 || ask.Verdict != whittle.Equivalent || h.share() != 0 {
			t.Fatalf("before the first users: %v %+v at %d", is, ask, h.share())
		}
		if s := h.status(); s.Next != "shadow → 1 %: waiting for gate qa, which has not responded yet." || len(s.Gates) != 1 || s.Gates[0].Open || s.Gates[0].Since.IsZero() {
			t.Errorf("%q, %+v", s.Next, s.Gates)
		}
		for range 3 {
			h.c.Gated(&ask, false, "last response 503")
			pass(time.Second)
		}
		s := h.status()
		if !strings.HasPrefix(s.Next, "shadow → 1 %: waiting for gate qa since 20") || !strings.HasSuffix(s.Next, ", last response 503.") || s.Gates[0].Asked != 3 {
			t.Errorf("%q, %+v", s.Next, s.Gates)
		}
		if n := len(s.Timeline); n != 1 || !strings.Contains(s.Timeline[0].Reason, "shadow → 1 % waits for gate qa since") {
			t.Errorf("time line %+v", s.Timeline)
		}
		h.say(whittle.Undecided) // it is not due any more, and what it says then is of the past
		pass(time.Second)
		h.c.Gated(&ask, true, "last response 200")
		h.say(whittle.Equivalent)
		pass(time.Second)
		again, is := h.due()
		if !is || again.ID == ask.ID || h.share() != 0 {
			t.Errorf("after it was not due: %v %+v at %d", is, again, h.share())
		}
		h.c.Gated(&again, true, "last response 200")
		pass(time.Second)
		if h.share() != 100 {
			t.Fatalf("an open gate holds up: %s", h.status().Next)
		}
		h.c.Gated(&again, true, "last response 200") // of the step before
		h.users(whittle.Candidate, 200, 5)
		pass(11 * time.Second)
		step, is := h.due()
		if !is || step.Before != whittle.GateStep || step.From != 100 || step.To != 2500 || h.share() != 100 {
			t.Errorf("before the next step: %v %+v at %d", is, step, h.share())
		}
		h.users(whittle.Candidate, 500, 3)
		pass(time.Second)
		if s := h.status(); h.share() != 0 || s.Phase != whittle.PhaseRolledBack {
			t.Errorf("a fall waited: %+v", s)
		}
		if _, is := h.due(); is {
			t.Error("asked after a rollback that is not retried")
		}
		h.mu.Lock()
		kinds := strings.Join(h.events, "\n")
		h.mu.Unlock()
		for _, want := range []string{"gate 0→0 by whittle: shadow → 1 % waits for gate qa", "rise 0→100 by whittle: ", "rollback 100→0 by whittle: The errors guard"} {
			fatal.Same(t, strings.Count(kinds, want), 1, "%q in\n%s", want, kinds)
		}
	})
}

// TestAGateTakesUsersOff: a gate of rollback is asked while users are on the candidate,
// and its word is an order that is not retried.
func TestAGateTakesUsersOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := gated(whittle.GateRollback)
		r.Rollout.Retry = time.Second
		h := newRig(t, &memory{}, r)
		h.run()
		pass(time.Second)
		if _, is := h.due(); is {
			t.Error("asked in shadow")
		}
		h.say(whittle.Equivalent)
		pass(time.Second)
		ask, is := h.due()
		if !is || ask.Before != whittle.GateRollback {
			t.Fatalf("%v %+v", is, ask)
		}
		h.c.Gated(&ask, false, "last response 404")
		pass(time.Second)
		fatal.Same(t, h.share(), 100, "share")
		h.c.Gated(&ask, true, "last response 200")
		pass(time.Minute)
		s := h.status()
		if last := s.Timeline[len(s.Timeline)-1]; h.share() != 0 || last.Reason != "Rolled back by gate qa: last response 200." || last.By != "gate qa" {
			t.Errorf("at %d: %+v", h.share(), last)
		}
		h.say(whittle.Undecided)
		fatal.If(t, h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Reset}))
		h.c.Gated(&ask, true, "last response 200") // that came late
		pass(time.Second)
		fatal.Same(t, h.status().Phase, whittle.PhaseShadow, "a response from before the reset")
	})
}

// TestEvents names what each event is about.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRig(t, &memory{}, spec())
		h.run()
		mirror(h, 200, 1)
		h.say(whittle.Equivalent)
		pass(time.Second)
		give := func(k rollout.Kind) {
			t.Helper()
			if err := h.c.Order(t.Context(), name, rollout.Order{Kind: k, By: "ann"}); err != nil {
				t.Fatal(k, err)
			}
		}
		give(rollout.Hold)
		give(rollout.Promote)
		give(rollout.Promote)
		give(rollout.Promote)
		give(rollout.Rollback)
		give(rollout.Promote)
		h.trip("five in a row")
		pass(time.Second)
		give(rollout.Reset)
		give(rollout.Off)
		_ = h.stop()
		want := []string{
			"verdict 0→0 by whittle", "rise 0→100 by whittle", "order 100→100 by ann", "rise 100→2500 by ann", "rise 2500→10000 by ann", "finished 10000→10000 by ann",
			"rollback 10000→0 by ann", "rise 0→100 by ann", "trip 100→0 by whittle", "order 0→0 by ann", "order 0→0 by ann",
		}
		got := slices.Clone(h.events)
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], ":")
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(h.events, "\n"), strings.Join(want, "\n"))
		}
	})
}

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
		fatal.Same(t, h.status().Guards[2].Candidate, 3, "the same query")
		reload(asked(func(r *whittle.Route) { r.Queries[0].Limit = 20 }))
		if m := h.status().Guards[2]; m.Candidate != 0 || m.Count != 0 {
			t.Errorf("another one: %+v", m)
		}
		reload(spec())
		fatal.Same(t, len(h.status().Guards), 2, "guards without queries")
	})
}
