package gateway

import (
	"context"
	"errors"
	"maps"
	"net/textproto"
	"runtime/debug"
	"strings"
	"time"

	"whittle"
	"whittle/carve/gateway/mirror"
	"whittle/carve/gateway/upstream"
	"whittle/carve/transcode"
	"whittle/internal/coding"
	"whittle/internal/httpfield"
)

// skipDefect is why an exchange is not compared when comparing it panicked.
const skipDefect = "defect"

// workerRest is how long a route's worker stays without a request to mirror. It is
// longer than from one request to the next where that matters.
const workerRest = time.Second

// newMirrorQueue makes the queue of a route's name. Each request in it knows its route.
func newMirrorQueue() *mirror.Queue[*userRequest] {
	return mirror.NewQueue(workerRest,
		func(ctx context.Context, v *userRequest) { v.rt.runMirrored(ctx, v) },
		func(v *userRequest, begun bool) {
			v.skip(whittle.SkipInterrupted)
			if !begun {
				v.free()
			}
		},
	)
}

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

// complete asks the sides that have not responded yet. False: the budget has no room for
// a response.
func (rt *route) complete(ctx context.Context, v *userRequest, x *whittle.Exchange) (skip string, ok bool) {
	if v.broken != nil { // both have been asked for the user's sake
		return "", true
	}
	if v.unserved {
		if skip, ok = rt.ask(ctx, v, x, v.served); skip != "" || !ok {
			return skip, ok
		}
	}
	if skip, ok = rt.ask(ctx, v, x, 1-v.served); skip == "" && ok {
		rt.repeat(ctx, v, x)
	}
	return skip, ok
}

