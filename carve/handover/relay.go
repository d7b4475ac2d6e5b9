// Package handover lets a gateway be replaced by another process while users are
// served. The successor starts and reads its config; then decisions end, the state file
// is let go of, and the successor takes both over, and accepts from the same sockets.
// The predecessor accepts no more and ends the requests that it has. What these teach
// is judged by the successor, whose decisions are in force in both: so there is one
// ledger, one position and one judge at any time. Whatever fails before the successor
// serves leaves the predecessor as it was.
package handover

import (
	"context"
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/internal/notify"
)

// Control is what gateways tell of their requests, as gateway.Options has it.
type Control interface {
	Observe(x *whittle.Exchange) whittle.Observation
	// ObserveOf is Observe for a gateway that was replaced, by its run, and Ended takes
	// the last report of one that has ended.
	ObserveOf(run uint64, x *whittle.Exchange) whittle.Observation
	Ended(route string, last whittle.Counts)
	Recheck(r *whittle.Recheck) (time.Duration, bool)
	Known(route string, q *whittle.Request) bool
	Outcome(o whittle.Outcome)
	Tripped(route, reason string, generation uint64)
}

// Gateway is what decisions are put in force in, and what counts requests.
type Gateway interface {
	Apply(route string, p whittle.Position) bool
	Watch(route string, share whittle.Share)
	Counts(route string) whittle.Counts
	// Pace is what is known of how slow a route's candidate is, and of which candidate;
	// LearnPace takes it in.
	Pace(route string) (candidate string, slowest time.Duration)
	LearnPace(route, candidate string, slowest time.Duration)
}

// Relay stands between a gateway and who controls it: the process's own controller, or
// that of the process that has taken over. It is a Control for the one and a Gateway for
// the other. It is safe for concurrent use.
type Relay struct {
	control Control
	gateway Gateway
	record  func(*whittle.Exchange) bool

	// turn is held for writing while control is being handed over: who judges is not
	// known, so whoever may wait does.
	turn sync.RWMutex
	up   *successor // guarded by turn; nil: this process's own controller decides

	box  box
	wake notify.Signal

	mu           sync.Mutex // guards the following
	predecessors []*Predecessor
	// left are the permits that processes had which have ended, by candidate.
	left map[string]permits
}

// permits are how many may still be exposed, and since when there can be no more.
type permits struct {
	n     int
	since time.Time
}

// NewRelay makes a relay, which Bind completes.
func NewRelay() *Relay { return &Relay{wake: notify.New()} }

// Bind says between whom the relay stands, before anything is served. record takes an
// exchange that is to be recorded.
func (r *Relay) Bind(c Control, g Gateway, record func(*whittle.Exchange) bool) {
	r.control, r.gateway, r.record = c, g, record
}

// Observe implements Control. It waits while control is being handed over.
func (r *Relay) Observe(x *whittle.Exchange) whittle.Observation {
	up, done := r.decider()
	defer done()
	if up == nil {
		return r.control.Observe(x)
	}
	return up.observe(r.gateway.Counts(x.Route).Run, x, r.reports(x.Route))
}

// decider waits while control is being handed over, and gives who decides; nil: this
// process's own controller does, until done is called.
func (r *Relay) decider() (up *successor, done func()) {
	r.turn.RLock()
	if r.up == nil {
		return nil, r.turn.RUnlock
	}
	defer r.turn.RUnlock()
	return r.up, func() {}
}

// ObserveOf implements Control, likewise.
func (r *Relay) ObserveOf(run uint64, x *whittle.Exchange) whittle.Observation {
	up, done := r.decider()
	defer done()
	if up == nil {
		return r.control.ObserveOf(run, x)
	}
	return up.observe(run, x, r.reports(x.Route))
}

// Ended implements Control. It never waits.
func (r *Relay) Ended(route string, last whittle.Counts) {
	if !r.locally(func() { r.control.Ended(route, last) }) {
		r.box.end(Ended{route, last})
		r.wake.Notify()
	}
}

// Recheck implements Control. It waits while control is being handed over.
func (r *Relay) Recheck(again *whittle.Recheck) (after time.Duration, more bool) {
	up, done := r.decider()
	defer done()
	if up == nil {
		return r.control.Recheck(again)
	}
	return up.recheck(again)
}

// Known implements Control. Once control is handed over, what was known then is known.
func (r *Relay) Known(route string, q *whittle.Request) bool { return r.control.Known(route, q) }

// Outcome implements Control. It never waits.
func (r *Relay) Outcome(o whittle.Outcome) {
	if !r.locally(func() { r.control.Outcome(o) }) {
		r.box.outcome(o)
		r.wake.Notify()
	}
}

