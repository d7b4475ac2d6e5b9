package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/carve/rollout"
	"whittle/carve/state"
)

// The core loop of a route, in the order in which it goes round:
//
//	observe, addOutcome  a response is seen       → evidence (evidence.go)
//	gather, input        the evidence, summed up  → what the rollout must know
//	step                 rollout.Step             → a state and its decision
//	settle               a fall or none           → in force, then on disk
//	propose … rose       a rise                   → on disk, then in force
//	apply                the position, with a generation → the gateway
//	confirm              a rise that proxies had to take → in force
//
// The gateway ignores a position if it has a later one. Control ignores a trip of the
// circuit breaker if the share has been 0 since. So neither side can undo a decision
// of the other that it does not know of.

// gather processes all outcomes that have arrived and takes both locks. release
// releases them.
func (r *route) gather() {
	r.ev.mu.Lock()
	outcomes, tripped := r.box.take(r.ev.spare)
	share, now := r.decided.Load().Share, r.c.o.Now()
	r.ev.setShare(share)
	for i := range outcomes {
		r.pace.user(&outcomes[i], now)
		r.ev.addOutcome(&outcomes[i], share)
	}
	r.ev.spare = outcomes
	r.ev.judged() // which may take long, so before mu
	r.mu.Lock()
	if (r.st.Share > 0 || r.rise != nil && !r.rise.sent.IsZero()) && tripped.generation > r.zero && r.trip.generation == 0 {
		r.trip = tripped
	}
}

// release undoes gather.
func (r *route) release() {
	r.mu.Unlock()
	r.ev.mu.Unlock()
}

// input is the rollout's input. The caller holds both locks.
func (r *route) input() rollout.Input {
	v := &r.ev.verdict
	r.in = rollout.Input{
		Verdict: v.State, Summary: v.Summary, Ground: r.ground(),
		StepServed: r.ev.servedSince(r.st.Since), Harm: r.harm(r.st),
		Wait: withSteered(r.ev.queries.wait(r.ev.guard.Wait()), r.c.o.Steered(r.name)),
	}
	if len(r.gates.asked) > 0 {
		r.in.Gates = r.gates.states(&r.st)
	}
	if r.st.Share > 0 { // or whatever a guard still says is about users of the past
		r.in.Breach = r.breach()
	}
	return r.in
}

// ground identifies the evidence behind the verdict. The caller holds both locks.
func (r *route) ground() rollout.Ground {
	return rollout.Ground{Epoch: r.epoch, Compared: r.ev.verdict.Compared, Least: r.spec.Compare.MinCompared}
}

// breach is the trip, or the first guard that is breached. The caller holds both
// locks.
func (r *route) breach() *rollout.Breach {
	if r.trip.generation > 0 {
		return &rollout.Breach{Guard: "breaker", Hard: true, Reason: r.trip.reason}
	}
	for _, m := range r.ev.queries.meters(r.ev.guard.Meters()) {
		if m.Breached {
			return &rollout.Breach{Guard: m.Name, Reason: m.Summary}
		}
	}
	return nil
}

// decide steps at each tick, and whenever something has come, until ctx ends.
func (r *route) decide(ctx context.Context) {
	tick := time.NewTicker(r.c.o.Tick)
	defer tick.Stop()
	for {
		r.step(true)
		r.remember()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.wake:
		}
	}
}

// step asks the rollout for the next state and carries it out. Without rises it
// carries out only decisions that need not be on disk first.
func (r *route) step(rises bool) {
	r.gather()
	defer r.release()
	now := r.c.o.Now()
	in := r.input()
	if r.confirm(now) {
		in = r.input()
	}
	next, d := rollout.Step(r.spec.Rollout, r.st, in, now)
	r.st.Refused = next.Refused // the verdict's word counts whatever becomes of the decision
	switch {
	case d == nil:
		r.st = next
	case next.Share <= r.st.Share:
		r.settle(next, *d)
	case rises && !r.frozen && r.rise == nil && !now.Before(r.disk.retryAt) && r.mayRise():
		r.propose(next, *d)
	}
	r.ev.servedSince(r.st.Since) // what comes from now on is of this step
	r.emitVerdict()
	if len(r.spec.Rollout.Gates) > 0 || len(r.gates.asked) > 0 {
		r.askGates(now)
	}
	r.watch(r.st)
	r.saveWhenDue(now)
}

