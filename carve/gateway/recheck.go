package gateway

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"whittle"
)

// Bounds of asking again about differences.
const (
	// recheckShare is how many rounds there may be for each request of the route,
	// recheckSaved how many may be saved up. Both orders of asking have one budget:
	// the one may not be asked more readily than the other, since what is seen in
	// the one is held against the other.
	recheckShare = 0.04
	recheckSaved = 96.0
	// recheckRounds is how many rounds one difference takes at most: that many
	// must be left before it is asked about.
	recheckRounds = 4
	// rechecksAtOnce bounds the differences that are asked about at the same time.
	rechecksAtOnce = 16
	// recheckWait bounds how long a round may be put off.
	recheckWait = time.Minute
)

// rechecks asks both sides again about exchanges in which they differed, apart from
// the users' requests and within a budget of the route's requests. What is not
// within it is not asked, which no verdict takes for an explanation.
type rechecks struct {
	ctx    context.Context //nolint:containedctx // the route's own life, not a call's
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // guards the following
	running int
	closed  bool
	// saved is how many rounds are left, and requests how many of the route's were
	// counted.
	saved    float64
	requests int64
}

func newRechecks() *rechecks {
	r := &rechecks{saved: recheckSaved}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// acquire asks for leave to ask about one more difference, when so many requests
// of the route have come. Whoever gets it calls release.
func (r *rechecks) acquire(requests int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	grown := recheckShare * float64(max(0, requests-r.requests))
	r.requests = max(requests, r.requests)
	r.saved = min(recheckSaved, r.saved+grown)
	if r.closed || r.running >= rechecksAtOnce || r.saved < recheckRounds {
		return false
	}
	r.running++
	r.wg.Add(1)
	return true
}

// spend takes one round from the budget.
func (r *rechecks) spend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved--
}

func (r *rechecks) release() {
	r.mu.Lock()
	r.running--
	r.mu.Unlock()
	r.wg.Done()
}

// close ends what is under way and waits for it, until after ends.
func (r *rechecks) close(after context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	done := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-after.Done():
		return after.Err()
	}
}

// recheck asks both sides again about an exchange that was compared, if the route's
// contract and budgets let it. True: it holds the request from now on, and frees it.
func (rt *route) recheck(v *userRequest, x *whittle.Exchange) bool {
	if rt.env.g.opts.Recheck == nil || !rt.safe(v.method) || rt.shedder.sheds(v.at) ||
		!rt.again.acquire(rt.ledgerCounts.opened.Load()) {
		return false
	}
	go func() {
		defer rt.again.release()
		defer v.free()
		defer func() {
			if p := recover(); p != nil {
				rt.env.g.log.Error("asking again about a difference panicked", "route", rt.name, "panic", p, "stack", string(debug.Stack()))
			}
		}()
		rt.askAgain(rt.again.ctx, v, x)
	}()
	return true
}

// askAgain goes on until the difference is settled, or the budget or the route
// ends it.
func (rt *route) askAgain(ctx context.Context, v *userRequest, x *whittle.Exchange) {
	r := whittle.Recheck{Exchange: x}
	for range recheckRounds {
		after, more := rt.env.g.opts.Recheck(&r)
		if !more || !pause(ctx, after) {
			return
		}
		round, ok := rt.round(ctx, v, x)
		if !ok || ctx.Err() != nil {
			return
		}
		rt.again.spend()
		r.Rounds = append(r.Rounds, round)
	}
	rt.env.g.opts.Recheck(&r)
}

// pause waits; false: ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(min(d, recheckWait))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// round asks both sides once more. False: there was no room, or the request has no
// meaning for the candidate.
func (rt *route) round(ctx context.Context, v *userRequest, x *whittle.Exchange) (whittle.Round, bool) {
	round := whittle.Round{After: time.Since(v.at)}
	var ok bool
	if round.Monolith, ok = rt.askSide(ctx, v, rt.env.monolith, rt.toMonolith(v, x)); !ok {
		return round, false
	}
	out, err := rt.toCandidate(v, x)
	if err != nil {
		return round, false
	}
	if round.Candidate, ok = rt.askSide(ctx, v, rt.env.candidate, out); !ok {
		return round, false
	}
	if rt.rpc != nil && round.Candidate.Failure == whittle.NoFailure {
		round.Candidate = rt.mapped(&round.Candidate)
	}
	return round, rt.uncode(v, &round.Monolith) == nil && rt.uncode(v, &round.Candidate) == nil
}
