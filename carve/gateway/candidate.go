package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/bodycopy"
	"whittle/carve/gateway/breaker"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/mirror"
)

// Why a call of the candidate was given up, other than because the user left.
var (
	errCandidateSlow = error(slowError{})
	errTripped       = errors.New("the breaker tripped while the candidate was still to respond")
)

// slowError is a timeout. That distinguishes it from a user who left, so the upstream
// counts it as a failure of the instance that was asked.
type slowError struct{}

func (slowError) Error() string { return "the candidate took longer than its bound" }

// Timeout is as in net.Error.
func (slowError) Timeout() bool { return true }

// byCandidate lets the candidate serve the user, with the monolith as fallback. False:
// nothing has been written, and the monolith must serve the request by the plan, which
// byCandidate may have changed.
func (rt *route) byCandidate(v *userRequest, u *user, p *plan) (forward.Result, bool) {
	if u.r.Streams {
		p.skip = whittle.SkipStreaming
		return forward.Result{}, false
	}
	if mirror.Overrides(u.r.Request) {
		p.skip = whittle.SkipNotSafe
		return forward.Result{}, false
	}
	if !rt.buffer(v, u, p) {
		return forward.Result{}, false
	}
	if rt.unseen(v, p) {
		rt.counts.unseen.Add(1)
		return forward.Result{}, false
	}
	out, err := rt.translated(v)
	if err != nil {
		p.skip = whittle.SkipUntranslated
		return forward.Result{}, false
	}
	idempotent := rt.idempotent(v.method)
	if out != nil && !idempotent && !v.reserve(rt.mostResponse(rt.env.candidate)) {
		p.shed = true // once the candidate has acted, its response must find room
		rt.counts.diverted.Add(1)
		return forward.Result{}, false
	}
	permit, ok := rt.breaker.Admit(time.Now(), rt.bounds)
	if !ok {
		if permit.Full {
			rt.full()
		}
		rt.counts.diverted.Add(1)
		return forward.Result{}, false
	}
	permit.User = v.user
	rt.counts.served.Add(1)
	c := candidateCall{rt: rt, v: v, user: *u, permit: permit, hasFallback: idempotent}
	c.watched = rt.safe(v.method) && !mirror.OneTime(u.r.URL.RawQuery) && evenly(rt.watched.Add(1), rt.watch())
	c.begin()
	defer c.end()
	if out != nil {
		c.call(out)
	} else {
		c.forward()
	}
	c.judge()
	switch {
	case c.fallsBack():
		rt.fallBack(&c)
	case !c.res.Wrote && !c.res.Abort:
		c.refuse()
	}
	c.report()
	return c.res, true
}

// full counts and logs a request that the bound on exposure sent to the monolith. Nothing
// else would show that a sound candidate gets less than its share.
func (rt *route) full() {
	n := rt.counts.full.Add(1)
	if _, due := rt.env.g.failureLog.due(failureKey{route: rt.name, failure: "exposure"}, time.Now()); !due {
		return
	}
	served := rt.counts.served.Load()
	refused, admitted := n-rt.counts.fullLogged.Swap(n), max(served-rt.counts.servedLogged.Swap(served), 1)
	exposure := int64(rt.spec.Guard.Exposure)
	rt.env.g.log.Warn("the candidate has as many requests under way as guard.exposure allows, and the monolith serves the others; raise it if the candidate is to serve them",
		"route", rt.name, "exposure", exposure, "to_the_monolith", refused, "to_the_candidate", admitted, "all_would_need", exposure+exposure*refused/admitted)
}

// unseen reports whether the monolith is to respond, and the request to be mirrored,
// because no response to one of its shape was compared yet.
func (rt *route) unseen(v *userRequest, p *plan) bool {
	if rt.spec.Rollout.Unseen != whittle.UnseenMonolith || rt.env.g.opts.Known == nil ||
		*p != (plan{}) || rt.setting.Load().phase != whittle.PhaseShift {
		return false
	}
	return !rt.env.g.opts.Known(rt.name, &whittle.Request{Method: v.method, Target: v.target, Host: v.host, Body: v.body})
}

// watch is the share of the candidate's responses to users that are compared.
func (rt *route) watch() whittle.Share {
	return max(rt.spec.Mirror.Watch, whittle.Share(rt.watching.Load()))
}

