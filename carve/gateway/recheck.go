package gateway

import (
	"context"
	"runtime/debug"
	"time"

	"whittle"
	"whittle/carve/gateway/mirror"
)

// recheck asks both sides again about a compared exchange, if the route's write
// contract and budgets allow it. True: it owns the request from now on, and frees it.
func (rt *route) recheck(v *userRequest, x *whittle.Exchange) bool {
	if rt.env.g.opts.Recheck == nil || !rt.mayRepeat(v, x) || rt.shedder.Sheds(v.at) ||
		!rt.again.Acquire(rt.ledgerCounts.opened.Load()) {
		return false
	}
	go func() {
		defer rt.again.Release()
		defer v.free()
		defer func() {
			if p := recover(); p != nil {
				rt.env.g.log.Error("asking again about a difference panicked", "route", rt.name, "panic", p, "stack", string(debug.Stack()))
			}
		}()
		rt.askAgain(rt.again.Context(), v, x)
	}()
	return true
}

// askAgain repeats rounds until the difference is settled, the budget is used up or the
// route closes.
func (rt *route) askAgain(ctx context.Context, v *userRequest, x *whittle.Exchange) {
	r := whittle.Recheck{Exchange: x}
	for range mirror.RecheckRounds {
		after, more := rt.env.g.opts.Recheck(&r)
		if !more || !rt.again.Pause(after) {
			return
		}
		if !rt.mayRepeat(v, x) {
			return
		}
		round, ok := rt.round(ctx, v, x)
		if !ok || ctx.Err() != nil {
			return
		}
		rt.again.Spend()
		r.Rounds = append(r.Rounds, round)
	}
	rt.env.g.opts.Recheck(&r)
}

// round asks both sides once more. False: there was no room, or the request cannot be
// transcoded for the candidate.
func (rt *route) round(ctx context.Context, v *userRequest, x *whittle.Exchange) (whittle.Round, bool) {
	round := whittle.Round{After: time.Since(v.at)}
	var ok bool
	if round.Monolith, ok = rt.askSide(ctx, v, rt.env.monolith, rt.toMonolith(v, x)); !ok {
		return round, false
	}
	if x.Monolith.Failure == whittle.NoFailure && round.Monolith.Failure == whittle.NoFailure {
		rt.seeRepeat(x, &round.Monolith)
	}
	var err error
	if round.Candidate, ok, err = rt.askCandidate(ctx, v, x); err != nil || !ok {
		return round, false
	}
	return round, rt.uncode(v, x, &round.Monolith) == nil && rt.uncodeCandidate(v, x, &round.Candidate) == nil
}
