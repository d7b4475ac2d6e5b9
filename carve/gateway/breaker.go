package gateway

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"whittle"
)

// A breaker decides, per user's request, whether the candidate may be asked.
// It promises two things without a round trip to anyone:
//
// The share falls to nothing after so many bad answers in a row
// (Guard.Consecutive), not counting requests at which the monolith, asked after
// the candidate, failed as well; or when that many requests have waited for longer than the candidate's patience
// without one good answer among them.
//
// At most Guard.Exposure users' requests meet a candidate that is broken from
// one moment to the next. A request counts from its start until it is answered
// well. One that was not answered well goes on counting until a request that
// started after its end is answered well: only that proves that the candidate
// works again. A broken candidate can give no such proof, so what it has
// touched can only grow up to the bound. A user who goes away before the
// candidate has had its time counts once and not per request: nobody can trip the
// breaker by disconnecting. In phase live there is no bound on
// what is in flight, and only what started since the last good answer counts.
type breaker struct {
	// trip is called once per fall, without the lock.
	trip func(reason string)

	mu sync.Mutex // guards the following
	// bounds are those of the route that asked last.
	bounds bounds
	// open says that the candidate may be asked at all.
	open bool
	live bool
	// era counts the openings; a request of an earlier one is no evidence.
	era      uint64
	inFlight int
	// suspects counts requests at which the candidate failed and the monolith's
	// response to the same request is still awaited.
	suspects int
	// gone is, for users who went away before an answer, how many unproven answers
	// there were with theirs.
	gone map[uint64]int
	// unproven counts answers that were not good since the opening, and
	// forgiven how many of them a later good answer has made up for.
	unproven, forgiven int
	// row is how many answers in a row were bad.
	row int
	// sinceGood is how many requests have started since the last good answer,
	// and goods how many of those there were.
	sinceGood int
	goods     uint64
	// waiting is since when Consecutive requests have been in flight without a
	// good answer; zero while fewer are.
	waiting time.Time
	// slowest is a slowly forgotten maximum of the candidate's good latencies,
	// mirrored ones too; 0 until there is one.
	slowest time.Duration
	watch   *time.Timer
	// fallen ends when the share falls, so that requests which may be rescued
	// need not wait for their own timeouts.
	fallen  context.Context //nolint:containedctx // the share's own life, not a call's
	letDown context.CancelFunc
}

// bounds are a guard's hard ones.
type bounds struct{ consecutive, exposure int }

func boundsOf(g whittle.Guard) bounds {
	return bounds{consecutive: max(g.Consecutive, 1), exposure: max(g.Exposure, 1)}
}

// minPatience keeps a pause of the candidate's (a garbage collection, a
// scheduler's hiccup) from being taken for its end, and leaves room within the
// promised second. Above it, patience is patienceFactor times the slowest good
// answer remembered.
const (
	minPatience    = 500 * time.Millisecond
	patienceFactor = 4
	// slowestDecay forgets half of the slowest answer over about 700 answers.
	slowestDecay = 0.999
)

func newBreaker(trip func(reason string)) *breaker { return &breaker{trip: trip} }

// pass is one user's leave to ask the candidate.
type pass struct {
	era uint64
	// user tells users apart; 0: not known.
	user uint64
	// seen is how many unproven answers there were at the start.
	seen int
	// goods is how many good answers there were at the start.
	goods uint64
	start time.Time
	// fallen ends when the breaker trips while the request is under way.
	fallen context.Context //nolint:containedctx // the share's own life, not a call's
}

// proof is what an answer says of the candidate.
type proof uint8

const (
	unknown proof = iota // the client went away before an answer showed anything
	good
	bad
	void // whittle itself had no room for an answer: as if nobody had asked
)

// set opens the breaker for a shift or for live service, or closes it.
func (b *breaker) set(open, live bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live = live
	if open == b.open {
		return
	}
	if b.open = open; !open {
		b.shut()
		return
	}
	b.era++
	b.unproven, b.forgiven, b.row, b.sinceGood, b.suspects = 0, 0, 0, 0, 0
	b.gone = nil
	b.waiting = time.Time{}
	b.fallen, b.letDown = context.WithCancel(context.Background())
}

// shut stops the clock. The caller holds mu.
func (b *breaker) shut() {
	if b.watch != nil {
		b.watch.Stop()
		b.watch = nil
	}
}

// admit asks for leave. False: the monolith answers.
func (b *breaker) admit(now time.Time, within bounds) (pass, bool) {
	b.mu.Lock()
	b.bounds = within
	if !b.open {
		b.mu.Unlock()
		return pass{}, false
	}
	exposed := b.inFlight + b.suspects + b.unproven - b.forgiven
	if b.live {
		exposed = b.sinceGood
	}
	if exposed >= within.exposure {
		// With nothing under way no good answer can come any more, and the
		// candidate would stay between two stools for ever.
		if b.inFlight+b.suspects == 0 {
			b.fall(fmt.Sprintf("%d requests without a good answer, the bound on exposure", exposed))
			return pass{}, false
		}
		b.mu.Unlock()
		return pass{}, false
	}
	b.inFlight++
	b.sinceGood++
	if b.inFlight >= within.consecutive && b.waiting.IsZero() {
		b.waiting = now
		b.startWatch(now)
	}
	p := pass{era: b.era, seen: b.unproven, goods: b.goods, start: now, fallen: b.fallen}
	b.mu.Unlock()
	return p, true
}