// buffer reads the request's body whole, so that another server can be asked
// with it. False: it is too large, it cannot be held or it broke off; then the
// request's body is what was read and what is left, as if nobody had looked.
func (rt *route) buffer(v *userRequest, u *user, p *plan) bool {
	if v.length == 0 {
		v.whole = true
		return true
	}
	most := rt.spec.Mirror.MaxBody
	size := v.length
	if size < 0 {
		size = most
	}
	switch {
	case size > most:
		p.skip = whittle.SkipTooLarge
		return false
	case !v.reserve(size):
		p.shed = true
		return false
	}
	limits := &rt.env.g.opts.Limits
	in := inbound.NewBody(u.w, &u.r, limits.BodyBytes, limits.StallTimeout, nil)
	if v.length < 0 {
		return rt.bufferAhead(v, u, p, in, int(size))
	}
	var body bytes.Buffer
	body.Grow(int(size) + bytes.MinRead) // ReadFrom wants that much to spare
	n, err := body.ReadFrom(io.LimitReader(in, size+1))
	if err != nil || n > size {
		u.r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(&body, failing{err}, u.r.Body), u.r.Body}
		return false
	}
	v.body, v.whole = body.Bytes(), true
	u.holdBody(v.body)
	return true
}

// bufferAhead is buffer for a body of unknown length. A client that pauses may wait for a
// response to what it has sent, as in a stream, and then no other server could be asked.
func (rt *route) bufferAhead(v *userRequest, u *user, p *plan, in *inbound.Body, most int) bool {
	kept := in.Keep(most + 1)
	body, err := kept.Fill(streamPause)
	if errors.Is(err, io.EOF) && len(body) <= most {
		v.body, v.whole = body, true
		u.holdBody(body)
		return true
	}
	u.ahead = append(u.ahead, in)
	u.r.Body = kept.Reader()
	switch {
	case p.skip != "":
	case errors.Is(err, inbound.ErrStopped):
		p.skip = whittle.SkipStreaming
	case len(body) > most:
		p.skip = whittle.SkipTooLarge
	}
	return false
}

// streamPause is for how long a client sends nothing in the middle of a body that may
// be a stream.
const streamPause = 500 * time.Millisecond

// translated is the call that the request means; nil for a candidate that
// speaks the monolith's own HTTP.
func (rt *route) translated(v *userRequest) (*whittle.Request, error) {
	if rt.rpc == nil {
		return nil, nil
	}
	return rt.rpc.Request(&whittle.Request{Method: v.method, Target: v.target, Host: v.host, Header: v.outbound(), Body: v.body})
}

// candidateCall is one user's request on the candidate.
type candidateCall struct {
	rt          *route
	v           *userRequest
	user        user
	hasFallback bool

	ctx    context.Context //nolint:containedctx // asking is one call, and lives as long
	cancel context.CancelCauseFunc
	stops  []func() bool
	held   *holder
	// watched says that the exchange will be compared, so the monolith is asked as
	// well, later. This is decided before the candidate responds. If failures were
	// compared more often than successes, the candidate would seem to fail more
	// often than it does.
	watched bool

	res forward.Result
	// outOfMemory says that the route's memory had no room for the candidate's
	// response, which is not the candidate's fault.
	outOfMemory bool
	// first is what the candidate did, before any fallback.
	first    whittle.Outcome
	fellBack bool
	// permit is released once, whatever happens: judged says that it was, and a stream is
	// judged by its beginning. suspected says that the breaker still waits to hear how the
	// monolith did at the same request.
	permit    breaker.Permit
	judged    atomic.Bool
	suspected bool
}

// begin sets the bounds within which a response can still be given up.
func (c *candidateCall) begin() {
	rt := c.rt
	c.ctx, c.cancel = context.WithCancelCause(c.user.r.Context())
	c.held = &holder{w: c.user.w, copy: bodycopy.Copy{Limit: rt.spec.Mirror.MaxBody, Budget: &rt.budget}, through: !c.hasFallback}
	c.held.flows = func() {
		if c.held.status < http.StatusInternalServerError {
			c.release(breaker.Good) // how long it goes on is no wait for the candidate
		}
	}
	if c.user.r.ProtoMajor == 2 {
		c.held.stall = rt.env.g.opts.Limits.StallTimeout // a stream has no deadline of its own
	}
	if c.hasFallback {
		giveUp := func(why error) func() {
			return func() {
				if c.held.giveUp(why) {
					c.cancel(why)
				}
			}
		}
		c.stops = append(c.stops,
			context.AfterFunc(c.permit.Tripped, giveUp(errTripped)),
			time.AfterFunc(rt.env.candidate.Timeout(), giveUp(errCandidateSlow)).Stop)
	}
}

