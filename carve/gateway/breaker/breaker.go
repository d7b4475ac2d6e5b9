// Package breaker is the circuit breaker between users and the candidate: it
// bounds how many users' requests meet a candidate that is broken from one moment
// to the next, without asking anyone and before any statistics speak.
package breaker

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"whittle"
)

// Breaker is a circuit breaker: it decides, for each user's request, whether the
// candidate may be asked. Closed, requests flow; open, the monolith gets them all.
// It guarantees two things without asking anyone:
//
// The breaker trips after so many bad responses in a row
// (Guard.Consecutive), not counting requests at which the monolith, asked after
// the candidate, failed as well; or when that many requests have waited for longer
// than the candidate's stall timeout without one good response among them.
//
// At most Guard.Exposure users' requests meet a candidate that is broken from
// one moment to the next, over all of its routes (Shared). A request counts from its
// start until it gets a good response. One that was not followed by a good response
// goes on counting until a request that started after its end gets one: only that
// proves that the candidate works again. A broken candidate can give no such proof, so what it has
// touched can only grow up to the bound. A user who goes away before the
// candidate has had its time counts once and not per request: nobody can trip the
// breaker by disconnecting. In phase live there is no bound on
// what is in flight, and only what started since the last good response counts.
type Breaker struct {
	// onTrip is called once each time the breaker trips, without the lock, with the
	// position under which it did.
	onTrip func(reason string, position uint64)

	mu sync.Mutex // guards the following
	// bounds are those of the route that asked last.
	bounds Bounds
	// permits are how many requests a fleet lets be exposed here at the moment, where
	// leased, and until when. A breaker that has none does not trip for that.
	permits int
	until   time.Time // zero: until others are set
	leased  bool
	// closed says that the candidate may be asked at all.
	closed bool
	live   bool
	// position is the generation of the position that was set last.
	position uint64
	// generation counts the times it was closed; a request of an earlier one is no evidence.
	generation uint64
	inFlight   int
	// suspects counts requests at which the candidate failed and the monolith's
	// response to the same request is still awaited.
	suspects int
	// disconnected is, for users who went away before a response, how many unproven responses
	// there were with theirs.
	disconnected map[uint64]int
	// unproven counts responses that were not good since it was closed, and
	// forgiven how many of them a later good response has made up for.
	unproven, forgiven int
	// consecutiveBad is how many responses in a row were bad.
	consecutiveBad int
	// sinceGood is how many requests have started since the last good response,
	// and goods how many of those there were.
	sinceGood int
	goods     uint64
	// waiting is since when Consecutive requests have been in flight without a
	// good response; zero while fewer are.
	waiting time.Time
	// pace is that of the candidate's good responses, mirrored ones too.
	pace  pace
	timer *time.Timer
	// tripped is cancelled when the breaker trips, so that requests with a
	// fallback need not wait for their own timeouts.
	tripped       context.Context //nolint:containedctx // the share's own life, not a call's
	cancelTripped context.CancelFunc
}

// Bounds are a guard's hard ones.
type Bounds struct {
	consecutive, exposure int
	// Shared bounds all routes of the candidate together. Nil: there is no other one.
	Shared *Shared
}

// opened takes note that the breaker has opened.
func (w Bounds) opened() {
	if w.Shared != nil {
		w.Shared.opened()
	}
}

// BoundsOf gives the bounds of a guard, each at least 1.
func BoundsOf(g whittle.Guard) Bounds {
	return Bounds{consecutive: max(g.Consecutive, 1), exposure: max(g.Exposure, 1)}
}

// minStallTimeout keeps a pause of the candidate's (a garbage collection, a
// scheduler's hiccup) from being taken for its end, and leaves room within the
// promised second. Above it, the stall timeout is stallFactor times the slowest good
// response remembered.
const (
	minStallTimeout = 500 * time.Millisecond
	stallFactor     = 4
)

// New makes a breaker that is open. trip is called once each time it trips, with
// the generation of the position under which it did.
func New(trip func(reason string, position uint64)) *Breaker { return &Breaker{onTrip: trip} }