// ask asks one side alone, as complete does.
func (rt *route) ask(ctx context.Context, v *userRequest, x *whittle.Exchange, side whittle.Side) (skip string, ok bool) {
	if side == whittle.Monolith {
		x.Monolith, ok = rt.askSide(ctx, v, rt.env.monolith, rt.toMonolith(v, x))
		if v.unserved && ok && x.Monolith.Failure == whittle.NoFailure { // no user's response shows how slow it is
			rt.shedder.Observe(x.Monolith.Latency, v.unmirrored, time.Now())
		}
		return "", ok
	}
	var err error
	if x.Candidate, ok, err = rt.askCandidate(ctx, v, x); err != nil {
		return whittle.SkipUntranslated, true
	}
	if ok && x.Candidate.OK() {
		rt.breaker.ObserveMirrored(x.Candidate.Latency)
	}
	return "", ok
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

// seeRepeat takes note of what became of a request that the monolith was sent again.
func (rt *route) seeRepeat(x *whittle.Exchange, again *whittle.Response) {
	if rt.repeatable.See(x.Monolith.Status, again.Status) {
		rt.env.g.log.Warn("the monolith fails what it is sent a second time, so nothing is any more: no noise is learned, and no difference is asked about again until a reset",
			"route", rt.name, "first", x.Monolith.Status, "second", again.Status)
	}
}

// askSide asks one side for a whole response. False: the budget has no room for it,
// or users leave no connection to spare.
func (rt *route) askSide(ctx context.Context, v *userRequest, u *upstream.Upstream, r *whittle.Request) (whittle.Response, bool) {
	if r.Header != nil && r.Header["X-Idempotency-Key"] == nil {
		r.Header["X-Idempotency-Key"] = noValues
	}
	outOfMemory, most := false, rt.mostResponse(u)
	if v.unserved {
		most = v.mostCompared // as of what a user's response is compared with
	}
	a, spared := u.Aside(ctx, r, v.response.Latency, most, v.room(&outOfMemory))
	return a, spared && !outOfMemory
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

// uncoded decodes the content coding of every response of the exchange, so that a
// side that compresses and one that does not are compared by content. The user's response is not
// changed. A coding that the request did not ask for stays in the header, for its client
// gets bytes that it may not read. skip: the monolith's response cannot be decoded. A
// candidate's that cannot be decoded counts as a failure, or stays as it is where it was
// not asked for either. ok is false if the route's budget has no room for the decoded
// body.
func (rt *route) uncoded(v *userRequest, x *whittle.Exchange) (skip string, ok bool) {
	if err := rt.uncode(v, x, &x.Monolith); err != nil {
		return whittle.SkipEncoded, !errors.Is(err, errNoCopyRoom)
	}
	if x.Repeat != nil {
		if err := rt.uncode(v, x, x.Repeat); err != nil {
			x.Repeat = nil // one fewer to learn noise from
		}
	}
	switch err := rt.uncodeCandidate(v, x, &x.Candidate); {
	case err == nil:
	case errors.Is(err, errNoCopyRoom):
		return "", false
	case errors.Is(err, coding.ErrUnknown):
		return whittle.SkipEncoded, true
	case errors.Is(err, coding.ErrTooLong):
		x.Candidate.Failure, x.Candidate.Detail = whittle.FailedTooLarge, err.Error()
	default:
		x.Candidate.Failure, x.Candidate.Detail = whittle.FailedMalform, err.Error()
	}
	return "", true
}

// errNoCopyRoom says that the route's budget cannot hold a decoded response.
var errNoCopyRoom = errors.New("no room for the response once its content encoding is taken off")

// uncodeCandidate is uncode, but for an unknown coding that nobody asked for: that is
// another response, whatever it holds.
func (rt *route) uncodeCandidate(v *userRequest, x *whittle.Exchange, a *whittle.Response) error {
	err := rt.uncode(v, x, a)
	if errors.Is(err, coding.ErrUnknown) && !coding.Asked(x.Request.Header, a.Header) {
		return nil
	}
	return err
}

func (rt *route) uncode(v *userRequest, x *whittle.Exchange, a *whittle.Response) error {
	if a.Failure != whittle.NoFailure || coding.Plain(a.Header) {
		return nil
	}
	body, err := coding.Decode(a.Header, a.Body, rt.mostResponse(rt.env.candidate))
	if err != nil {
		return err
	}
	if !v.reserve(int64(len(body))) {
		return errNoCopyRoom
	}
	asked := coding.Asked(x.Request.Header, a.Header)
	if a.Body = body; asked {
		a.Header = maps.Clone(a.Header)
		delete(a.Header, "Content-Encoding")
	}
	return nil
}

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

// mayRepeat reports whether the monolith may be sent a request a second time.
func (rt *route) mayRepeat(v *userRequest, x *whittle.Exchange) bool {
	_, query, _ := strings.Cut(x.Request.Target, "?")
	return rt.safe(v.method) && !rt.spec.Mirror.Once && rt.repeatable.OK(query)
}

// codec is how a route's candidate wants to be asked.
type codec struct {
	// rpc is nil for a candidate that speaks the monolith's own HTTP.
	rpc transcoder
	// dryRunHeader is the header that writes carry which must not take effect, and
	// that users' requests may not; empty: none.
	dryRunHeader, dryRunValue string
}

// newCodec reads the contract of a route that has a candidate. Errors carry a
// Field relative to the route.
func newCodec(spec *whittle.Route) (codec, error) {
	var t codec
	if spec.RPC != nil {
		rpc, err := transcode.New(*spec.RPC, transcode.Timeout(spec.Candidate.Timeout), transcode.Pattern(spec.Match.Pattern))
		if err != nil {
			return t, err
		}
		t.rpc = rpc
	}
	if spec.DryRun != nil {
		t.dryRunHeader = textproto.CanonicalMIMEHeaderKey(spec.DryRun.Header)
		t.dryRunValue = spec.DryRun.Value
	}
	return t, nil
}

// candidateRequest turns q into the request that the candidate gets. A write that
// must not take effect gets the dry-run header. It changes q's header.
func (t *codec) candidateRequest(q *whittle.Request) (*whittle.Request, error) {
	method, out := q.Method, q
	if t.rpc != nil {
		var err error
		if out, err = t.rpc.Request(q); err != nil {
			return nil, err
		}
	}
	if t.dryRunHeader != "" && !httpfield.IsSafe(method) {
		if out.Header == nil {
			out.Header = whittle.Header{}
		}
		out.Header[t.dryRunHeader] = []string{t.dryRunValue}
	}
	return out, nil
}

// mapped brings a candidate's response into the monolith's form, keeping its
// latency.
func (t *codec) mapped(a *whittle.Response) whittle.Response {
	if t.rpc == nil {
		return *a
	}
	m := t.rpc.Response(a)
	m.Latency = a.Latency
	return m
}
