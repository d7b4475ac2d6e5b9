package control

import (
	"context"
	"sync"
	"sync/atomic"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/notify"
)

// route is one route's evidence, rollout and record. It owns two goroutines: decide
// never waits for a disk, persist only writes to it.
type route struct {
	c    *Controller
	name string
	box  mailbox
	wake notify.Signal // decide
	save notify.Signal // persist

	// judge is the one in ev, for calls that need no lock.
	judge atomic.Pointer[Judge]
	// decided is the position in st, for readers without mu.
	decided atomic.Pointer[whittle.Position]
	ev      evidence
	pace    pace

	cancel context.CancelFunc // set by start
	wg     sync.WaitGroup

	mu sync.Mutex // guards the following; never held over I/O, a comparison or an encoding
	// spec is the route as the config has it now, guardID its guard's fingerprint.
	spec    whittle.Route
	guardID string
	epoch   string
	// st is the rollout in force, and generation that of its position. A rise that
	// is not on disk yet is in rise. issued is the last generation that was given
	// out, to a rise that was given up too.
	st                 rollout.State
	generation, issued uint64
	rise               *rise
	// zero is the generation of the last decision for a share of 0: a trip under
	// an earlier one is of a shift that is over.
	zero uint64
	// in is the rollout's last input.
	in rollout.Input
	// gates are asked about the next step.
	gates questions
	// announced is the last verdict that was handed on as an event.
	announced whittle.State
	// frozen keeps every user on the monolith while the config is reloaded.
	frozen bool
	// trip is kept until the share is 0. Orders and rises see it too, but only step sets
	// the share to 0.
	trip trip
	// watched is the share of the candidate's responses that are compared, as last
	// put in force.
	watched     whittle.Share
	everWatched bool
	timeline    []whittle.Decision
	past        past
	disk        disk
}

// start begins the route's two goroutines.
func (r *route) start(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(ctx)
	r.mu.Lock()
	r.disk.open = true
	r.mu.Unlock()
	r.wg.Go(func() { r.decide(ctx) })
	r.wg.Go(func() { r.persist(ctx) })
}

// enter begins to count, and puts the route's share in force: 0 if the saved evidence
// is against the candidate.
func (r *route) enter() {
	r.gather()
	defer r.release()
	now := r.c.o.Now()
	if a := &r.ev.account; a.Since.IsZero() {
		a.Since = now
	} else if a.Gap != nil && !r.c.o.Follows && r.c.o.Fleet == nil {
		a.Gap = &whittle.Gap{From: a.Gap.From, To: now}
	}
	if next, d := rollout.Step(r.spec.Rollout, r.st, r.input(), now); d != nil && next.Share < r.st.Share {
		r.settle(next, *d)
	} else {
		r.apply()
	}
	r.watch(r.st)
}

// stop ends the route's goroutines, waits for them, and releases callers that wait for
// an order.
func (r *route) stop() {
	if r.cancel == nil {
		return
	}
	r.cancel()
	r.wg.Wait()
	r.cancel = nil
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disk.open = false
	ended := whittle.Errorf(whittle.Unavailable, "whittle is shutting down")
	r.dropRise(ended)
	r.disk.response(r.disk.gen, ended)
}

// afresh drops the evidence, including exchanges still on their way to it. The ledger
// goes on. The caller holds both locks.
func (r *route) afresh(j Judge, g Guard) {
	r.ev.judge, r.ev.guard, r.ev.begun = j, g, r.c.o.Now()
	r.ev.share, r.ev.exposed = 0, false
	r.ev.stale, r.ev.changed = true, true
	r.takeReports()
	r.ev.forgetUncompared(&r.spec)
	r.ev.judged()
	r.judge.Store(&j)
	r.past.evidence = thinned[whittle.EvidencePoint]{}
	r.in = rollout.Input{}
}