// Permit lets one user's request go to the candidate; Done or Settle releases it.
type Permit struct {
	entry
	// User identifies the user; 0: not known.
	User  uint64
	start time.Time
	// Tripped ends when the breaker trips while the request is under way.
	Tripped context.Context //nolint:containedctx // the share's own life, not a call's
	// common is the breaker that the candidate's routes share, and shared the entry
	// there; nil: there is none.
	common *Breaker
	shared entry
	// Full says of a permit that was refused that the bound on exposure has no room for
	// it: the candidate may be as sound as it can be.
	Full bool
}

// entry is where a breaker stood when it admitted a request.
type entry struct {
	generation uint64
	// seen is how many unproven responses there were at the start.
	seen int
	// goods is how many good responses there were at the start.
	goods uint64
}

// other is the permit of the shared breaker.
func (p *Permit) other() Permit { return Permit{entry: p.shared, User: p.User, start: p.start} }

// Outcome is what a response says of the candidate.
type Outcome uint8

const (
	// Unknown: the client went away before a response showed anything.
	Unknown Outcome = iota
	// Good: the candidate responded as it should.
	Good
	// Bad: the candidate failed.
	Bad
	// Void: whittle itself had no room for a response, as if nobody had asked.
	Void
)

// Set closes the breaker, for a shift or for live service, or opens it, under the
// position of a generation.
func (b *Breaker) Set(closed, live bool, position uint64) {
	b.mu.Lock()
	b.live, b.position = live, position
	switch {
	case closed == b.closed:
	case closed:
		b.close()
	default:
		b.closed = false
		b.stopTimer()
		defer b.bounds.opened() // when mu is free
	}
	b.mu.Unlock()
}

// restart has a closed breaker count from 0: what began before is no evidence.
func (b *Breaker) restart() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		b.stopTimer()
		b.cancelTripped()
		b.close()
	}
}

// close has requests flow, and begins to count them. The caller holds mu.
func (b *Breaker) close() {
	b.closed = true
	b.generation++
	b.unproven, b.forgiven, b.consecutiveBad, b.sinceGood, b.suspects = 0, 0, 0, 0, 0
	b.disconnected = nil
	b.waiting = time.Time{}
	b.tripped, b.cancelTripped = context.WithCancel(context.Background())
}

// goOn closes a breaker that has opened, and goes on counting.
func (b *Breaker) goOn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.tripped, b.cancelTripped = context.WithCancel(context.Background())
}

// stopTimer stops the stall timer. The caller holds mu.
func (b *Breaker) stopTimer() {
	if b.timer != nil {
		b.timer.Stop()
		b.timer = nil
	}
}

// permit sets how many requests a fleet lets be exposed, until when. When it returns no more
// are admitted.
func (b *Breaker) permit(n int, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.permits, b.until, b.leased = n, until, true
}

// expired reports whether the permits are over, by either of the clocks: a process that was
// suspended goes on where it was. The caller holds mu.
func (b *Breaker) expired(now time.Time) bool {
	return !b.until.IsZero() && (now.After(b.until) || now.Round(0).After(b.until.Round(0)))
}

// Admit acquires a permit. False: the monolith responds.
func (b *Breaker) Admit(now time.Time, within Bounds) (Permit, bool) {
	if within.Shared == nil {
		return b.admit(now, within)
	}
	common, other, ok := within.Shared.admit(b.isLive(), now)
	if !ok {
		return Permit{Full: other.Full && b.isClosed()}, false
	}
	p, ok := b.admit(now, within)
	if !ok {
		common.Done(other, Void, now)
	}
	p.common, p.shared = common, other.entry
	return p, ok
}

// most is how many requests may be exposed at all. The caller holds mu.
func (b *Breaker) most(within Bounds) int {
	if b.leased && b.permits > 0 {
		return min(within.exposure, b.permits)
	}
	return within.exposure
}

func (b *Breaker) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

func (b *Breaker) isLive() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.live
}

