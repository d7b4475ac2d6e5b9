package gateway

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/bodycopy"
	"whittle/carve/gateway/breaker"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/mirror"
)

// route is a route with a candidate, at run time.
type route struct {
	spec whittle.Route
	env  routeEnv
	*routeState
	split   split
	bounds  breaker.Bounds
	budget  bodycopy.Budget
	shedder mirror.Shedder
	codec
}

// transcoder maps a JSON request onto an RPC and its response back.
type transcoder interface {
	Request(r *whittle.Request) (*whittle.Request, error)
	Response(a *whittle.Response) whittle.Response
}

// routeState is what a route of one name keeps through reloads: its ledger, its
// share and what is under way. Each runtime that uses it holds one claim, and
// the last to let go closes it.
type routeState struct {
	name         string
	ledgerCounts ledger
	held         atomic.Int64 // bytes that copies hold
	mirrorQueue  *mirror.Queue[*userRequest]
	breaker      *breaker.Breaker
	// repeats and watched count the requests that might be repeated or watched.
	repeats, watched atomic.Uint64
	// watching is the share of the candidate's responses to users that are to be
	// compared, in basis points; again asks both sides again about differences.
	watching atomic.Uint32
	again    *mirror.Rechecks
	setting  atomic.Pointer[setting]
	unkeyed  sync.Once
	notices  sync.WaitGroup
	tripped  func(route, reason string)
	counts   routeCounts

	mu     sync.Mutex // guards the following, and the changes of setting
	claims int
	// heldAtZero holds the share at 0 from a trip until the share 0 is applied, so
	// that a decision taken before the trip cannot undo it.
	heldAtZero bool
}

// setting is the share in force.
type setting struct {
	share whittle.Share
	phase whittle.Phase
}

// newRoute makes the runtime of a route that has a candidate. Until a share is
// applied, or one is adopted, the route is off. Errors carry a Field relative
// to the route.
func newRoute(spec whittle.Route, env routeEnv) (*route, error) {
	rt := &route{spec: spec, env: env, split: newSplit(spec.Name, spec.Rollout.Sticky), bounds: breaker.BoundsOf(spec.Guard)}
	var err error
	if rt.codec, err = newCodec(&spec); err != nil {
		return nil, err
	}
	if env.adopt != nil {
		rt.routeState = env.adopt.routeState
	} else {
		rt.routeState = newRouteState(spec.Name, env.g.opts.Tripped)
	}
	rt.claim()
	rt.budget = bodycopy.Budget{Limit: spec.Mirror.MaxMemory, Used: &rt.held, Whole: &env.g.copies}
	rt.shedder.Above = spec.Mirror.ShedAbove
	return rt, nil
}

func newRouteState(name string, tripped func(route, reason string)) *routeState {
	s := &routeState{name: name, tripped: tripped, again: mirror.NewRechecks()}
	s.mirrorQueue = mirror.NewQueue(
		func(ctx context.Context, v *userRequest) { v.rt.runMirrored(ctx, v) },
		func(v *userRequest) { v.skip(whittle.SkipInterrupted) },
	)
	s.breaker = breaker.New(s.trip)
	s.setting.Store(&setting{phase: whittle.PhaseOff})
	return s
}

func (s *routeState) claim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims++
}

// apply sets the share in force.
func (s *routeState) apply(share whittle.Share, phase whittle.Phase) {
	if phase == whittle.PhaseOff || phase == whittle.PhaseRolledBack {
		share = 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if share == 0 {
		s.heldAtZero = false
	} else if s.heldAtZero {
		return
	}
	s.setting.Store(&setting{share: min(share, whittle.All), phase: phase})
	s.breaker.Set(share > 0, phase == whittle.PhaseLive)
}

// trip is called by the breaker, which lets nobody pass any more.
func (s *routeState) trip(reason string) {
	s.counts.trips.Add(1)
	s.mu.Lock()
	s.heldAtZero = true
	s.setting.Store(&setting{share: 0, phase: s.setting.Load().phase})
	s.mu.Unlock()
	if s.tripped != nil {
		s.notices.Go(func() { s.tripped(s.name, reason) })
	}
}

func (s *routeState) ledger() whittle.Ledger   { return s.ledgerCounts.snapshot() }
func (s *routeState) restore(l whittle.Ledger) { s.ledgerCounts.restore(l) }

// stuckWait is how long a worker whose calls were canceled is waited for:
// Observe is the only thing that can hold it up.
const stuckWait = time.Second

// close releases the standing; the last to do so ends what is under way,
// within ctx.
func (s *routeState) close(ctx context.Context) error {
	s.mu.Lock()
	s.claims--
	last := s.claims == 0
	s.mu.Unlock()
	if !last {
		return nil
	}
	s.breaker.Stop()
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), stuckWait)
	if deadline, ok := ctx.Deadline(); ok {
		cancel()
		after, cancel = context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(stuckWait))
	}
	defer cancel()
	if err := s.mirrorQueue.Close(ctx, after); err != nil {
		return whittle.Errorf(whittle.DeadlineExceeded, "close route %q: a comparison does not end: %w", s.name, err)
	}
	s.notices.Wait()
	if err := s.again.Close(after); err != nil {
		return whittle.Errorf(whittle.DeadlineExceeded, "close route %q: asking again about a difference does not end: %w", s.name, err)
	}
	return nil
}

