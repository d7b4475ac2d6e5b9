package control_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// steered makes a rig whose users are sent by a proxy that confirms shares when it is told to.
func steered(t *testing.T) (h *rig, confirm func(bool)) {
	t.Helper()
	h = newRig(t, &memory{}, spec(func(r *whittle.Route) { r.Rollout.MinRequests = 0 }))
	confirms := true
	has := whittle.Share(0)
	h.begin(func(o *control.Options) {
		o.Steered = func(route string) *whittle.SteerStatus {
			h.mu.Lock()
			defer h.mu.Unlock()
			out := &whittle.SteerStatus{By: "test", Share: h.inForce[route]}
			if confirms {
				has = out.Share
			}
			if has != out.Share {
				out.UnderWay, out.Wait = "move", "the move is under way"
			}
			return out
		}
	})
	h.run()
	return h, func(yes bool) { h.set(func() { confirms = yes }) }
}

// TestARiseCountsOnceItIsConfirmed: it is on disk, then at the proxies, and then the share. Until
// then evidence is saved and shown, no other rise begins, and the step's time has not begun.
func TestARiseCountsOnceItIsConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, confirm := steered(t)
		confirm(false)
		h.say(whittle.Equivalent)
		pass(5 * time.Second)
		h.expectLog("applied 0", "saved 0", "saved 100", "applied 100")
		s := h.status()
		if s.Share != 0 || s.Phase != whittle.PhaseShadow || s.Steer.UnderWay == "" || !strings.Contains(s.Next, "under way") {
			t.Errorf("before it is confirmed: %d in %s, %+v, %q", s.Share, s.Phase, s.Steer, s.Next)
		}
		compared := s.Verdict.Compared
		h.say(whittle.Equivalent)
		pass(3 * time.Second)
		if s = h.status(); s.Verdict.Compared == compared {
			t.Error("what was compared meanwhile is not shown")
		}
		confirm(true)
		pass(time.Second)
		if s = h.status(); s.Share != 100 || s.Phase != whittle.PhaseShift || s.Steer.UnderWay != "" {
			t.Errorf("once it is confirmed: %d in %s, %+v", s.Share, s.Phase, s.Steer)
		}
		pass(8500 * time.Millisecond)
		h.expectLog()
		pass(time.Second)
		h.expectLog("saved 2500", "applied 2500") // ten seconds after it was confirmed
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestARiseThatIsNotConfirmedIsGivenUp: the proxies are told the share from before, and the route is
// held. Then too nothing rises until they have it.
func TestARiseThatIsNotConfirmedIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, confirm := steered(t)
		h.say(whittle.Equivalent)
		pass(time.Second)
		confirm(false)
		h.journal.take()
		order := make(chan error, 1)
		go func() {
			order <- h.c.Order(context.Background(), name, rollout.Order{Kind: rollout.Promote, By: "ann"})
		}()
		pass(31 * time.Second)
		h.expectLog("saved 2500", "applied 2500", "applied 100", "saved 100")
		if err := <-order; whittle.CodeOf(err) != whittle.FailedPrecondition || !strings.Contains(err.Error(), "Held by whittle: the move is under way") {
			t.Errorf("the order ends with %v", err)
		}
		if s := h.status(); s.Share != 100 || s.Phase != whittle.PhaseShift || !s.Held {
			t.Errorf("at last %d in %s, held: %v", s.Share, s.Phase, s.Held)
		}
		fatal.If(t, h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Resume}))
		h.set(func() { h.inForce[name] = 50 }) // somebody has changed it at the proxy
		pass(time.Minute)
		if s := h.status(); !strings.Contains(s.Withheld, "the move is under way") || !strings.Contains(s.Next, "the move is under way") {
			t.Errorf("withheld: %q, next: %q", s.Withheld, s.Next)
		}
		h.expectLog()
		fatal.Same(t, whittle.CodeOf(h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote})), whittle.FailedPrecondition, "promoted")
	})
}

// TestAFallOvertakesARiseAtTheProxies: by an order, by the evidence, and when whittle ends.
func TestAFallOvertakesARiseAtTheProxies(t *testing.T) {
	inBubbles(t, map[string]func(h *rig){
		"order":    func(h *rig) { _ = h.c.Order(h.t.Context(), name, rollout.Order{Kind: rollout.Rollback}) },
		"evidence": func(h *rig) { h.say(whittle.Different) },
		"breaker":  func(h *rig) { h.trip("5 bad responses in a row") },
		"end":      func(h *rig) { _ = h.stop() },
	}, func(t *testing.T, fall func(h *rig)) {
		h, confirm := steered(t)
		confirm(false)
		h.say(whittle.Equivalent)
		pass(time.Second)
		h.journal.take()
		fall(h)
		pass(time.Second)
		h.expectLog("applied 0", "saved 0")
		fatal.Same(t, h.status().Share, 0, "share")
	})
}

