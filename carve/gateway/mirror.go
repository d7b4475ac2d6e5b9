package gateway

import (
	"context"
	"runtime/debug"
	"strings"

	"whittle"
	"whittle/carve/gateway/upstream"
)

// skipDefect is why an exchange is not compared when comparing it panicked.
const skipDefect = "defect"

// runMirrored is a worker's job: ask the other side, compare, count. It runs after the
// user's response, and nobody waits for it.
func (rt *route) runMirrored(ctx context.Context, v *userRequest) {
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

// complete asks the side that has not responded yet. False: the budget has no room for
// its response.
func (rt *route) complete(ctx context.Context, v *userRequest, x *whittle.Exchange) (skip string, ok bool) {
	switch {
	case v.broken != nil: // both have been asked for the user's sake
		return "", true
	case v.served == whittle.Candidate:
		if x.Monolith, ok = rt.askSide(ctx, v, rt.env.monolith, rt.toMonolith(v, x)); ok {
			rt.repeat(ctx, v, x)
		}
		return "", ok
	}
	var err error
	if x.Candidate, ok, err = rt.askCandidate(ctx, v, x); err != nil {
		return whittle.SkipUntranslated, true
	}
	if !ok {
		return "", false
	}
	if x.Candidate.OK() {
		rt.breaker.ObserveMirrored(x.Candidate.Latency)
	}
	rt.repeat(ctx, v, x)
	return "", true
}

// repeat asks the monolith a second time, for one in so many mirrored requests, if the
// request is safe and the monolith is not slowed down.
func (rt *route) repeat(ctx context.Context, v *userRequest, x *whittle.Exchange) {
	every := rt.spec.Mirror.RepeatEvery
	if every <= 0 || x.Monolith.Failure != whittle.NoFailure || !rt.mayRepeat(v, x) || rt.repeats.Add(1)%uint64(every) != 0 || rt.shedder.Sheds(v.at) {
		return
	}
	if again, ok := rt.askSide(ctx, v, rt.env.monolith, rt.toMonolith(v, x)); ok && again.Failure == whittle.NoFailure {
		x.Repeat = &again
		rt.seeRepeat(x, &again)
	}
}

// mayRepeat reports whether the monolith may be sent a request a second time.
func (rt *route) mayRepeat(v *userRequest, x *whittle.Exchange) bool {
	_, query, _ := strings.Cut(x.Request.Target, "?")
	return rt.safe(v.method) && !rt.spec.Mirror.Once && rt.repeatable.OK(query)
}

// seeRepeat takes note of what became of a request that the monolith was sent again.
func (rt *route) seeRepeat(x *whittle.Exchange, again *whittle.Response) {
	if rt.repeatable.See(x.Monolith.Status, again.Status) {
		rt.env.g.log.Warn("the monolith fails what it is sent a second time, so nothing is any more: no noise is learned, and no difference is asked about again until a reset",
			"route", rt.name, "first", x.Monolith.Status, "second", again.Status)
	}
}

// noValues stands for net/http's silent sign that a request may be repeated on
// a new connection, where a kept one turned out to be closed: the field is
// there and has no value, so nothing of it is sent.
var noValues = []string{}

// askSide asks one side for a whole response. False: the budget has no room for it,
// or users leave no connection to spare.
func (rt *route) askSide(ctx context.Context, v *userRequest, u *upstream.Upstream, r *whittle.Request) (whittle.Response, bool) {
	if r.Header != nil && r.Header["X-Idempotency-Key"] == nil {
		r.Header["X-Idempotency-Key"] = noValues
	}
	outOfMemory := false
	a, spared := u.Aside(ctx, r, rt.mostResponse(u), v.room(&outOfMemory))
	return a, spared && !outOfMemory
}

// mostResponse bounds a mirrored request's response, so that a route with little memory
// can hold a few at once.
func (rt *route) mostResponse(u *upstream.Upstream) int64 {
	return min(u.MaxResponse(), max(rt.spec.Mirror.MaxMemory/4, 1))
}

// mostCompared bounds the copy of a user's response, if the other side is asked as
// well. The bound is the same for both sides: otherwise equal long responses would be
// a failure of one side only.
func (rt *route) mostCompared(other *upstream.Upstream) int64 {
	return min(rt.spec.Mirror.MaxBody, rt.mostResponse(other))
}

// toMonolith is the user's request for the monolith.
func (rt *route) toMonolith(v *userRequest, x *whittle.Exchange) *whittle.Request {
	out := x.Request
	out.Header = v.outbound()
	return &out
}

// askCandidate asks the candidate, and gives its response in the monolith's form. The request
// is transcoded where it speaks RPC, and marked as a dry run where it could change something.
// The error says that it has no meaning in the contract; ok is as in askSide.
func (rt *route) askCandidate(ctx context.Context, v *userRequest, x *whittle.Exchange) (a whittle.Response, ok bool, err error) {
	out, err := rt.candidateRequest(rt.toMonolith(v, x))
	if err != nil {
		return a, false, err
	}
	if a, ok = rt.askSide(ctx, v, rt.env.candidate, out); ok && a.Failure == whittle.NoFailure {
		a = rt.mapped(&a)
	}
	return a, ok, nil
}

// observe passes the exchange to Observe, and reports whether both sides must be asked
// again. A failed side is evidence, so its exchange is passed on too, though it is not
// compared. The request is claimed first, so that it is not counted both as
// interrupted and as compared.
func (rt *route) observe(v *userRequest, x *whittle.Exchange) (ask bool) {
	if !v.claim() {
		return false
	}
	defer v.observed(whittle.FateSkipped, skipDefect, false) // unless it is settled below: the judge has panicked
	var o whittle.Observation
	if f := rt.env.g.opts.Observe; f != nil {
		o = f(x)
	}
	fate, reason := o.Fate(x)
	v.observed(fate, reason, o.Counted)
	return fate == whittle.FateCompared && o.Ask
}