// Tripped implements Control. It never waits.
func (r *Relay) Tripped(route, reason string, generation uint64) {
	if !r.locally(func() { r.control.Tripped(route, reason, generation) }) {
		r.box.trip(trip{route, reason, generation})
		r.wake.Notify()
	}
}

// Record takes an exchange that is to be recorded; false: there is no room. It never
// waits.
func (r *Relay) Record(x *whittle.Exchange) (taken bool) {
	if !r.locally(func() { taken = r.record(x) }) {
		taken = r.box.exchange(x)
		r.wake.Notify()
	}
	return taken
}

// locally calls f if this process's own controller decides.
func (r *Relay) locally(f func()) bool {
	if !r.turn.TryRLock() {
		return false
	}
	defer r.turn.RUnlock()
	if r.up != nil {
		return false
	}
	f()
	return true
}

// Apply implements Gateway, for this process's gateway and those that it has replaced.
func (r *Relay) Apply(route string, p whittle.Position) bool {
	for _, p2 := range r.all() {
		p2.apply(route, p)
	}
	return r.gateway.Apply(route, p)
}

// Watch implements Gateway, likewise.
func (r *Relay) Watch(route string, share whittle.Share) {
	for _, p := range r.all() {
		p.watch(route, share)
	}
	r.gateway.Watch(route, share)
}

// Counts implements Gateway.
func (r *Relay) Counts(route string) whittle.Counts { return r.gateway.Counts(route) }

// Others gives the last reports of the gateways that were replaced.
func (r *Relay) Others(route string) []whittle.Counts {
	var all []whittle.Counts
	for _, p := range r.all() {
		all = append(all, p.reportsOf(route)...)
	}
	return all
}

// Exposed is how many users' requests the processes that were replaced may have exposed
// to a candidate, by a fleet's permits, where the last request of this one with a good
// response began at good. What a process has left behind counts until such a request
// began after its end.
func (r *Relay) Exposed(candidate string, good time.Time) (n int) {
	for _, p := range r.all() {
		n += p.kept(candidate)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if l, ok := r.left[candidate]; ok && good.After(l.since) {
		delete(r.left, candidate)
	}
	return n + r.left[candidate].n
}

// leave keeps what a process that has ended may have exposed. The caller holds mu.
func (r *Relay) leave(p *Predecessor, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for candidate, n := range p.permits {
		if n == 0 {
			continue // all of its requests got good responses
		}
		if r.left == nil {
			r.left = map[string]permits{}
		}
		r.left[candidate] = permits{r.left[candidate].n + n, now}
	}
}

// reports are those of this process's gateway and of those that it has replaced.
func (r *Relay) reports(route string) []whittle.Counts {
	return append(r.Others(route), r.gateway.Counts(route))
}

func (r *Relay) all() []*Predecessor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.predecessors)
}

// take takes what a process reports, and which runs are over. It waits while control is
// being handed over, for the reason of forget.
func (r *Relay) take(p *Predecessor, b *Batch) {
	r.turn.RLock()
	defer r.turn.RUnlock()
	p.take(b.Reports)
	p.ended(b.Ended)
	for _, e := range b.Ended {
		r.endNow(e)
	}
	b.Ended = nil
	r.wake.Notify()
}

// endNow is Ended for who has the turn.
func (r *Relay) endNow(e Ended) {
	if r.up == nil {
		r.control.Ended(e.Route, e.Last)
	} else {
		r.box.end(e)
	}
}

// forget lets go of a process that has ended. It waits while control is being handed
// over: the process is among those alive until whoever decides has its last report.
func (r *Relay) forget(p *Predecessor) {
	r.turn.RLock()
	defer r.turn.RUnlock()
	r.mu.Lock()
	r.predecessors = slices.DeleteFunc(r.predecessors, func(had *Predecessor) bool { return had == p })
	r.leave(p, time.Now())
	r.mu.Unlock()
	for route, reports := range p.last() {
		for _, c := range reports {
			r.endNow(Ended{route, c})
		}
	}
	r.wake.Notify()
}

// AwaitPredecessors waits for the processes that were replaced. Once ctx ends they are
// asked to end soon, and have as long as grace.
func (r *Relay) AwaitPredecessors(ctx context.Context, grace time.Duration) {
	for _, p := range r.all() {
		select {
		case <-p.gone:
			continue
		case <-ctx.Done():
		}
		p.end()
		t := time.NewTimer(grace)
		select {
		case <-p.gone:
		case <-t.C:
		}
		t.Stop()
	}
}
