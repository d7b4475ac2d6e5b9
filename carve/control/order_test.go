package control_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/rollout"
)

func TestOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := newRig(t, disk, spec())
		order := func(o rollout.Order) error { return h.c.Order(t.Context(), name, o) }
		if err := order(rollout.Order{Kind: rollout.Hold}); whittle.CodeOf(err) != whittle.Unavailable {
			t.Errorf("before Run: %v", err)
		}
		h.run()
		mirror(h, 200, 3)
		if err := order(rollout.Order{Kind: rollout.Promote}); whittle.CodeOf(err) != whittle.FailedPrecondition {
			t.Errorf("promoted undecided: %v", err)
		}
		if err := order(rollout.Order{Kind: rollout.Promote, Force: true, Reason: "launch day", By: "ann"}); err != nil {
			t.Fatal(err)
		}
		h.expectLog("applied 0", "saved 0", "saved 100", "applied 100")
		s := h.status()
		if last := s.Timeline[len(s.Timeline)-1]; last.By != "ann" || !strings.Contains(last.Reason, "launch day") {
			t.Errorf("kept as %+v", last)
		}
		if err := order(rollout.Order{Kind: rollout.Hold, Reason: "lunch"}); err != nil || !h.status().Held {
			t.Errorf("hold: %v", err)
		}
		h.say(whittle.Equivalent)
		h.users(whittle.Candidate, 200, 10)
		pass(time.Minute)
		if got := h.share(); got != 100 {
			t.Errorf("share %d while held", got)
		}
		if err := order(rollout.Order{Kind: rollout.Resume}); err != nil || h.status().Held {
			t.Errorf("resume: %v", err)
		}
		pass(time.Second)
		if got := h.share(); got != 2500 {
			t.Errorf("share %d after the hold", got)
		}
		h.journal.take()
		if err := order(rollout.Order{Kind: rollout.Reset, Reason: "mended"}); err != nil {
			t.Fatal(err)
		}
		h.expectLog("applied 0", "saved 0")
		if s := h.status(); s.Phase != whittle.PhaseShadow || s.Verdict.Compared != 0 || s.Share != 0 {
			t.Errorf("after a reset: %+v", s)
		}
		_ = h.stop()
		if err := order(rollout.Order{Kind: rollout.Off}); whittle.CodeOf(err) != whittle.Unavailable {
			t.Errorf("after Run: %v", err)
		}
	})
}

func TestOrdersOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := shifted(t, disk)
		disk.set(func(m *memory) { m.fail = errFull })
		err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote})
		if !errors.Is(err, errFull) || h.share() != 100 {
			t.Errorf("promote: %v, share %d", err, h.share())
		}
		err = h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Rollback})
		if !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "in force") || h.share() != 0 {
			t.Errorf("rollback: %v, share %d", err, h.share())
		}
		_ = h.stop()
	})
}

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

func TestAnOrderOvertakenByABreachFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := shifted(t, disk)
		release := make(chan struct{})
		disk.set(func(m *memory) { m.hang, m.hangAt = release, 2500 })
		response := make(chan error, 1)
		go func() { response <- h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote}) }()
		synctest.Wait()
		h.trip("broken")
		pass(time.Millisecond)
		if err := <-response; whittle.CodeOf(err) != whittle.FailedPrecondition || !strings.HasPrefix(err.Error(), "overtaken") {
			t.Errorf("got %v", err)
		}
		close(release)
		pass(time.Second)
		if s := h.status(); h.share() != 0 || s.Phase != whittle.PhaseRolledBack {
			t.Errorf("at last: %d, %+v", h.share(), s)
		}
		_ = h.stop()
	})
}

// The breaker trips in the very moment in which the rise has reached the disk.
func TestARiseIsNotAppliedOverATrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &memory{}
		h := shifted(t, disk)
		disk.set(func(m *memory) {
			m.after = func(share whittle.Share) {
				if share == 2500 {
					h.trip("broken")
				}
			}
		})
		h.users(whittle.Candidate, 200, 5)
		pass(11 * time.Second)
		for _, line := range h.journal.take() {
			if line == "applied 2500" {
				t.Error("the rise was applied over the trip")
			}
		}
		if s := h.status(); s.Share != 0 || s.Phase != whittle.PhaseRolledBack {
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
					if err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Hold}); err != nil {
						t.Fatal(err)
					}
				}
				seen := h.status().Generation
				h.users(whittle.Candidate, 200, 5)
				if kind == rollout.Approve {
					if err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Approve}); err != nil {
						t.Fatal(err)
					}
				}
				if kind == rollout.Resume {
					if err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Hold, Reason: "another"}); err != nil {
						t.Fatal(err)
					}
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

// TestEquivalentIsRememberedWithoutARise: what the verdict says of an earlier DIFFERENT
// counts although the rise that it leads to cannot be saved.
func TestEquivalentIsRememberedWithoutARise(t *testing.T) {
	for label, order := range map[string]bool{"by itself": false, "by an order": true} {
		t.Run(label, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				disk := &memory{}
				h := newRig(t, disk, spec(func(r *whittle.Route) { r.Compare.MinCompared = 20; r.Rollout.Auto = !order }))
				h.run()
				h.say(whittle.Different)
				pass(time.Second)
				if err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Reset}); err != nil {
					t.Fatal(err)
				}
				disk.set(func(m *memory) { m.fail = errFull })
				word := func(state whittle.State) {
					h.set(func() { h.word = state })
					x := exchange(200)
					x.At = time.Now()
					h.c.Observe(x)
				}
				word(whittle.Equivalent)
				if order {
					if err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote}); !errors.Is(err, errFull) {
						t.Error(err)
					}
				}
				pass(time.Second)
				word(whittle.Undecided)
				disk.set(func(m *memory) { m.fail = nil })
				pass(2 * time.Second)
				err := h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote, Force: true, Reason: "test"})
				if err != nil || h.share() != 100 {
					t.Errorf("share %d, %v", h.share(), err)
				}
				_ = h.stop()
			})
		})
	}
}