// noValues stands for net/http's silent sign that a request may be repeated on
// a new connection, where a kept one turned out to be closed: the field is
// there and has no value, so nothing of it is sent.
var noValues = []string{}

// serve answers one request.
func (rt *route) serve(w http.ResponseWriter, r inbound.Request) forward.Result {
	if rt.dryRunHeader != "" {
		delete(r.Header, rt.dryRunHeader) // nobody may pass a real write off as a dry run
	}
	if r.Header["X-Idempotency-Key"] == nil && rt.rescuable(r.Method) {
		r.Header["X-Idempotency-Key"] = noValues
	}
	v := newUserRequest(rt, &r)
	rt.ledgerCounts.open(&v.ledgerEntry)
	defer v.finish()
	set := rt.setting.Load()
	at, keyed := rt.split.placeOf(&r)
	v.user, v.chance = uint64(at), firstChance(set.share, rt.spec.Mirror.Sample)
	if !keyed || rt.split.by == "address" {
		rt.env.g.warnProxy(&r, rt.name)
	}
	if !keyed {
		rt.unkeyed.Do(func() {
			rt.env.g.log.Warn("a request has no sticky key; such users are placed by their address",
				"route", rt.name, "by", rt.spec.Rollout.Sticky.By, "name", rt.spec.Rollout.Sticky.Name)
		})
	}
	plan := rt.plan(v, &r, set, at)
	u := user{w, r}
	if set.share > 0 && at.in(set.share, forShare) {
		if res, ok := rt.byCandidate(v, &u, &plan); ok {
			return res
		}
	}
	return rt.byMonolith(v, &u, plan)
}

// firstChance is the chance that a user whose exchange is compared is one for whom
// the candidate is asked first: all of those are watched, at most, and of the
// others a sample is mirrored.
func firstChance(share, sample whittle.Share) float64 {
	first := float64(share)
	return first / max(1, first+float64(whittle.All-share)*float64(sample)/float64(whittle.All))
}

// finish accounts for a request that ends without having been handed over: by
// then it is settled, unless the request's goroutine panicked.
func (v *userRequest) finish() {
	if !v.handed {
		v.skip(whittle.SkipInterrupted)
		v.free()
	}
}

// plan is what happens beside a request: nothing for a reason, shedding, or
// (zero) mirroring.
type plan struct {
	skip string
	shed bool
}

// plan decides before the request is passed on, so that what is not mirrored is
// not copied either.
func (rt *route) plan(v *userRequest, r *inbound.Request, set *setting, at position) plan {
	m := &rt.spec.Mirror
	switch {
	case set.phase == whittle.PhaseOff:
		return plan{skip: whittle.SkipOff}
	case !rt.mirrorable(r.Method):
		return plan{skip: whittle.SkipNotSafe}
	case r.Streams:
		return plan{skip: whittle.SkipStreaming}
	case !at.in(m.Sample, forSample):
		return plan{skip: whittle.SkipSampled}
	case v.length > m.MaxBody:
		return plan{skip: whittle.SkipTooLarge}
	}
	return plan{shed: rt.shedder.Sheds(v.at)}
}

// safe reports whether a request may be sent to a side that no user waits for:
// its method changes nothing by definition (RFC 9110, section 9.2.1), or the
// config says that it does not here.
func (rt *route) safe(method string) bool { return rt.spec.Safe || safeMethod(method) }

func safeMethod(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// mirrorable adds the writes that the candidate is told to dry run.
func (rt *route) mirrorable(method string) bool { return rt.safe(method) || rt.dryRunHeader != "" }

// rescuable reports whether another server may be asked after the candidate
// may have acted: the request is safe, or doing it twice is as doing it once
// (RFC 9110, section 9.2.2).
func (rt *route) rescuable(method string) bool {
	return rt.safe(method) || method == http.MethodPut || method == http.MethodDelete
}

// byMonolith passes the request to the monolith and mirrors it as planned.
func (rt *route) byMonolith(v *userRequest, u *user, p plan) forward.Result {
	var how forward.Options
	mirrors := p == plan{}
	if mirrors {
		how.Tap = v
		v.watchEnd(u.r.Request)
	}
	res := rt.env.g.forwarder.Forward(u.w, u.r, rt.env.monolith, how)
	res.Side = whittle.Monolith
	rt.observeMonolith(v, &res)
	rt.report(whittle.Outcome{Side: whittle.Monolith, Status: res.Status, Failure: res.Failure, Latency: res.Latency}, v)
	switch {
	case p.skip != "":
		v.skip(p.skip)
	case p.shed:
		v.shed()
	default:
		rt.mirror(v, &res)
	}
	return res
}

// observeMonolith takes the monolith's latency into account where it gave a response.
func (rt *route) observeMonolith(v *userRequest, res *forward.Result) {
	if res.Failure == whittle.NoFailure && !res.Streamed {
		rt.shedder.Observe(res.Latency, v.unmirrored, v.at.Add(res.Latency))
	}
}

// report reports the outcome of a user's request.
func (rt *route) report(o whittle.Outcome, v *userRequest) {
	if f := rt.env.g.opts.Outcome; f != nil {
		o.Route, o.User, o.At = rt.name, v.user, v.at
		f(o)
	}
}
