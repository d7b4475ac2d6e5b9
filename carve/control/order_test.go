package control_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

func TestOrdersOnAHungDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := shifted(t, disk)
		release := make(chan struct{})
		disk.set(func(m *memory) { m.hang, m.hangAt = release, 2500 })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := h.c.Order(ctx, name, rollout.Order{Kind: rollout.Promote}); whittle.CodeOf(err) != whittle.DeadlineExceeded {
			t.Errorf("promote: %v", err)
		}
		if err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote}); whittle.CodeOf(err) != whittle.FailedPrecondition {
			t.Errorf("promote again: %v", err)
		}
		first := make(chan error, 1)
		go func() { first <- h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Rollback, Reason: "pager"}) }()
		synctest.Wait()
		if h.share() != 0 {
			t.Error("a rollback waits for the disk")
		}
		close(release)
		if err := <-first; err != nil {
			t.Errorf("rollback: %v", err)
		}
		if s := h.status(); s.Phase != whittle.PhaseRolledBack {
			t.Errorf("at last: %+v", s)
		}
		_ = h.stop()
	})
}

// TestAnOrderAgainstAnOlderView: an order that names the generation which its giver
// saw is refused where the route has moved on, unless it can only lower the share.
func TestAnOrderAgainstAnOlderView(t *testing.T) {
	for _, kind := range rollout.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newRig(t, &memory{}, spec(func(r *whittle.Route) {
					if kind == rollout.Approve {
						r.Rollout.Gates = []whittle.Gate{{Name: "board", Before: []whittle.GateMoment{whittle.GateStep}}}
					}
				}))
				shift(h)
				if kind == rollout.Resume {
					fatal.If(t, h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Hold}))
				}
				seen := h.status().Generation
				h.users(whittle.Candidate, 200, 5)
				if kind == rollout.Approve {
					fatal.If(t, h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Approve}))
				}
				if kind == rollout.Resume {
					fatal.If(t, h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Hold, Reason: "another"}))
				}
				pass(11 * time.Second) // to 25 %, unless it is held
				give := func(generation uint64) error {
					return h.c.Order(t.Context(), name, rollout.Order{Kind: kind, Generation: generation})
				}
				share, lowers := h.share(), kind == rollout.Rollback || kind == rollout.Off || kind == rollout.Hold
				if err := give(seen); lowers != (err == nil) || !lowers && (whittle.CodeOf(err) != whittle.FailedPrecondition || h.share() != share) {
					t.Errorf("share %d, %v", h.share(), err)
				}
				if err := give(h.status().Generation); !lowers && err != nil {
					t.Errorf("against the present one: %v", err)
				}
				_ = h.stop()
			})
		})
	}
}