// mayRise reports whether the fleet lets a rise be decided. The caller holds mu.
func (r *route) mayRise() bool { return r.c.o.Fleet == nil || r.c.o.Fleet.MayRise(r.name) }

// settle puts a decision that is no rise in force at once, and on disk as soon as
// possible. The caller holds mu.
func (r *route) settle(next rollout.State, d whittle.Decision) {
	r.endRise(whittle.Errorf(whittle.FailedPrecondition, "overtaken: %s", d.Reason))
	d.Generation = r.issue()
	r.adopt(next, d)
	r.apply()
	r.saveNow()
}

// rise is a decision that must be on disk before it is applied.
type rise struct {
	next     rollout.State
	decision whittle.Decision
	done     chan error // of one place: gets nil when it is in force
	// sent is when it went to proxies that have to confirm it. Zero: it did not.
	sent time.Time
}

// propose keeps a rise until it is on disk. The caller holds both locks.
func (r *route) propose(next rollout.State, d whittle.Decision) *rise {
	if r.st.Share == 0 && r.ev.exposed {
		r.ev.guard.Reset()
		r.ev.queries.reset()
		r.ev.exposed = false
	}
	d.Generation = r.issue()
	r.rise = &rise{next: next, decision: d, done: make(chan error, 1)}
	r.saveNow()
	return r.rise
}

// rose puts a rise in force once it is on disk. It drops the rise if the evidence has
// turned against it meanwhile, or if the gateway refuses it because of a trip that
// control does not know yet.
func (r *route) rose(up *rise, shown *snapshot) {
	r.gather()
	defer r.release()
	if up != r.rise {
		return
	}
	in := r.input()
	refused := in.Breach != nil || in.Verdict == whittle.Different
	if !refused {
		r.watch(up.next)
		if r.put(&up.next, up.decision.Generation) {
			if r.c.o.Steered(r.name) != nil {
				up.sent = r.c.o.Now()
				return // confirm goes on
			}
			r.disk.shown = shown
			r.risen(up)
			return
		}
		r.disk.retryAt = r.c.o.Now().Add(retrySave)
	}
	r.dropRise(whittle.Errorf(whittle.FailedPrecondition, "overtaken by the evidence: %s", in.Summary))
	r.wake.Notify()
}

// risen makes a rise that is in force part of the route. The caller holds both locks.
func (r *route) risen(up *rise) {
	r.rise = nil
	r.adopt(up.next, up.decision)
	r.ev.servedSince(r.st.Since)
	up.done <- nil
}

// confirmWithin is how long proxies have to confirm a rise before it is given up.
const confirmWithin = 30 * time.Second

// confirm puts a rise in force that all proxies have confirmed. It gives up one that the evidence
// has turned against, or that a proxy has not confirmed for long: then all are told the share
// from before, and the route is held, since users must not go to and fro. It reports whether
// anything has changed. The caller holds both locks.
func (r *route) confirm(now time.Time) (changed bool) {
	up := r.rise
	if up == nil || up.sent.IsZero() {
		return false
	}
	s := r.c.o.Steered(r.name)
	switch {
	case r.trip.generation > 0: // users are on the candidate, and what follows takes them off it
		r.risen(up)
	case r.in.Breach != nil || r.in.Verdict == whittle.Different:
		r.dropRise(whittle.Errorf(whittle.FailedPrecondition, "overtaken by the evidence: %s", r.in.Summary))
	case s == nil || s.Share == up.next.Share && s.Wait == "":
		up.next.Since = now // the step begins now, and not when it was decided
		r.disk.shown = r.snapshot(up.next, up.decision.Generation, appendTimeline(r.timeline, up.decision), 0)
		r.risen(up)
		r.saveNow()
	case now.Sub(up.sent) > confirmWithin:
		why := strings.ToValidUTF8(s.Wait[:min(len(s.Wait), rollout.MaxReason)], "")
		next, d, err := rollout.Command(r.spec.Rollout, r.st, r.in, rollout.Order{Kind: rollout.Hold, By: rollout.Self, Reason: why}, now)
		if err != nil { // nothing to hold, as somebody has switched it off
			r.dropRise(err)
			break
		}
		r.settle(next, *d)
	default:
		return false
	}
	return true
}

// withSteered adds why proxies let a rise wait to why guards do.
func withSteered(wait string, s *whittle.SteerStatus) string {
	switch {
	case s == nil || s.Wait == "":
		return wait
	case wait == "":
		return s.Wait
	}
	return wait + "; " + s.Wait
}