func (b *Breaker) admit(now time.Time, within Bounds) (p Permit, ok bool) {
	b.locked(func() (trip string) {
		b.bounds = within
		exposed := b.exposed()
		switch {
		case !b.closed, b.leased && b.expired(now):
		case exposed >= b.most(within) && b.inFlight+b.suspects == 0:
			// With nothing in flight no good response can come any more, and the breaker would
			// neither admit a request nor trip.
			return fmt.Sprintf("%d requests without a good response, the bound on exposure", exposed)
		case exposed >= within.exposure, b.leased && exposed >= b.permits: // it may have no permits
			p.Full = true
		default:
			b.inFlight++
			b.sinceGood++
			if b.inFlight >= within.consecutive && b.waiting.IsZero() {
				b.waiting = now
				b.startTimer(now)
			}
			p = Permit{entry: entry{generation: b.generation, seen: b.unproven, goods: b.goods}, start: now, Tripped: b.tripped}
			ok = true
		}
		return ""
	})
	return p, ok
}

// locked calls f with the lock. Where f gives a reason the breaker trips for it, which is
// reported without the lock.
func (b *Breaker) locked(f func() (trip string)) {
	b.mu.Lock()
	reason := f()
	position, within := b.position, b.bounds
	if reason != "" {
		b.closed = false
		b.stopTimer()
		b.cancelTripped()
	}
	b.mu.Unlock()
	if reason != "" {
		b.onTrip(reason, position)
		within.opened()
	}
}

// exposed is how many requests count towards the bound. The caller holds mu.
func (b *Breaker) exposed() int {
	if b.live {
		return b.sinceGood
	}
	return b.inFlight + b.suspects + b.unproven - b.forgiven
}

// Done reports how a request admitted has ended.
func (b *Breaker) Done(p Permit, how Outcome, now time.Time) {
	if p.common != nil {
		p.common.Done(p.other(), how, now)
	}
	b.locked(func() (trip string) {
		if b.endInFlight(p) {
			return b.count(p, how, now)
		}
		return ""
	})
}

// endInFlight takes a request out of those in flight; false: it is of an earlier
// generation, or the breaker has tripped since. The caller holds mu.
func (b *Breaker) endInFlight(p Permit) bool {
	b.inFlight--
	if b.inFlight < b.bounds.consecutive {
		b.waiting = time.Time{}
	}
	return p.generation == b.generation && b.closed
}

// Suspect reports that the candidate failed at a request that the monolith is
// asked now. Settle must follow.
func (b *Breaker) Suspect(p Permit) {
	if p.common != nil {
		p.common.Suspect(p.other())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.endInFlight(p) {
		b.suspects++
	}
}

// Settle says of a suspect whether the monolith failed at the same request as
// well: then the request says nothing of the candidate.
func (b *Breaker) Settle(p Permit, monolithFailed bool, now time.Time) {
	if p.common != nil {
		p.common.Settle(p.other(), monolithFailed, now)
	}
	b.locked(func() (trip string) {
		if p.generation != b.generation || !b.closed {
			return ""
		}
		b.suspects--
		how := Bad
		if monolithFailed {
			how = Void
		}
		return b.count(p, how, now)
	})
}

// count takes in what a request has shown, and gives the reason to trip, if there is one. The
// caller holds mu.
func (b *Breaker) count(p Permit, how Outcome, now time.Time) (trip string) {
	switch how {
	case Good:
		b.goods++
		b.forgiven = max(b.forgiven, p.seen)
		b.consecutiveBad, b.sinceGood = 0, 0
		b.pace.observe(now.Sub(p.start), now)
		b.restartTimer(now)
	case Void:
		b.restartTimer(now) // it is not silent
		b.forget(p)
	case Unknown:
		if b.countedDisconnect(p, now) {
			b.forget(p)
		} else {
			b.unproven++
		}
	case Bad:
		b.unproven++
		b.consecutiveBad++
		if b.consecutiveBad >= b.bounds.consecutive {
			return fmt.Sprintf("%d bad responses of the candidate in a row", b.consecutiveBad)
		}
	}
	return ""
}

// forget takes a request out of those since the last good response, unless it is
// not among them any more. The caller holds mu.
func (b *Breaker) forget(p Permit) {
	if p.goods == b.goods {
		b.sinceGood--
	}
}

// countedDisconnect reports whether a user went away before the candidate had its time and
// is counted for having done so before, without a good response since. Who has
// waited for longer than the candidate's stall timeout shows that it hangs, each time.
// The caller holds mu.
func (b *Breaker) countedDisconnect(p Permit, now time.Time) bool {
	if limit, known := b.stallTimeout(); p.User == 0 || known && now.Sub(p.start) >= limit {
		return false
	}
	if b.disconnected[p.User] > b.forgiven {
		return true
	}
	maps.DeleteFunc(b.disconnected, func(_ uint64, at int) bool { return at <= b.forgiven })
	if b.disconnected == nil {
		b.disconnected = map[uint64]int{}
	}
	b.disconnected[p.User] = b.unproven + 1
	return false
}

// ObserveMirrored takes the latency of a mirrored request with a good response,
// so that the candidate's pace is known before any user depends on it.
func (b *Breaker) ObserveMirrored(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pace.observe(d, time.Now())
}

// Forget lets go of the candidate's pace, when another one, or a mended one, is to be
// looked at.
func (b *Breaker) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pace = pace{}
}

