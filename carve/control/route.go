package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/rollout"
)

// route is one route's evidence, rollout and place on disk. Two goroutines
// belong to it: decide, which never waits for a disk, and persist, which does
// nothing else.
type route struct {
	c    *Controller
	name string
	box  mailbox
	wake chan struct{} // of one place: decide
	save chan struct{} // of one place: persist

	// known is the judge, for what may be asked without mu.
	known atomic.Pointer[Judge]

	cancel context.CancelFunc // set by start
	wg     sync.WaitGroup

	mu sync.Mutex // guards the following, and is never held over I/O
	// spec is the route as the config has it now.
	spec  whittle.Route
	epoch string
	judge Judge
	guard Guard
	// begun is when the evidence was begun afresh; what arrived before it may
	// be of another candidate. Zero: not in this process.
	begun time.Time
	// exposed says that the guard has seen users on the candidate, so that it
	// is reset before another shift.
	exposed bool
	// verdict is the judge's last word; stale says that it has seen more.
	verdict whittle.Verdict
	stale   bool
	// st is the rollout in force. A rise that is not on disk yet is in rise.
	st   rollout.State
	rise *rise
	// frozen keeps every user on the monolith while the config is reloaded.
	frozen bool
	// trip is why the breaker tripped, kept until the share is 0: an order and a
	// rise that ends read it as well, and neither of them makes the fall.
	trip string
	// watched is the share of the candidate's responses that are compared, as last
	// put in force.
	watched     whittle.Share
	everWatched bool
	// served counts good responses of the candidate to users in this step.
	served int
	// compared is the ledger's count, kept beside the evidence so that both
	// are saved at the same point.
	compared int64
	timeline []whittle.Decision
	sides    [2]traffic // by whittle.Side
	past     past
	// restored is the ledger as it was loaded, until enter hands it on.
	restored whittle.Ledger
	spare    []whittle.Outcome

	disk disk
}

// rise is a decision that must be on disk before it is applied.
type rise struct {
	next     rollout.State
	decision whittle.Decision
	done     chan error // of one place: gets nil when it is in force
}

// enter gives the gateway the route's ledger and share.
func (r *route) enter() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.c.o.Restore(r.name, r.restored)
	r.restored = whittle.Ledger{}
	r.apply()
}

// apply puts the share in force. The caller holds mu.
func (r *route) apply() {
	if r.frozen {
		r.c.o.Apply(r.name, 0, whittle.PhaseShadow)
		return
	}
	r.watch()
	r.guard.Share(r.st.Share)
	r.c.o.Apply(r.name, r.st.Share, r.st.Phase)
}

// watch puts in force how many of the candidate's responses to users are compared,
// where that has changed. The caller holds mu.
func (r *route) watch() {
	share := rollout.Watch(r.spec.Rollout, r.st, r.judge.Served(), r.judge.ServedNeeded, r.spec.Mirror.Watch)
	if share != r.watched || !r.everWatched {
		r.watched, r.everWatched = share, true
		r.c.o.Watch(r.name, share)
	}
}

// harm is where the harm budget stands in a state. The caller holds mu.
func (r *route) harm(st rollout.State) whittle.Harm {
	perSecond := r.sides[whittle.Candidate].shown(r.c.o.Now()).PerSecond * r.watched.Percent() / 100
	return rollout.Budget(r.spec.Rollout, st, r.judge.Served(), r.judge.ServedNeeded, perSecond)
}

func (r *route) start(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(ctx)
	r.mu.Lock()
	r.disk.open = true
	r.mu.Unlock()
	r.wg.Go(func() { r.decide(ctx) })
	r.wg.Go(func() { r.persist(ctx) })
}

// stop ends the route's goroutines, waits for them, and responses whoever waits.
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

func (r *route) decide(ctx context.Context) {
	tick := time.NewTicker(r.c.o.Tick)
	defer tick.Stop()
	for {
		r.step(true)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-r.wake:
		}
	}
}

// step asks the rollout what follows from what is known now. Without rises
// only what needs no disk first is carried out.
func (r *route) step(rises bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.c.o.Now()
	in := r.evidence()
	next, d := rollout.Step(r.spec.Rollout, r.st, in, now)
	switch {
	case d == nil:
		r.st = next
	case next.Share <= r.st.Share:
		r.settle(next, *d)
	case rises && !r.frozen && r.rise == nil && !now.Before(r.disk.retryAt):
		r.propose(next, *d)
	}
	r.watch()
	r.remember(now)
	r.saveWhenDue(now)
}

// evidence empties the mailbox and sums up what the rollout must know. The
// caller holds mu.
func (r *route) evidence() rollout.Input {
	outcomes, tripped := r.box.take(r.spare)
	for i := range outcomes {
		r.eat(&outcomes[i])
	}
	r.spare = outcomes
	r.trip = cmp.Or(r.trip, tripped)
	in := rollout.Input{StepServed: r.served, Harm: r.harm(r.st), Wait: r.guard.Wait()}
	in.Verdict, in.Summary, in.Ground = r.judged().State, r.judged().Summary, r.ground()
	if r.st.Share == 0 {
		if r.trip != "" {
			r.apply() // the gateway holds a trip against the route until it is told 0
			r.trip = ""
		}
		return in // whatever a guard still says is about users of the past
	}
	if r.trip != "" {
		in.Breach = &rollout.Breach{Guard: "breaker", Hard: true, Reason: r.trip}
		return in
	}
	for _, m := range r.guard.Meters() {
		if m.Breached {
			in.Breach = &rollout.Breach{Guard: m.Name, Reason: m.Summary}
			break
		}
	}
	return in
}