// endRise gives up a rise that is not in force. The caller holds mu.
func (r *route) endRise(err error) {
	if r.rise != nil {
		r.rise.done <- err
		r.rise = nil
	}
}

// dropRise gives up a rise. The disk may already have it, so the position in force is
// saved again under a higher generation. The caller holds mu.
func (r *route) dropRise(err error) {
	if r.rise != nil {
		r.endRise(err)
		r.renew()
	}
}

// adopt makes a decision part of the route. The caller holds mu.
func (r *route) adopt(next rollout.State, d whittle.Decision) {
	r.emit(&next, &d)
	r.st, r.generation = next, d.Generation
	if next.Share == 0 {
		r.zero, r.trip = d.Generation, trip{} // this is the fall, and whoever adopts it applies it
	}
	r.decided.Store(&whittle.Position{Generation: r.generation, Share: next.Share, Phase: next.Phase})
	r.timeline = appendTimeline(r.timeline, d)
	r.c.o.Log.Info("rollout decided", "route", r.name, "from_bp", d.From, "to_bp", d.To,
		"phase", string(d.Phase), "reason", d.Reason, "by", d.By, "generation", d.Generation)
}

// issue gives the next generation. The caller holds mu.
func (r *route) issue() uint64 {
	r.issued++
	return r.issued
}

// renew puts the decided state in force under a new generation: because one was issued that
// is not in force, or because the gateway's position must be replaced without a decision. It
// does not save right after a save that failed. The caller holds mu.
func (r *route) renew() {
	r.generation = r.issue()
	r.apply()
	r.disk.gen++
	if !r.c.o.Now().Before(r.disk.retryAt) {
		r.ask()
	}
}

// apply puts the decided state in force. The caller holds mu.
func (r *route) apply() { r.put(&r.st, r.generation) }

// put puts a state in force under a generation; while the config is reloaded the share
// is 0. False: the gateway refused it. The caller holds mu.
func (r *route) put(st *rollout.State, generation uint64) (inForce bool) {
	p := whittle.Position{Generation: generation, Zero: r.zero, Share: st.Share, Phase: st.Phase}
	if r.frozen {
		p.Share, p.Phase = 0, whittle.PhaseShadow
	}
	return r.c.o.Apply(r.name, p)
}

func (d *disk) response(upTo uint64, err error) {
	d.waiters = slices.DeleteFunc(d.waiters, func(w waiter) bool {
		if w.gen > upTo {
			return false
		}
		w.done <- err
		return true
	})
}

// saveNow makes persist save a decision. The caller holds mu.
func (r *route) saveNow() {
	r.disk.gen++
	r.ask()
}

// ask wakes persist. The caller holds mu.
func (r *route) ask() {
	r.disk.asked = true
	r.save.Notify()
}

// saveWhenDue makes persist save evidence that is a second old, and retry a save that
// failed. The caller holds both locks.
func (r *route) saveWhenDue(now time.Time) {
	since := now.Sub(r.disk.began)
	if r.disk.asked || now.Before(r.disk.retryAt) || (since >= 0 && since < saveEvery) {
		return
	}
	if r.disk.err != nil || r.disk.saved < r.disk.gen || r.ev.changed {
		r.ask()
		return
	}
	if r.c.reportsOf(r.name) != r.disk.reports {
		r.ask()
	}
}

// persist is the only goroutine that waits for the route's place on disk.
func (r *route) persist(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.save:
			_ = r.saveOnce() // kept in disk.err, logged, and tried again
		}
	}
}

// flush saves what is not on disk yet, once nothing decides any more.
func (r *route) flush() error {
	r.step(false)
	return r.saveOnce()
}

func (r *route) saveOnce() error {
	d, err := r.draft()
	var record state.Record
	if err == nil {
		record, err = d.record()
	}
	if err == nil {
		err = r.c.o.Store.Save(r.name, record)
	}
	if err != nil {
		r.failed(d, err)
		return err
	}
	r.saved(d)
	if d.rise != nil {
		r.rose(d.rise, d.shown)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.disk.response(d.gen, nil)
	return nil
}

// saved takes note of what is on disk now.
func (r *route) saved(d *draft) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.disk.err != nil {
		r.c.o.Log.Info("state is saved again", "route", r.name)
	}
	r.disk.err, r.disk.retryAt, r.disk.reports = nil, time.Time{}, d.reports
	r.disk.saved = max(r.disk.saved, d.gen)
	if d.rise == nil {
		r.disk.shown = d.shown
	}
}

