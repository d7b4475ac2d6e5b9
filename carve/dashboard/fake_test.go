package dashboard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"whittle"
	"whittle/carve/admin"
	"whittle/carve/dashboard"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// order is one that the world was given.
type order struct {
	Route string
	rollout.Order
}

// world is a gateway that a test sets, behind the real admin API. It implements
// admin.Controller.
type world struct {
	url string

	mu     sync.Mutex // guards the following
	routes []whittle.RouteStatus
	fleet  whittle.FleetStatus
	orders []order
	refuse string // why orders are refused; empty: they are not
	down   bool   // every connection breaks
	cut    context.CancelFunc
	reach  context.Context // ends when connections are to break
}

// serve gives the dashboard over some routes. Tokens: the operator's, and the
// viewer's; none for a page that asks for none.
func serve(t *testing.T, routes []whittle.RouteStatus, tokens ...string) *world {
	t.Helper()
	return serveWith(t, &world{routes: routes}, nil, tokens...)
}

// serveWith is serve of a world, with a fleet or without.
func serveWith(t *testing.T, g *world, fleet func() *whittle.FleetStatus, tokens ...string) *world {
	t.Helper()
	g.reach, g.cut = context.WithCancel(t.Context())
	ending := make(chan struct{})
	o := admin.Options{Controller: g, Fleet: fleet, Address: "127.0.0.1:1", Page: dashboard.Handler(), Version: "1.2.3", Ending: ending}
	if len(tokens) == 2 {
		o.Token, o.ViewerToken = tokens[0], tokens[1]
	}
	handler, err := admin.New(o)
	fatal.If(t, err)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		down, reach := g.down, g.reach
		g.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(reach, cancel)()
		handler.ServeHTTP(w, r.WithContext(ctx))
		if reach.Err() != nil {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(func() { close(ending) })
	g.url = srv.URL + "/"
	return g
}

// set changes the world.
func (g *world) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

// fall breaks every connection, and each new one until rise.
func (g *world) fall() {
	g.set(func() {
		g.down = true
		g.cut()
	})
}

func (g *world) rise(t *testing.T) {
	g.set(func() {
		g.down = false
		g.reach, g.cut = context.WithCancel(t.Context())
	})
}

func (g *world) given() []order {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.orders)
}

func (g *world) Status() []whittle.RouteStatus {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.routes)
}

func (g *world) Route(name string) (whittle.RouteStatus, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := g.find(name); i >= 0 {
		return g.routes[i], nil
	}
	return whittle.RouteStatus{}, whittle.Errorf(whittle.NotFound, "there is no route %q", name)
}

// find gives a route's index, -1 where there is none. The caller holds mu.
func (g *world) find(name string) int {
	return slices.IndexFunc(g.routes, func(s whittle.RouteStatus) bool { return s.Route == name })
}

func (g *world) Past(name string) (whittle.Past, error) {
	s, err := g.Route(name)
	if err != nil || s.Ledger.Total == 0 {
		return whittle.Past{Route: name}, err
	}
	return pastOf(s), nil
}

func (g *world) Order(_ context.Context, name string, o rollout.Order) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := g.find(name)
	switch {
	case i < 0:
		return whittle.Errorf(whittle.NotFound, "there is no route %q", name)
	case g.refuse != "":
		return whittle.Errorf(whittle.FailedPrecondition, "%s", g.refuse).WithHint("wait for more traffic")
	}
	g.orders = append(g.orders, order{name, o})
	g.routes[i] = obeyed(g.routes[i], o)
	return nil
}

// obeyed is the route after an order.
func obeyed(s whittle.RouteStatus, o rollout.Order) whittle.RouteStatus {
	from := s.Share
	switch o.Kind {
	case rollout.Promote:
		s.Phase, s.Share = whittle.PhaseShift, 5000
	case rollout.Hold:
		s.Held = true
	case rollout.Resume:
		s.Held = false
	case rollout.Rollback:
		s.Phase, s.Share = whittle.PhaseRolledBack, 0
	case rollout.Off:
		s.Phase, s.Share, s.NextShare = whittle.PhaseOff, 0, 0
	case rollout.Reset:
		s.Phase, s.Share, s.Verdict = whittle.PhaseShadow, 0, idleRoute("").Verdict
	}
	s.Percent = s.Share.Percent()
	reason := strings.ToUpper(string(o.Kind)) + ": " + o.Reason
	s.Timeline = append(slices.Clone(s.Timeline), whittle.Decision{At: noon, From: from, To: s.Share, Phase: s.Phase, Reason: reason, By: o.By})
	return s
}
