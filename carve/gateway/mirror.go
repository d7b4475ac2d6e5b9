package gateway

import (
	"cmp"
	"context"
	"runtime/debug"

	"whittle"
)

// skipDefect is why an exchange is not compared when comparing it panicked.
const skipDefect = "defect"

// mirror hands a visit that the monolith has answered to the queue, or says
// why not.
func (rt *route) mirror(v *visit, res *result) {
	switch {
	case res.failure == whittle.FailedCanceled:
		v.skip(whittle.SkipCanceled)
		return
	case res.streamed:
		v.skip(whittle.SkipStreaming)
		return
	case res.failure != whittle.NoFailure:
		// The candidate is asked all the same: were only those requests counted
		// to which the monolith answers, two sides that fail alike would seem to
		// differ.
		v.noAnswer(whittle.Answer{Failure: res.failure, Detail: res.detail})
	}
	v.served = whittle.Monolith
	v.answer.Latency = res.latency
	rt.submit(v)
}

// submit offers a visit whose copies are complete. It does not block, and
// after it the visit is no longer the caller's.
func (rt *route) submit(v *visit) {
	skip, shed := v.incomplete()
	switch {
	case skip != "":
		v.skip(skip)
		return
	case shed, !v.reserve(headerCost(v.header) + headerCost(v.answer.Header) + headerCost(v.answer.Trailer)):
		v.shed()
		return
	}
	v.handed = true
	switch m := &rt.spec.Mirror; rt.line.offer(v, m.Concurrency, m.Queue) {
	case full:
		v.handed = false
		v.shed()
	case closed:
		v.handed = false
		v.skip(whittle.SkipInterrupted)
	}
}

// beside is a worker's part: ask the other side, compare, account. It runs
// after the user's answer, and nobody waits for it.
func (rt *route) beside(ctx context.Context, v *visit) {
	kept := false
	defer func() {
		if !kept {
			v.free()
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			rt.env.g.log.Error("comparing an exchange panicked", "route", rt.name, "panic", p, "stack", string(debug.Stack()))
			v.skip(skipDefect)
		}
	}()
	x, ok := v.exchange()
	if !ok {
		v.shed()
		return
	}
	skip, ok := rt.complete(ctx, v, x)
	if ok && skip == "" {
		skip, ok = rt.uncoded(v, x)
	}
	switch {
	case !ok:
		v.shed()
	case ctx.Err() != nil:
		v.skip(whittle.SkipInterrupted)
	case skip != "":
		v.skip(skip)
	default:
		kept = rt.observe(v, x) && rt.recheck(v, x)
	}
}

// complete fills in the side that has not answered yet. False: the budget has
// no room for its answer.
func (rt *route) complete(ctx context.Context, v *visit, x *whittle.Exchange) (skip string, ok bool) {
	switch {
	case v.broken != nil: // both have been asked for the user's sake
		return "", true
	case v.served == whittle.Candidate:
		if x.Monolith, ok = rt.side(ctx, v, rt.env.monolith, rt.toMonolith(v, x)); ok {
			rt.repeat(ctx, v, x)
		}
		return "", ok
	}
	out, err := rt.toCandidate(v, x)
	if err != nil {
		return whittle.SkipUntranslated, true
	}
	if x.Candidate, ok = rt.side(ctx, v, rt.env.candidate, out); !ok {
		return "", false
	}
	if rt.rpc != nil && x.Candidate.Failure == whittle.NoFailure {
		x.Candidate = rt.mapped(&x.Candidate)
	}
	if x.Candidate.OK() {
		rt.breaker.paced(x.Candidate.Latency)
	}
	rt.repeat(ctx, v, x)
	return "", true
}

// repeat asks the monolith a second time, once in so many mirrored requests,
// and only where that changes nothing and the monolith is at ease.
func (rt *route) repeat(ctx context.Context, v *visit, x *whittle.Exchange) {
	every := rt.spec.Mirror.RepeatEvery
	if every <= 0 || x.Monolith.Failure != whittle.NoFailure || !rt.safe(v.method) || rt.repeats.Add(1)%uint64(every) != 0 || rt.strain.sheds(v.at) {
		return
	}
	if again, ok := rt.side(ctx, v, rt.env.monolith, rt.toMonolith(v, x)); ok && again.Failure == whittle.NoFailure {
		x.Repeat = &again
	}
}

// side asks one side for a whole answer. False: the budget has no room for it.
func (rt *route) side(ctx context.Context, v *visit, u *upstream, r *whittle.Request) (whittle.Answer, bool) {
	if r.Header != nil && r.Header["X-Idempotency-Key"] == nil {
		r.Header["X-Idempotency-Key"] = noValues
	}
	starved := false
	a := u.call(ctx, r, rt.mostAnswer(u), v.room(&starved))
	return a, !starved
}

// mostAnswer bounds an answer read beside the user's request, so that a route
// of little memory can still hold a few at once.
func (rt *route) mostAnswer(u *upstream) int64 {
	return min(u.maxAnswer(), max(rt.spec.Mirror.MaxMemory/4, 1))
}

// mostCompared bounds the copy of an answer that a user got, where the other
// side is asked as well. An answer that is too long to be taken from that one is
// left out for both: it would be a failure of the one and none of the other.
func (rt *route) mostCompared(other *upstream) int64 {
	return min(rt.spec.Mirror.MaxBody, rt.mostAnswer(other))
}

// toMonolith is the user's request for the monolith.
func (rt *route) toMonolith(v *visit, x *whittle.Exchange) *whittle.Request {
	out := x.Request
	out.Header = v.outbound()
	return &out
}

// toCandidate is the user's request for the candidate: transcoded where it
// speaks RPC, and marked as a rehearsal where it could change something.
func (rt *route) toCandidate(v *visit, x *whittle.Exchange) (*whittle.Request, error) {
	return rt.rehearsed(rt.toMonolith(v, x))
}

// observe shows the exchange to whoever compares, and reports whether both sides
// are to be asked again. A side that failed is shown too, since that is evidence,
// but the exchange is not compared.
func (rt *route) observe(v *visit, x *whittle.Exchange) (ask bool) {
	var o whittle.Observation
	if f := rt.env.g.opts.Observe; f != nil {
		o = f(x)
	}
	switch {
	case x.Monolith.Failure != whittle.NoFailure:
		v.skip(cmp.Or(o.Skip, whittle.SkipMonolith))
	case x.Candidate.Failure != whittle.NoFailure:
		v.failed()
	case o.Skip != "":
		v.skip(o.Skip)
	default:
		v.compared()
		return o.Ask
	}
	return false
}