// failed blocks rises of the share. Everything else stays in force.
func (r *route) failed(d *draft, err error) {
	r.ev.mu.Lock()
	r.ev.changed = true
	r.ev.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.disk.err == nil {
		r.c.o.Log.Error("state cannot be saved; no share rises until it can", "route", r.name, "err", err)
	}
	r.disk.err = err
	r.disk.failures++
	r.disk.retryAt = r.c.o.Now().Add(retrySave)
	if d.rise != nil && d.rise == r.rise {
		r.dropRise(whittle.Errorf(whittle.CodeOf(err), "the share stays as it is, since its rise cannot be saved: %w", err))
	}
	r.disk.response(d.gen, whittle.Errorf(whittle.CodeOf(err), "in force, but it cannot be saved, so a restart would not know of it: %w", err))
}

// watch sets the share of the candidate's responses to users that are compared, if it
// has changed. The caller holds both locks.
func (r *route) watch(st rollout.State) {
	share := rollout.Watch(r.spec.Rollout, st, r.ev.judge.Served(), r.ev.judge.ServedNeeded, r.spec.Mirror.Watch)
	if share != r.watched || !r.everWatched {
		r.watched, r.everWatched = share, true
		r.c.o.Watch(r.name, share)
	}
}

// harm is the state of the harm budget. The caller holds both locks.
func (r *route) harm(st rollout.State) whittle.Harm {
	perSecond := r.pace.shown(whittle.Candidate, r.c.o.Now()).PerSecond * r.watched.Percent() / 100
	return rollout.Budget(r.spec.Rollout, st, r.ev.known(), r.ev.judge.ServedNeeded, perSecond)
}

// trouble is the problem that an operator must know first, as a sentence with a
// trailing space; empty: none. The caller holds mu.
func (r *route) trouble() string {
	if r.disk.err == nil {
		return ""
	}
	text := fmt.Sprintf("The state cannot be saved (%v); no share rises until it can. ", r.disk.err)
	if shown := r.disk.shown; shown != nil && shown.st.Share != r.st.Share {
		text += fmt.Sprintf("In force is %s %%, which is not on disk yet. ", trimmed(r.st.Share))
	}
	return text
}

// emit hands on a decision that is in force, as an event. The caller holds mu, and has
// not adopted the decision yet.
func (r *route) emit(next *rollout.State, d *whittle.Decision) {
	if r.c.o.Notify == nil {
		return
	}
	e := whittle.Event{
		Kind: r.eventKind(next, d), Route: r.name, At: d.At, From: d.From, To: d.To, Phase: d.Phase,
		Reason: d.Reason, By: d.By, Generation: d.Generation, Verdict: r.in.Verdict,
	}
	r.c.o.Notify(e)
}

func (r *route) eventKind(next *rollout.State, d *whittle.Decision) whittle.EventKind {
	switch moved := next.Phase != r.st.Phase; {
	case r.trip.generation > 0 && d.To == 0 && d.By == rollout.Self:
		return whittle.EventTrip
	case moved && next.Phase == whittle.PhaseRolledBack:
		return whittle.EventRollback
	case moved && next.Phase == whittle.PhaseLive:
		return whittle.EventFinished
	case d.To > d.From:
		return whittle.EventRise
	case d.To < d.From:
		return whittle.EventFall
	case d.By == rollout.Self && next.Since.Equal(r.st.Since):
		return whittle.EventGate
	}
	return whittle.EventOrder
}

// emitVerdict hands on a verdict that is another one than before. The caller holds both
// locks.
func (r *route) emitVerdict() {
	v := &r.ev.verdict
	if r.announced == v.State {
		return
	}
	r.announced = v.State
	if r.c.o.Notify == nil || v.Compared == 0 {
		return
	}
	r.c.o.Notify(whittle.Event{
		Kind: whittle.EventVerdict, Route: r.name, At: r.c.o.Now(), From: r.st.Share, To: r.st.Share, Phase: r.st.Phase,
		Reason: "The verdict is " + rollout.VerdictIs(v.State, v.Summary), By: rollout.Self, Generation: r.generation, Verdict: v.State,
	})
}
