package control_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/carve/control"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// slow is a judge that hangs in a comparison, or while it is encoded.
type slow struct {
	control.Judge
	compares, encodes *hold
}

// hold lets everything through until it is shut.
type hold struct {
	reached chan struct{} // of one place: somebody waits

	mu   sync.Mutex // guards the following
	wait chan struct{}
}

func newHold() *hold { return &hold{reached: make(chan struct{}, 1)} }

func (g *hold) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wait = make(chan struct{})
}

func (g *hold) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wait != nil {
		close(g.wait)
		g.wait = nil
	}
}

func (g *hold) pass() {
	g.mu.Lock()
	wait := g.wait
	g.mu.Unlock()
	if wait == nil {
		return
	}
	select {
	case g.reached <- struct{}{}:
	default:
	}
	<-wait
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
	for label, hang := range map[string]func(s *slow, h *rig){
		"comparison": func(s *slow, h *rig) {
			s.compares.shut()
			go h.c.Observe(exchange(200))
			<-s.compares.reached
		},
		"encoding": func(s *slow, h *rig) {
			s.encodes.shut()
			h.c.Observe(exchange(200)) // which is to be saved
			<-s.encodes.reached
		},
	} {
		t.Run(label, func(t *testing.T) {
			h := newRig(t, &memory{}, spec())
			o := h.options([]whittle.Route{spec()})
			held := &slow{compares: newHold(), encodes: newHold()}
			newJudge := o.NewJudge
			o.NewJudge = func(c whittle.Comparison) (control.Judge, error) {
				j, err := newJudge(c)
				held.Judge = j
				return held, err
			}
			o.Tick = time.Millisecond
			c, err := control.New(o)
			fatal.If(t, err)
			h.c = c
			ctx, cancel := newContext(t)
			ended := make(chan error, 1)
			go func() { ended <- c.Run(ctx) }()
			<-c.Running()
			fatal.If(t, c.Order(t.Context(), name, rollout.Order{Kind: rollout.Promote, Force: true, Reason: "test"}))
			hang(held, h)
			if s := h.status(); s.Share != 100 {
				t.Errorf("the status shows %d", s.Share)
			}
			h.trip("broken")
			atOnce, none := context.WithCancel(t.Context())
			none() // nor is the disk waited for
			err = c.Order(atOnce, name, rollout.Order{Kind: rollout.Rollback})
			if whittle.CodeOf(err) != whittle.DeadlineExceeded || h.share() != 0 {
				t.Errorf("share %d after a rollback: %v", h.share(), err)
			}
			held.compares.open()
			held.encodes.open()
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
