// Package gateway is whittle's data path: it listens, matches a request's
// route, lets the monolith or the candidate serve it, and hands a bounded copy
// of the exchange to whoever compares. Nothing done on the side can hold up or
// fail the user's request.
package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/accesslog"
	"whittle/carve/gateway/bodycopy"
	"whittle/carve/gateway/breaker"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/listener"
	"whittle/carve/gateway/quota"
)

// Options make a gateway. Monolith is required; everything else has a useful
// zero value.
type Options struct {
	// Monolith serves every request that no candidate serves.
	Monolith whittle.Upstream
	// Routes in any order: the most specific match wins.
	Routes []whittle.Route
	Limits whittle.Limits
	// Clients are bounds on each client; the zero value is none. Limit changes them.
	Clients whittle.Clients
	// Trusted lists the networks of proxies whose Forwarded and X-Forwarded-*
	// headers are believed and added to. A request from anywhere else has them
	// replaced. Empty: nobody is believed.
	Trusted []netip.Prefix
	// UpgradeGrace is how long upgraded connections (WebSocket) may go on when the
	// gateway is asked to end, or another process has replaced it. 0: Limits.Grace.
	UpgradeGrace time.Duration
	// KeepUnderscores passes on fields of requests whose names have an underscore;
	// they are dropped otherwise, since many servers read X_Forwarded_For as
	// X-Forwarded-For.
	KeepUnderscores bool
	// NetHTTP has net/http read all requests; otherwise it reads only those that are
	// odd. It is for tests, which hold the two ways to each other.
	NetHTTP bool
	// Observe takes an exchange to be compared; called on mirror workers, which
	// it may block. Nil: nothing is compared.
	Observe func(*whittle.Exchange) whittle.Observation
	// Recheck takes what both sides said when they were asked again about a
	// difference; more says that they are to be asked once more after a time. Called
	// where no user waits; it may block. Nil: nothing is asked again.
	Recheck func(*whittle.Recheck) (after time.Duration, more bool)
	// Known reports whether a request has a shape of which a response was compared;
	// called on the request's goroutine, it must not block. Nil: all have.
	Known func(route string, q *whittle.Request) bool
	// Outcome is called on the request's goroutine after the response, for routes
	// with a candidate; it must not block. Nil: nobody listens.
	Outcome func(whittle.Outcome)
	// Record takes a copy of a user's exchange, of whatever route, for the log of
	// recorded traffic; called on the request's goroutine after the response, it
	// must not block. False: it had no room. Nil: nothing is recorded, and
	// nothing is spent on it.
	Record func(*whittle.Exchange) bool
	// Tripped is called after a route's breaker has set its share to 0, with the
	// generation of the position under which it tripped. Nil: nobody listens.
	Tripped func(route, reason string, generation uint64)
	// Tracer starts a span for each request. Nil: trace headers only pass
	// through.
	Tracer Tracer
	// Access gets a line of each request. Nil: none is written.
	Access *accesslog.Log
	// RequestID names requests.
	RequestID RequestID
	// Log gets what an operator should know. Nil: discarded.
	Log *slog.Logger
	// Redact takes secrets out of what Log gets of requests. Nil: they get
	// it as it came.
	Redact accesslog.Redactor
	// Leased says that users' requests need permits of a fleet to be exposed to a
	// candidate: none are, until Permit says so.
	Leased bool
}

// Gateway is an http.Handler that passes requests on. It is safe for
// concurrent use.
type Gateway struct {
	opts       Options
	log        *slog.Logger
	table      atomic.Pointer[table]
	counts     counts
	failureLog failureLog
	proxies    proxyWatch
	requests   inbound.Reader
	forwarder  forward.Forwarder

	clients *listener.Server
	// quotas are the bounds on each client, and underWay counts its requests.
	quotas   atomic.Pointer[quotas]
	underWay quota.Count

	// copies bounds what the copies of all routes hold together.
	copies     bodycopy.Budget
	copiesHeld atomic.Int64
	// buffered is what is held of bodies whose clients are slow, in bytes.
	buffered atomic.Int64
	active   active
	// streams says that a client has spoken HTTP/2, and had many requests on a connection.
	streams atomic.Bool
	records records

	// leaving is done when the gateway is to end, which left says when, and upgradesEnd
	// ends upgraded connections after their time.
	leaving     sync.Once
	left        time.Time
	upgradesEnd *time.Timer

	// reload guards the making of tables, so that two reloads cannot cross.
	reload sync.Mutex
	closed bool // guarded by reload
	// retiring are the tables that have been replaced and still have work under way.
	retiring sync.WaitGroup
	ending   context.Context //nolint:containedctx // the gateway's own life, not a call's
	cut      context.CancelFunc
}