// end releases whatever begin has set up. The permit is still held only where
// the request's goroutine panics.
func (c *candidateCall) end() {
	c.release(breaker.Unknown)
	c.settle(false)
	for _, stop := range c.stops {
		stop()
	}
	c.cancel(nil)
	c.held.drop()
}

// forward forwards the request to a candidate that speaks the monolith's HTTP.
func (c *candidateCall) forward() {
	r := c.user.r
	r.Request = r.WithContext(c.ctx)
	how := forward.Options{Side: whittle.Candidate, Accept: c.accept}
	if c.watched {
		how.Tap = &c.v.copies
		c.v.responseCopy.Limit = c.rt.mostCompared(c.rt.env.monolith)
	}
	c.res = c.rt.env.g.forwarder.Forward(c.held, r, c.rt.env.candidate, how)
	c.held.settled()
	if c.res.Wrote && !c.res.Abort {
		if c.res.Failure == whittle.NoFailure && !c.held.passes() {
			c.release(breaker.Good) // what its user takes to read it is no wait for the candidate
		}
		c.held.finish()
	}
	if c.res.Wrote = c.held.committed(); !c.res.Wrote {
		c.res.Sent = 0
	}
}

// accept refuses a server error where the monolith may be asked instead.
func (c *candidateCall) accept(status int) bool {
	return status < http.StatusInternalServerError || !c.hasFallback
}

// call makes the RPC and writes its response in the monolith's form.
func (c *candidateCall) call(out *whittle.Request) {
	var room func(int64) bool // reserved before where nobody can respond instead
	if c.hasFallback {
		room = c.v.room(&c.outOfMemory)
	}
	a := c.rt.env.candidate.Call(c.ctx, out, c.rt.mostResponse(c.rt.env.candidate), room)
	if c.outOfMemory {
		c.res = forward.Result{Failure: whittle.FailedCanceled, Detail: a.Detail, Latency: a.Latency}
		return
	}
	if a.Failure == whittle.NoFailure {
		a = c.rt.mapped(&a)
	}
	c.res = forward.Result{Status: a.Status, Failure: a.Failure, Detail: a.Detail, Latency: a.Latency}
	switch {
	case a.Failure != whittle.NoFailure:
	case !c.accept(a.Status):
		c.res.Refused = true
	default:
		c.v.response = a
		if a.Status < http.StatusInternalServerError {
			c.release(breaker.Good) // as in pass
		}
		c.held.hold(&a)
		c.res.Sent, c.res.Wrote = a.Status, true
	}
}

// judge classifies the candidate's response, and reports it to the breaker.
func (c *candidateCall) judge() {
	res := &c.res
	if why := c.held.givenUp(); res.Failure == whittle.FailedCanceled && c.user.r.Context().Err() == nil && why != nil {
		// It was not the user who went. (The call may not even be canceled yet: what
		// outgrows the bound just then meets a holder that takes no more.)
		res.Failure, res.Detail, res.Abort = whittle.FailedTimeout, why.Error(), false
	}
	res.Side = whittle.Candidate
	c.first = whittle.Outcome{Side: whittle.Candidate, Status: res.Status, Failure: res.Failure, Latency: res.Latency}
	if res.Failure != whittle.NoFailure {
		c.first.Status = 0
	}
	how := breaker.Good
	switch {
	case c.outOfMemory, res.Failure == whittle.FailedBusy:
		how = breaker.Void
	case c.first.Bad():
		how = breaker.Bad
	case res.Failure != whittle.NoFailure && !c.held.committed():
		how = breaker.Unknown
	}
	if how == breaker.Bad && c.fallsBack() && c.judged.CompareAndSwap(false, true) {
		c.suspected = true
		c.rt.breaker.Suspect(c.permit)
		return
	}
	c.release(how)
}

