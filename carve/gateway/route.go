package gateway

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/bodycopy"
	"whittle/carve/gateway/breaker"
	"whittle/carve/gateway/mirror"
	"whittle/carve/gateway/preview"
	"whittle/carve/gateway/upstream"
)

// route is a route with a candidate, at run time.
type route struct {
	spec whittle.Route
	env  routeEnv
	*routeState
	split   split
	preview *preview.Reader // nil: nobody's requests are previewed
	bounds  breaker.Bounds
	budget  bodycopy.Budget
	shedder mirror.Shedder
	// group has the routes whose least share counts for this one. Nil: it is in none.
	group atomic.Pointer[group]
	codec
}

// routeEnv is what a route gets from the gateway it belongs to.
type routeEnv struct {
	g        *Gateway
	monolith *upstream.Upstream
	// candidate is nil where the route has none.
	candidate *upstream.Upstream
	// shared bounds the exposure of all routes to the candidate.
	shared *breaker.Shared
}

// transcoder maps a JSON request onto an RPC and its response back.
type transcoder interface {
	Request(r *whittle.Request) (*whittle.Request, error)
	Response(a *whittle.Response) whittle.Response
}

// routeState is the state that a route of one name keeps over reloads: its ledger, its
// share and the requests under way. Each route that uses it holds one claim; the last
// release closes it.
type routeState struct {
	name         string
	ledgerCounts ledger
	held         atomic.Int64 // bytes that copies hold
	mirrorQueue  *mirror.Queue[*userRequest]
	breaker      *breaker.Breaker
	// repeats and watched count the requests that might be repeated or watched.
	repeats, watched atomic.Uint64
	repeatable       mirror.Repeatable
	// watching is the share of the candidate's responses to users that are to be
	// compared, in basis points; again asks both sides again about differences.
	watching atomic.Uint32
	again    *mirror.Rechecks
	setting  atomic.Pointer[setting]
	unkeyed  sync.Once
	notices  sync.WaitGroup
	tripped  func(route, reason string, generation uint64)
	counts   routeCounts

	mu     sync.Mutex // guards the following, and the changes of setting
	claims int
	closed bool // nobody is told of a trip any more
	// trippedUnder holds the share at 0 from a trip under its generation until a position
	// shows that the trip is known, so that no other one can undo it. 0: no trip.
	trippedUnder uint64
	// zero is the last position's: a trip under an earlier one is over.
	zero uint64
}

// newRoute makes the runtime of a route that has a candidate. Until a share is
// applied, or one is adopted, the route is off. Errors carry a Field relative
// to the route.
//
// adopt is the route of the same name in the table that is being replaced; nil: there
// was none. Its ledger and share go on in the new route. It serves until its close is
// called, and is not disturbed here, because the reload may still fail. The new route
// does not refer to it: what it held is free after its last request. (A route whose
// spec and upstreams are unchanged is kept, without newRoute.)
func newRoute(spec whittle.Route, env routeEnv, adopt *route) (*route, error) {
	rt := &route{spec: spec, env: env, split: newSplit(cmp.Or(spec.Group, spec.Name), spec.Rollout.Sticky), bounds: breaker.BoundsOf(spec.Guard)}
	rt.bounds.Shared = env.shared
	var err error
	if rt.codec, err = newCodec(&spec); err != nil {
		return nil, err
	}
	if adopt != nil {
		rt.routeState = adopt.routeState
	} else {
		rt.routeState = newRouteState(spec.Name, env.g.opts.Tripped)
	}
	if p := spec.Rollout.Preview; p != nil {
		rt.preview = preview.New(*p, spec.Name)
	}
	rt.claim()
	rt.budget = bodycopy.Budget{Limit: spec.Mirror.MaxMemory, Used: &rt.held, Whole: &env.g.copies}
	rt.shedder.Above = spec.Mirror.ShedAbove
	return rt, nil
}

func newRouteState(name string, tripped func(route, reason string, generation uint64)) *routeState {
	s := &routeState{name: name, tripped: tripped, again: mirror.NewRechecks()}
	s.mirrorQueue = newMirrorQueue()
	s.breaker = breaker.New(s.trip)
	s.setting.Store(&setting{phase: whittle.PhaseOff})
	return s
}

func (s *routeState) claim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims++
}

// Apply puts a position in force for a route, and reports whether it is. It ignores
// one whose generation is not above that of the last. After the breaker has tripped
// it ignores every share above 0 until a position shows, by its Zero, that the trip is
// known. A name that no route has is ignored: a reload may have removed it a moment ago.
func (g *Gateway) Apply(route string, p whittle.Position) (inForce bool) {
	rt := g.table.Load().routes[route]
	return rt != nil && rt.apply(p)
}

// apply puts a position in force, and reports whether it is: one that is not later
// than the last is not, nor one above 0 that was decided before a trip was known.
func (s *routeState) apply(p whittle.Position) (inForce bool) {
	if p.Phase == whittle.PhaseOff || p.Phase == whittle.PhaseRolledBack {
		p.Share = 0
	}
	next := setting{share: min(p.Share, whittle.All), phase: p.Phase, generation: p.Generation}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.setting.Load()
	if next.generation <= now.generation {
		return next == *now
	}
	s.zero = max(s.zero, p.Zero)
	if s.trippedUnder <= s.zero {
		s.trippedUnder = 0
	} else if next.share > 0 {
		return false
	}
	s.setting.Store(&next)
	if next.phase == whittle.PhaseShadow && now.phase != whittle.PhaseShadow && now.generation > 0 {
		s.breaker.Forget() // a reset, or another candidate; not the first of this process
		s.repeatable.Forget()
	}
	s.breaker.Set(next.share > 0, next.phase == whittle.PhaseLive, next.generation)
	return true
}

// trip is called by the breaker when it has opened, with the position under which it
// tripped.
func (s *routeState) trip(reason string, generation uint64) {
	s.mu.Lock()
	if generation <= s.zero {
		s.mu.Unlock()
		return // the share has been 0 since
	}
	s.trippedUnder = generation
	now := s.setting.Load()
	s.setting.Store(&setting{share: 0, phase: now.phase, generation: now.generation, tripped: true})
	if s.tripped != nil && !s.closed {
		s.notices.Go(func() { s.tripped(s.name, reason, generation) })
	}
	s.mu.Unlock()
	s.counts.trips.Add(1)
}

// apply puts a position in force, and tells a fall to what bounds the candidate's other
// routes.
func (rt *route) apply(p whittle.Position) (inForce bool) {
	before := rt.lastZero()
	inForce = rt.routeState.apply(p)
	if rt.lastZero() > before {
		rt.bounds.Shared.Fell()
	}
	return inForce
}

func (s *routeState) lastZero() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.zero
}

func (s *routeState) ledger() whittle.Ledger { return s.ledgerCounts.snapshot() }

// stuckWait bounds the wait for a worker whose calls were canceled. Only Observe can
// hold it up.
const stuckWait = time.Second

// close releases a claim. The last release ends the work under way, within ctx.
func (s *routeState) close(ctx context.Context) error {
	s.mu.Lock()
	s.claims--
	last := s.claims == 0
	s.closed = last
	s.mu.Unlock()
	if !last {
		return nil
	}
	s.breaker.Stop()
	end, bounded := ctx.Deadline()
	if !bounded {
		end = time.Now()
	}
	after, cancel := context.WithDeadline(context.WithoutCancel(ctx), end.Add(stuckWait))
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