// New makes a gateway; nothing listens until Serve.
func New(o Options) (*Gateway, error) {
	o.Limits = o.Limits.WithDefaults()
	o.UpgradeGrace = cmp.Or(o.UpgradeGrace, o.Limits.Grace)
	g := &Gateway{opts: o, log: o.Log, requests: inbound.Reader{Trusted: o.Trusted, RequestID: strings.ToLower(o.RequestID.Header), Mark: newLoopMark(), KeepUnderscores: o.KeepUnderscores}}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	g.forwarder.Limits = o.Limits
	g.forwarder.Buffers = bodycopy.Budget{Limit: max(o.Limits.BuffersBytes, 0), Used: &g.buffered}
	g.clients = listener.New(listener.Config{Handler: g, Log: g.log, NetHTTP: o.NetHTTP, Limits: o.Limits, Exempt: o.Trusted})
	g.Limit(o.Clients)
	g.copies = bodycopy.Budget{Limit: o.Limits.CopyBytes, Used: &g.copiesHeld}
	g.records.budget = bodycopy.Budget{Limit: recordMemory, Used: &g.records.held, Whole: &g.copies}
	t, err := g.newTable(o.Monolith, o.Routes, &table{})
	if err != nil {
		return nil, err
	}
	g.table.Store(t)
	g.ending, g.cut = context.WithCancel(context.Background())
	return g, nil
}

// Serve accepts connections from ls until ctx ends. Then it accepts no more, responds
// for a moment to whoever asks over a connection that is open, lets requests under way
// finish within Limits.Grace and upgraded connections within Options.UpgradeGrace, cuts
// what is left, and returns nil. It closes ls.
func (g *Gateway) Serve(ctx context.Context, ls ...listener.Listener) error {
	defer context.AfterFunc(ctx, g.boundUpgrades)()
	err := g.clients.Serve(ctx, ls...)
	g.boundUpgrades()
	g.forwarder.AwaitUpgrades(time.Until(g.left.Add(g.opts.UpgradeGrace)))
	g.upgradesEnd.Stop()
	g.forwarder.EndUpgrades()
	g.active.wait(5 * time.Second)
	return err
}

// Replace has Serve accept no more, since another process accepts from the same
// sockets, and end when its clients have gone. Idle ones have Limits.Grace for that.
func (g *Gateway) Replace() {
	g.boundUpgrades()
	g.clients.Replace()
}

// boundUpgrades begins the time that upgraded connections have: requests under way may
// take longer.
func (g *Gateway) boundUpgrades() {
	g.leaving.Do(func() {
		g.left = time.Now()
		g.upgradesEnd = time.AfterFunc(g.opts.UpgradeGrace, g.forwarder.EndUpgrades)
	})
}

// Apply puts a position in force for a route, and reports whether it is. It ignores
// one whose generation is not above that of the last. After the breaker has tripped
// it ignores every share above 0 until a position shows, by its Zero, that the trip is
// known. A name that no route has is ignored: a reload may have removed it a moment ago.
func (g *Gateway) Apply(route string, p whittle.Position) (inForce bool) {
	rt := g.table.Load().routes[route]
	return rt != nil && rt.apply(p)
}

// Watch sets which share of the candidate's responses to users is compared with the
// monolith's; the config's mirror.watch is the least. It does nothing for a route
// that has no candidate or does not exist.
func (g *Gateway) Watch(route string, share whittle.Share) {
	if rt := g.table.Load().routes[route]; rt != nil {
		rt.watching.Store(uint32(min(share, whittle.All)))
	}
}

