package gateway

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
)

// route is a route with a candidate, at run time.
type route struct {
	spec whittle.Route
	env  routeEnv
}

// newRoute makes the runtime of a route that has a candidate. Errors carry a
// Field relative to the route.
func newRoute(spec whittle.Route, env routeEnv) (*route, error) {
	return &route{spec: spec, env: env}, nil
}

func (rt *route) serve(w http.ResponseWriter, r *http.Request) result {
	return rt.env.g.forward(w, r, rt.env.monolith, passing{})
}

func (rt *route) apply(whittle.Share, whittle.Phase) {}
func (rt *route) ledger() whittle.Ledger             { return whittle.Ledger{} }
func (rt *route) restore(whittle.Ledger)             {}
func (rt *route) collect(chan<- prometheus.Metric)   {}

// close ends the route's workers and waits for them, or for ctx.
func (rt *route) close(context.Context) error { return nil }