func (r *route) eat(o *whittle.Outcome) {
	r.disk.changed = true
	r.sides[o.Side].user(o, r.c.o.Now())
	if o.Side == whittle.Candidate {
		if r.st.Share == 0 {
			return // a straggler from before a fall
		}
		r.exposed = true
		if !o.Bad() && o.Failure == whittle.NoFailure {
			r.served++
		}
	}
	r.guard.Outcome(*o)
}

// judged is the verdict on all that was observed. It is a copy of what belongs
// to the judge, because a status is read long after the judge has gone on. The
// caller holds mu.
func (r *route) judged() whittle.Verdict {
	if r.stale {
		v := r.judge.Verdict()
		v.Bounds = slices.Clone(v.Bounds)
		identify(v.Bounds)
		v.Findings = slices.Clone(v.Findings)
		for i := range v.Findings {
			v.Findings[i].Samples = slices.Clone(v.Findings[i].Samples)
		}
		r.verdict, r.stale = v, false
	}
	return r.verdict
}

func (r *route) observe(x *whittle.Exchange) whittle.Observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.st.Phase == whittle.PhaseOff {
		return whittle.Observation{Skip: whittle.SkipOff}
	}
	if x.At.Before(r.begun) {
		return whittle.Observation{Skip: whittle.SkipStale}
	}
	r.besides(x)
	o := r.judge.Observe(x)
	r.stale, r.disk.changed = true, true
	// Before the shift too: the guards learn of the monolith from it. What is not
	// compared may still be a failure of either side.
	r.guard.Pair(pairOf(x, o))
	if o.Skip != "" {
		return o
	}
	if x.Monolith.Failure == whittle.NoFailure && x.Candidate.Failure == whittle.NoFailure {
		r.compared++ // the ledger has failures under a heading of their own
	}
	if r.st.Share > 0 {
		r.exposed = true
		if o.Differs {
			notify(r.wake)
		}
	}
	return o
}

func (r *route) recheck(again *whittle.Recheck) (after time.Duration, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.st.Phase == whittle.PhaseOff || again.Exchange.At.Before(r.begun) {
		return 0, false
	}
	after, more = r.judge.Recheck(again)
	if !more {
		r.stale, r.disk.changed = true, true
		notify(r.wake)
	}
	return after, more
}

// pairOf is an exchange as the guards see it.
func pairOf(x *whittle.Exchange, o whittle.Observation) whittle.Pair {
	outcome := func(side whittle.Side, a *whittle.Response) whittle.Outcome {
		return whittle.Outcome{
			Route: x.Route, User: x.User, At: x.At, Side: side, Status: a.Status, Failure: a.Failure, Latency: a.Latency,
		}
	}
	return whittle.Pair{
		User: x.User, At: x.At, First: x.First(),
		Monolith: outcome(whittle.Monolith, &x.Monolith), Candidate: outcome(whittle.Candidate, &x.Candidate),
		Compared: o.Skip == "", Differs: o.Differs, Repeated: o.Repeated, SelfDiffers: o.SelfDiffers, Steady: o.Steady, SelfSteady: o.SelfSteady,
	}
}

// besides counts the call that was made beside the user's first one. The caller
// holds mu.
func (r *route) besides(x *whittle.Exchange) {
	if x.Served == whittle.Candidate || x.FellBack {
		r.sides[whittle.Monolith].mirrored(&x.Monolith, r.c.o.Now())
		return
	}
	r.sides[whittle.Candidate].mirrored(&x.Candidate, r.c.o.Now())
}

// propose keeps a rise until it is on disk. The caller holds mu.
func (r *route) propose(next rollout.State, d whittle.Decision) *rise {
	if r.st.Share == 0 && r.exposed {
		r.guard.Reset()
		r.exposed = false
	}
	r.rise = &rise{next: next, decision: d, done: make(chan error, 1)}
	r.saveNow()
	return r.rise
}

// settle takes a decision that raises nothing: it is in force at once, and on
// disk as soon as may be. The caller holds mu.
func (r *route) settle(next rollout.State, d whittle.Decision) {
	r.dropRise(whittle.Errorf(whittle.FailedPrecondition, "overtaken: %s", d.Reason))
	r.adopt(next, d)
	r.apply()
	r.saveNow()
}

// adopt makes a decision part of the route. The caller holds mu.
func (r *route) adopt(next rollout.State, d whittle.Decision) {
	if !next.Since.Equal(r.st.Since) {
		r.served = 0
	}
	if next.Share == 0 {
		r.trip = "" // this is the fall, and whoever adopts it applies it
	}
	r.st = next
	r.timeline = appendTimeline(r.timeline, d)
	r.c.o.Log.Info("rollout decided", "route", r.name, "from_bp", d.From, "to_bp", d.To,
		"phase", string(d.Phase), "reason", d.Reason, "by", d.By)
}

// dropRise gives up a rise that is not in force. The caller holds mu.
func (r *route) dropRise(err error) {
	if r.rise != nil {
		r.rise.done <- err
		r.rise = nil
	}
}

// afresh forgets the evidence, and what is still on its way to it. The caller
// holds mu.
func (r *route) afresh(j Judge, g Guard) {
	r.judge, r.guard, r.begun = j, g, r.c.o.Now()
	r.known.Store(&j)
	r.past.evidence = thinned[whittle.EvidencePoint]{}
	r.exposed, r.stale = false, true
	r.disk.changed = true
}

// trouble is what an operator should know before anything else, as a sentence
// with a space behind it. The caller holds mu.
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
