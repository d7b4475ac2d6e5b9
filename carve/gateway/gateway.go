// Package gateway is whittle's data path. It listens, matches a request's route, lets the
// monolith or the candidate serve it, and hands a bounded copy of the exchange over for
// comparison. Nothing done on the side can delay or fail the user's request.
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
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/listener"
)

// Options make a gateway. Monolith is required; everything else has a useful
// zero value.
type Options struct {
	// Monolith serves every request that no candidate serves.
	Monolith whittle.Upstream
	// Routes in any order: the most specific match wins.
	Routes []whittle.Route
	Limits whittle.Limits
	// Trusted lists the networks of proxies whose Forwarded and X-Forwarded-*
	// headers are trusted and extended. In requests from anywhere else they are
	// replaced. Empty: no proxy is trusted.
	Trusted []netip.Prefix
	// UpgradeGrace is how long upgraded connections (WebSocket) may go on when the
	// gateway is asked to end, or another process has replaced it. 0: Limits.Grace.
	UpgradeGrace time.Duration
	// KeepUnderscores passes on fields of requests whose names have an underscore;
	// they are dropped otherwise, since many servers read X_Forwarded_For as
	// X-Forwarded-For.
	KeepUnderscores bool
	// NetHTTP makes net/http read all requests; otherwise it reads only unusual ones.
	// Tests use it to compare the two ways.
	NetHTTP bool
	// Observe compares an exchange. Mirror workers call it, and it may block. Nil: nothing
	// is compared.
	Observe func(*whittle.Exchange) whittle.Observation
	// Recheck takes both sides' responses when they were asked again about a difference.
	// more says that they must be asked once more after a time. No user waits for it, and
	// it may block. Nil: nothing is asked again.
	Recheck func(*whittle.Recheck) (after time.Duration, more bool)
	// Known reports whether a response to a request of this shape was compared. It is
	// called on the request's goroutine and must not block. Nil: every shape is known.
	Known func(route string, q *whittle.Request) bool
	// Outcome is called on the request's goroutine after the response, for routes
	// with a candidate. It must not block. Nil: not called.
	Outcome func(whittle.Outcome)
	// Record takes a copy of a user's exchange, of any route, for the log of recorded
	// traffic. It is called on the request's goroutine after the response and must not
	// block. False: it had no room. Nil: nothing is recorded, and nothing is spent on it.
	Record func(*whittle.Exchange) bool
	// Tripped is called after a route's breaker has set its share to 0, with the
	// generation of the position under which it tripped. Nil: not called.
	Tripped func(route, reason string, generation uint64)
	// Access gets a line of each request. Nil: none is written.
	Access *accesslog.Log
	// RequestID is the field by which requests are named, canonically, so that a request can be
	// found in everybody's logs: taken from a trusted peer, else made, and passed on. Empty:
	// requests have no ids.
	RequestID string
	// Log gets what an operator should know. Nil: discarded.
	Log *slog.Logger
	// Redact takes secrets out of what Log gets of requests. Nil: nothing is redacted.
	Redact accesslog.Redactor
	// Leased says that users' requests need a fleet's permits to reach a candidate. There
	// are none until Permit is called.
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

	// copies bounds what the copies of all routes hold together.
	copies     bodycopy.Budget
	copiesHeld atomic.Int64
	// buffered is what is held of bodies whose clients are slow, in bytes.
	buffered atomic.Int64
	active   active
	records  records

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
	g := &Gateway{opts: o, log: o.Log, requests: inbound.Reader{Trusted: o.Trusted, RequestID: strings.ToLower(o.RequestID), Mark: newLoopMark(), KeepUnderscores: o.KeepUnderscores}}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	g.forwarder.Limits = o.Limits
	g.forwarder.Buffers = bodycopy.Budget{Limit: max(o.Limits.BuffersBytes, 0), Used: &g.buffered}
	g.clients = listener.New(listener.Config{Handler: g, Log: g.log, NetHTTP: o.NetHTTP, Limits: o.Limits})
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

// Serve accepts connections from ls until ctx ends. Then it accepts no more, and for a
// moment still responds on open connections. Requests under way may finish within
// Limits.Grace, upgraded connections within Options.UpgradeGrace. It cuts the rest,
// returns nil and closes ls.
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

// Replace makes Serve accept no more, because another process accepts from the same
// sockets, and return when its clients have gone. Idle ones have Limits.Grace for that.
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

// Ledger accounts for the route's requests since the gateway began; zero for a route
// that has no candidate or does not exist.
func (g *Gateway) Ledger(route string) whittle.Ledger {
	if rt := g.table.Load().routes[route]; rt != nil {
		return rt.ledger()
	}
	return whittle.Ledger{}
}

// Upstreams reports the state of the servers that requests are forwarded to, the monolith
// first.
func (g *Gateway) Upstreams() []whittle.UpstreamStatus {
	all := []whittle.UpstreamStatus{}
	for _, u := range g.table.Load().upstreams {
		all = append(all, u.Status())
	}
	return all
}

// Remarks are problems in the traffic so far that an operator should mend.
func (g *Gateway) Remarks() []whittle.Remark {
	all := g.proxies.remarks()
	for _, e := range g.table.Load().entries {
		if e.route != nil {
			all = append(all, e.route.groupRemarks()...)
		}
	}
	return all
}

// Counts reports the requests of a route whose fate the gateway itself knows. An exchange
// that Observe has Counted is pending in it. A route that has no candidate or does not
// exist has the zero Counts.
func (g *Gateway) Counts(route string) whittle.Counts {
	if rt := g.table.Load().routes[route]; rt != nil {
		return rt.ledgerCounts.report()
	}
	return whittle.Counts{}
}

// Interrupted counts requests of a route at the process that this one has replaced.
func (g *Gateway) Interrupted(route string, n int64) {
	if rt := g.table.Load().routes[route]; rt != nil && n > 0 {
		rt.ledgerCounts.opened.Add(n)
		rt.ledgerCounts.own.add(whittle.FateSkipped, whittle.SkipInterrupted, n)
	}
}

// Reload puts another table in force at once. Requests under way finish on the
// old one, and mirrored work has Limits.Grace for it, for which nobody waits. A route that
// stays keeps its ledger and its share. On error nothing has changed.
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
