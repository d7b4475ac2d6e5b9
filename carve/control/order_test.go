package control_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

func TestOrdersOnAHungDisk(t *testing.T) {
	inShift(t, func(t *testing.T, h *rig) {
		disk := h.disk
		release := make(chan struct{})
		disk.set(func(m *memory) { m.hang, m.hangAt = release, 2500 })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		fatal.Same(t, whittle.CodeOf(h.c.Order(ctx, name, rollout.Order{Kind: rollout.Promote})), whittle.DeadlineExceeded, "promote")
		fatal.Same(t, whittle.CodeOf(h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote})), whittle.FailedPrecondition, "promote again")
		first := make(chan error, 1)
		go func() { first <- h.c.Order(t.Context(), name, rollout.Order{Kind: rollout.Rollback, Reason: "pager"}) }()
		synctest.Wait()
		fatal.Same(t, h.share(), 0, "a rollback waits for the disk")
		close(release)
		if err := <-first; err != nil {
			t.Errorf("rollback: %v", err)
		}
		fatal.Same(t, h.status().Phase, whittle.PhaseRolledBack, "at last")
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
			})
		})
	}
}

// slow is a judge that hangs in a comparison, or while it is encoded.
type slow struct {
	control.Judge
	compares, encodes *hold
}

// hold lets everything through while it is not locked.
type hold struct {
	sync.Mutex
	reached chan struct{} // of one place: somebody waits
}

func newHold() *hold { return &hold{reached: make(chan struct{}, 1)} }

func (g *hold) pass() {
	if !g.TryLock() {
		select {
		case g.reached <- struct{}{}:
		default:
		}
		g.Lock()
	}
	g.Unlock()
}

func (s *slow) Observe(x *whittle.Exchange) whittle.Observation {
	s.compares.pass()
	return s.Judge.Observe(x)
}

func (s *slow) MarshalBinary() ([]byte, error) {
	s.encodes.pass()
	return s.Judge.MarshalBinary()
}

// A comparison, and the encoding of the evidence, may take their time: a status is
// shown, a rollback is in force and a trip is taken meanwhile. (On the real clock: a
// goroutine that waits for a lock keeps a bubble's time from passing.)
func TestNothingWaitsForAComparisonOrAnEncoding(t *testing.T) {
	for label, hang := range map[string]func(s *slow, h *rig) *hold{
		"comparison": func(s *slow, h *rig) *hold {
			s.compares.Lock()
			go h.c.Observe(exchange(200))
			return s.compares
		},
		"encoding": func(s *slow, h *rig) *hold {
			s.encodes.Lock()
			h.c.Observe(exchange(200)) // which is to be saved
			return s.encodes
		},
	} {
		t.Run(label, func(t *testing.T) {
			h := newRig(t, &memory{}, spec())
			held := &slow{compares: newHold(), encodes: newHold()}
			h.begin(func(o *control.Options) {
				newJudge := o.NewJudge
				o.NewJudge = func(c whittle.Comparison) (control.Judge, error) {
					j, err := newJudge(c)
					held.Judge = j
					return held, err
				}
				o.Tick = time.Millisecond
			})
			c := h.c
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- c.Run(ctx) }()
			<-c.Running()
			fatal.If(t, c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote, Force: true, Reason: "test"}))
			hung := hang(held, h)
			<-hung.reached
			fatal.Same(t, h.status().Share, 100, "the status shows")
			h.trip("broken")
			atOnce, none := context.WithCancel(t.Context())
			none() // nor is the disk waited for
			err := c.Order(atOnce, name, rollout.Order{Kind: rollout.Rollback})
			if whittle.CodeOf(err) != whittle.DeadlineExceeded || h.share() != 0 {
				t.Errorf("share %d after a rollback: %v", h.share(), err)
			}
			hung.Unlock()
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if s := h.status(); s.Share != 0 || len(s.Timeline) != 2 {
				t.Errorf("at last %+v", s)
			}
		})
	}
}