// stallTimeout is how long Consecutive requests may wait at once; false while
// nothing is known of the candidate's pace. The caller holds mu.
func (b *Breaker) stallTimeout() (time.Duration, bool) {
	slowest := b.pace.slowest()
	return max(minStallTimeout, stallFactor*slowest), slowest > 0
}

// startTimer arms the timer of the stall rule. The caller holds mu.
func (b *Breaker) startTimer(now time.Time) {
	limit, known := b.stallTimeout()
	if !known || b.timer != nil {
		return
	}
	era := b.generation
	b.timer = time.AfterFunc(b.waiting.Add(limit).Sub(now), func() { b.checkStall(era) })
}

// restartTimer puts the stall rule off, since something of a response has come.
// The caller holds mu.
func (b *Breaker) restartTimer(now time.Time) {
	if !b.waiting.IsZero() {
		b.waiting = now
		b.startTimer(now)
	}
}

// checkStall is the stall rule: it trips, or looks again later, or rests.
func (b *Breaker) checkStall(era uint64) {
	now := time.Now()
	b.locked(func() (trip string) {
		if b.generation != era || !b.closed {
			return ""
		}
		b.timer = nil
		limit, _ := b.stallTimeout()
		switch {
		case b.waiting.IsZero():
		case now.Sub(b.waiting) < limit:
			b.startTimer(now)
		default:
			return fmt.Sprintf("%d requests have waited for the candidate without one good response for %v", b.inFlight, limit)
		}
		return ""
	})
}

// Trip opens the breaker for a reason that it does not see itself.
func (b *Breaker) Trip(reason string) {
	b.locked(func() (trip string) {
		if b.closed {
			trip = reason
		}
		return trip
	})
}

// InFlight is how many requests hold a permit.
func (b *Breaker) InFlight() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inFlight
}

// Slowest is the slowest good response of the candidate that is remembered; 0
// until there was one.
func (b *Breaker) Slowest() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pace.slowest()
}

// Stop opens the breaker and stops its timer, when its route is removed.
func (b *Breaker) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = false
	b.stopTimer()
}

// pace is how slow good responses of the candidate were lately.
type pace struct {
	// recent is a maximum over the present period, before over the one before. Both
	// fade with each response.
	recent, before time.Duration
	since          time.Time // when the present period began
}

const (
	// fade forgets half of a maximum over about 700 responses.
	fade = 0.999
	// period bounds how long a maximum is remembered where responses are few. Only a
	// period with responses ends another one's, so that a night is none.
	period = 5 * time.Minute
)

func (p *pace) observe(d time.Duration, now time.Time) {
	if now.Sub(p.since) >= period {
		p.before, p.recent, p.since = p.recent, 0, now
	}
	p.recent = max(d, time.Duration(float64(p.recent)*fade))
	p.before = time.Duration(float64(p.before) * fade)
}

// slowest is the slowest response remembered; 0 where there was none.
func (p *pace) slowest() time.Duration { return max(p.recent, p.before) }