// TestStartDecidesOnlyAFall: what else is due when whittle begins is decided once it
// runs. The gap in the ledger lasts until requests are taken.
func TestStartDecidesOnlyAFall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		last := func(r *whittle.Route) { r.Rollout.Steps, r.Rollout.Auto = []whittle.Share{whittle.All}, false }
		h := newRig(t, disk, spec(last))
		h.run()
		h.say(whittle.Equivalent)
		fatal.If(t, h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote, Force: true, Reason: "test"}))
		pass(time.Second)
		fatal.If(t, h.stop())
		saved := time.Now()
		pass(time.Minute)
		again := newRig(t, disk, spec(last, func(r *whittle.Route) {
			r.Rollout.Auto, r.Rollout.Hold, r.Rollout.MinRequests = true, 0, 0
		}))
		pass(time.Minute)
		again.c.Start()
		if p := again.latest[name]; p.Phase != whittle.PhaseShift || p.Share != whittle.All {
			t.Errorf("%+v in force before Run", p)
		}
		again.run()
		fatal.Same(t, again.latest[name].Phase, whittle.PhaseLive, "in force once it runs")
		pass(2 * time.Second)
		if gap := again.status().Ledger.Gap; gap == nil || !gap.From.Equal(saved) || !gap.To.Equal(saved.Add(2*time.Minute)) {
			t.Errorf("the gap is %+v, saved at %v", gap, saved)
		}
	})
}

// TestARiseOutlivesAReloadOfItsSteps: a rise that is on its way to the disk gets there
// where the reload leaves its steps alone, and is given up where they are others.
func TestARiseOutlivesAReloadOfItsSteps(t *testing.T) {
	inBubbles(t, map[string]bool{"same steps": true, "other steps": false}, func(t *testing.T, same bool) {
		disk := &memory{}
		h := shifted(t, disk)
		release := make(chan struct{})
		disk.set(func(m *memory) { m.hang, m.hangAt = release, 2500 })
		response := make(chan error, 1)
		go func() { response <- h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote}) }()
		synctest.Wait()
		next := spec(func(r *whittle.Route) {
			if !same {
				r.Rollout.Steps = []whittle.Share{100, 5000, whittle.All}
			}
		})
		fatal.If(t, h.c.Reload(whittle.Upstream{}, []whittle.Route{next}, noSwap))
		disk.set(func(m *memory) { m.hang = nil })
		close(release)
		err := <-response
		pass(time.Second)
		if same && (err != nil || h.share() != 2500) {
			t.Errorf("share %d, %v", h.share(), err)
		}
		if !same && (whittle.CodeOf(err) != whittle.FailedPrecondition || !strings.Contains(err.Error(), "steps are being reloaded") || h.share() != 100) {
			t.Errorf("share %d, %v", h.share(), err)
		}
		fatal.Same(t, slices.Contains(h.journal.take(), "applied 2500"), same, "2500 was in force")
	})
}

// A process goes on where another has stopped at the start alone: a route that leaves the config later and comes
// back has not counted meanwhile, and its ledger says so.
func TestARouteThatComesBackAfterATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := newRig(t, disk, spec())
		h.run()
		pass(2 * time.Second)
		fatal.If(t, h.stop())
		h.begin(func(o *control.Options) { o.Follows = true })
		h.run()
		pass(2 * time.Second)
		if gap := h.status().Ledger.Gap; gap != nil {
			t.Errorf("the takeover left the gap %+v", gap)
		}
		gone := time.Now()
		for i, routes := range [][]whittle.Route{nil, {spec()}} {
			if err := h.c.Reload(whittle.Upstream{}, routes, noSwap); err != nil {
				t.Fatalf("reload %d: %v", i, err)
			}
			pass(time.Minute)
		}
		if gap := h.status().Ledger.Gap; gap == nil || gap.From.Before(gone) || gap.To.Sub(gap.From) < time.Minute {
			t.Errorf("it was away for a minute, and its ledger has the gap %+v", gap)
		}
	})
}