// Permit sets how many users' requests a fleet lets be exposed to a route's candidate at
// this gateway, over all of the candidate's routes, and until when; zero: until the next call.
func (g *Gateway) Permit(route string, n int, until time.Time) {
	if rt := g.table.Load().routes[route]; rt != nil {
		rt.bounds.Shared.Permit(n, until)
	}
}

// Use says how the permits of a route's candidate are used.
func (g *Gateway) Use(route string) breaker.Use {
	if rt := g.table.Load().routes[route]; rt != nil {
		return rt.bounds.Shared.Use()
	}
	return breaker.Use{}
}

// Leaving is how many requests clients may have under way at once here, where another
// process accepts their connections: one on each that is still open. -1: it is not known.
func (g *Gateway) Leaving() int {
	open := g.clients.Open() - g.forwarder.Upgrades()
	if !g.clients.Draining() || open > 0 && g.streams.Load() {
		return -1
	}
	return int(max(0, open))
}

// Ledger accounts for the route's requests since the gateway began; zero for a route
// that has no candidate or does not exist.
func (g *Gateway) Ledger(route string) whittle.Ledger {
	if rt := g.table.Load().routes[route]; rt != nil {
		return rt.ledger()
	}
	return whittle.Ledger{}
}

// Upstreams reports how the servers are that requests are forwarded to, the monolith
// first.
func (g *Gateway) Upstreams() []whittle.UpstreamStatus {
	all := []whittle.UpstreamStatus{}
	for _, u := range g.table.Load().upstreams {
		all = append(all, u.Status())
	}
	return all
}

// Counts reports the requests of a route whose fate the gateway knows of itself. An
// exchange that Observe has Counted is pending in it. The zero Counts for a route
// that has no candidate or does not exist.
func (g *Gateway) Counts(route string) whittle.Counts {
	if rt := g.table.Load().routes[route]; rt != nil {
		return rt.ledgerCounts.report()
	}
	return whittle.Counts{}
}

// Pace is how slow the slowest good response of a route's candidate was lately, as its
// breaker knows it, and which candidate that is. 0: nothing is known.
func (g *Gateway) Pace(route string) (candidate string, slowest time.Duration) {
	rt := g.table.Load().routes[route]
	if rt == nil {
		return "", 0
	}
	return rt.candidateName(), rt.breaker.Slowest()
}

// LearnPace takes what another process's gateway knew of the same candidate.
func (g *Gateway) LearnPace(route, candidate string, slowest time.Duration) {
	if rt := g.table.Load().routes[route]; rt != nil && slowest > 0 && rt.candidateName() == candidate {
		rt.breaker.ObserveMirrored(slowest)
	}
}

// Reload puts another table in force at once. Requests under way finish on the
// old one, and mirrored work has Limits.Grace for it, which nobody waits for; a route that stays keeps its ledger and its share. On error nothing
// has changed.
func (g *Gateway) Reload(monolith whittle.Upstream, routes []whittle.Route) error {
	g.reload.Lock()
	defer g.reload.Unlock()
	if g.closed {
		return whittle.Errorf(whittle.FailedPrecondition, "reload routes: the gateway is closed")
	}
	old := g.table.Load()
	t, err := g.newTable(monolith, routes, old)
	if err != nil {
		return err
	}
	g.table.Store(t)
	g.retiring.Go(func() { // a candidate that hangs would hold up the other routes
		ctx, cancel := context.WithTimeout(context.Background(), g.opts.Limits.Grace)
		defer cancel()
		defer context.AfterFunc(g.ending, cancel)()
		if err := old.retire(ctx, t); err != nil {
			g.log.Warn("some mirrored work of the old routes did not end in time", "err", err)
		}
	})
	return nil
}

// Close ends the background work and waits for it, or for ctx. It
// does not end requests: Serve does.
func (g *Gateway) Close(ctx context.Context) error {
	g.reload.Lock()
	defer g.reload.Unlock()
	g.closed = true
	defer g.cut()
	defer g.forwarder.Close()
	defer context.AfterFunc(ctx, g.cut)() // before the others have had their grace
	err := g.table.Load().retire(ctx, &table{})
	g.retiring.Wait()
	return err
}
