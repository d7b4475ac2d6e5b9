package control_test

import (
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
		if p := again.latest[name]; p.Phase != whittle.PhaseLive {
			t.Errorf("%+v in force once it runs", p)
		}
		pass(2 * time.Second)
		if gap := again.status().Ledger.Gap; gap == nil || !gap.From.Equal(saved) || !gap.To.Equal(saved.Add(2*time.Minute)) {
			t.Errorf("the gap is %+v, saved at %v", gap, saved)
		}
		_ = again.stop()
	})
}

// TestARiseOutlivesAReloadOfItsSteps: a rise that is on its way to the disk gets there
// where the reload leaves its steps alone, and is given up where they are others.
func TestARiseOutlivesAReloadOfItsSteps(t *testing.T) {
	for label, same := range map[string]bool{"same steps": true, "other steps": false} {
		t.Run(label, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
				if slices.Contains(h.journal.take(), "applied 2500") != same {
					t.Errorf("2500 was in force: %v", !same)
				}
				_ = h.stop()
			})
		})
	}
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
		o := h.options([]whittle.Route{spec()})
		o.Follows = true
		var err error
		if h.c, err = control.New(o); err != nil {
			t.Fatal(err)
		}
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
		_ = h.stop()
	})
}