// settle reports to the breaker how the monolith did after the candidate failed.
func (c *candidateCall) settle(monolithFailed bool) {
	if c.suspected {
		c.suspected = false
		c.rt.breaker.Settle(c.permit, monolithFailed, time.Now())
	}
}

func (c *candidateCall) release(how breaker.Outcome) {
	if c.judged.CompareAndSwap(false, true) {
		c.rt.breaker.Done(c.permit, how, time.Now())
	}
}

// fallsBack reports whether the monolith is to respond instead: there is no good
// response of the candidate, nothing has been written, and either asking twice
// does no harm or the candidate was never reached.
func (c *candidateCall) fallsBack() bool {
	unsent := c.first.Failure == whittle.FailedBusy
	return (c.first.Bad() || c.outOfMemory || unsent) && !c.res.Wrote &&
		(c.hasFallback || unsent || c.res.Failure == whittle.FailedConnect)
}

// fallBack lets the monolith response in the candidate's place.
func (rt *route) fallBack(c *candidateCall) {
	v := c.v
	broken := whittle.Response{Status: c.first.Status, Failure: c.first.Failure, Detail: c.res.Detail, Latency: c.first.Latency}
	if broken.Failure == whittle.NoFailure {
		broken.Truncated = true // its body was not waited for
	}
	v.noResponse(whittle.Response{})
	c.user.r.Body = io.NopCloser(bytes.NewReader(v.body))
	w := &holder{w: c.user.w, through: true}
	// The head settles it: the body may take as long as the user takes to read it.
	how := forward.Options{Head: func(status int) { c.settle(status >= http.StatusInternalServerError) }}
	if c.watched {
		how.Tap = &v.copies
	}
	c.res = rt.env.g.forwarder.Forward(w, c.user.r, rt.env.monolith, how)
	rt.observeMonolith(v, &c.res)
	if c.outOfMemory || c.first.Failure == whittle.FailedBusy {
		rt.counts.diverted.Add(1)
		return
	}
	v.broken = &broken
	c.first.BothBad = c.res.Failure != whittle.FailedCanceled &&
		(c.res.Failure != whittle.NoFailure || c.res.Status >= http.StatusInternalServerError)
	c.settle(c.first.BothBad)
	failure := cmp.Or(broken.Failure, whittle.Failure("answered "+strconv.Itoa(broken.Status)))
	rt.env.g.logFailure(c.user.r.Context(), rt.name, whittle.Candidate, failure, broken.Detail, c.res.Sent)
	if c.fellBack = c.res.Failure == whittle.NoFailure; c.fellBack {
		rt.counts.fellBack.Add(1)
	}
}

// refuse responds with an error, because asking the monolith too could do the write
// twice.
func (c *candidateCall) refuse() {
	if c.user.r.Context().Err() != nil {
		c.res.Abort = true
		return
	}
	c.res.Sent, c.res.Wrote = forward.FailureStatus(c.res.Failure, nil, nil), true
	forward.WriteError(c.user.w, forward.Blamed(whittle.Candidate, c.res.Failure), c.res.Sent)
}

// report passes the outcome on, and settles the request or hands it on.
func (c *candidateCall) report() {
	rt, v, res := c.rt, c.v, &c.res
	c.first.FellBack = c.fellBack
	rt.report(c.first, v)
	switch {
	case c.outOfMemory, c.first.Failure == whittle.FailedBusy:
		v.shed()
	case v.broken != nil && c.watched && rt.shedder.Sheds(v.at):
		v.shed()
	case v.broken != nil && c.watched:
		rt.mirror(v, res)
	case c.first.Failure == whittle.FailedCanceled:
		v.skip(whittle.SkipCanceled)
	case c.first.Failure != whittle.NoFailure:
		v.failed()
	case !rt.safe(v.method):
		v.skip(whittle.SkipNotSafe)
	case !c.watched:
		v.skip(whittle.SkipServed)
	case res.Streamed:
		v.skip(whittle.SkipStreaming)
	case rt.shedder.Sheds(v.at):
		v.shed()
	default:
		v.served = whittle.Candidate
		v.response.Latency = res.Latency
		rt.submit(v)
	}
}