// done reports how a request admitted has ended.
func (b *breaker) done(p pass, how proof, now time.Time) {
	b.mu.Lock()
	if b.landed(p) {
		b.count(p, how, now)
		return
	}
	b.mu.Unlock()
}

// landed takes a request out of those in flight; false: it is of an earlier
// opening, or the breaker has tripped since. The caller holds mu.
func (b *breaker) landed(p pass) bool {
	b.inFlight--
	if b.inFlight < b.bounds.consecutive {
		b.waiting = time.Time{}
	}
	return p.era == b.era && b.open
}

// suspect reports that the candidate failed at a request that the monolith is
// asked now. settle must follow.
func (b *breaker) suspect(p pass) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.landed(p) {
		b.suspects++
	}
}

// settle says of a suspect whether the monolith failed at the same request as
// well: then the request says nothing of the candidate.
func (b *breaker) settle(p pass, monolithFailed bool, now time.Time) {
	b.mu.Lock()
	if p.era != b.era || !b.open {
		b.mu.Unlock()
		return
	}
	b.suspects--
	how := bad
	if monolithFailed {
		how = void
	}
	b.count(p, how, now)
}

// count takes in what a request has shown. The caller holds mu; count lets go of
// it.
func (b *breaker) count(p pass, how proof, now time.Time) {
	switch how {
	case good:
		b.goods++
		b.forgiven = max(b.forgiven, p.seen)
		b.row, b.sinceGood = 0, 0
		b.learn(now.Sub(p.start))
		b.restartWatch(now)
	case void:
		b.restartWatch(now) // it is not silent
		b.takeBack(p)
	case unknown:
		if b.hasGone(p, now) {
			b.takeBack(p)
		} else {
			b.unproven++
		}
	case bad:
		b.unproven++
		b.row++
		if b.row >= b.bounds.consecutive {
			b.fall(fmt.Sprintf("%d bad answers of the candidate in a row", b.row))
			return
		}
	}
	b.mu.Unlock()
}

// takeBack takes a request out of those since the last good answer, unless it is
// not among them any more. The caller holds mu.
func (b *breaker) takeBack(p pass) {
	if p.goods == b.goods {
		b.sinceGood--
	}
}

// hasGone reports whether a user went away before the candidate had its time and
// is counted for having done so before, without a good answer since. Who has
// waited for longer than the candidate's patience shows that it hangs, each time.
// The caller holds mu.
func (b *breaker) hasGone(p pass, now time.Time) bool {
	if patience, known := b.patience(); p.user == 0 || known && now.Sub(p.start) >= patience {
		return false
	}
	if b.gone[p.user] > b.forgiven {
		return true
	}
	maps.DeleteFunc(b.gone, func(_ uint64, at int) bool { return at <= b.forgiven })
	if b.gone == nil {
		b.gone = map[uint64]int{}
	}
	b.gone[p.user] = b.unproven + 1
	return false
}

// paced tells the breaker of a mirrored call that the candidate answered well,
// so that its pace is known before any user depends on it.
func (b *breaker) paced(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.learn(d)
}

// learn is called with mu held.
func (b *breaker) learn(d time.Duration) {
	b.slowest = max(d, time.Duration(float64(b.slowest)*slowestDecay))
}

// patience is how long Consecutive requests may wait at once; false while
// nothing is known of the candidate's pace. The caller holds mu.
func (b *breaker) patience() (time.Duration, bool) {
	return max(minPatience, patienceFactor*b.slowest), b.slowest > 0
}

// startWatch arms the clock of the stall rule. The caller holds mu.
func (b *breaker) startWatch(now time.Time) {
	patience, known := b.patience()
	if !known || b.watch != nil {
		return
	}
	era := b.era
	b.watch = time.AfterFunc(b.waiting.Add(patience).Sub(now), func() { b.look(era) })
}

// restartWatch puts the stall rule off, since something of an answer has come.
// The caller holds mu.
func (b *breaker) restartWatch(now time.Time) {
	if !b.waiting.IsZero() {
		b.waiting = now
		b.startWatch(now)
	}
}

// look is the stall rule: it trips, or looks again later, or rests.
func (b *breaker) look(era uint64) {
	now := time.Now()
	b.mu.Lock()
	if b.era != era || !b.open {
		b.mu.Unlock()
		return
	}
	b.watch = nil
	if b.waiting.IsZero() {
		b.mu.Unlock()
		return
	}
	patience, _ := b.patience()
	if waited := now.Sub(b.waiting); waited < patience {
		b.startWatch(now)
		b.mu.Unlock()
		return
	}
	b.fall(fmt.Sprintf("%d requests have waited for the candidate without one good answer for %v", b.inFlight, patience))
}

// fall closes the breaker and tells. The caller holds mu; fall lets go of it.
func (b *breaker) fall(reason string) {
	b.open = false
	b.shut()
	b.letDown()
	b.mu.Unlock()
	b.trip(reason)
}

// stop ends the breaker's clock, when its route goes.
func (b *breaker) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = false
	b.shut()
}
