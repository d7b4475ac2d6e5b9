package gateway

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/upstream"
)

// routeEnv is what a route gets from the gateway it belongs to.
type routeEnv struct {
	g        *Gateway
	monolith *upstream.Upstream
	// candidate is nil where the route has none.
	candidate *upstream.Upstream
	// adopt is the route of the same name in the table that is being replaced;
	// nil: there was none. Its ledger and share go on in the new route; until
	// its close is called it still serves, and newRoute must not disturb it,
	// since the reload may yet fail. (A route whose spec and upstreams are
	// unchanged is kept as it is, and newRoute is not called.)
	adopt *route
}

// servedRoute is what the gateway asks of a *route; it is here so that the other
// half's duties can be read in one place.
type servedRoute interface {
	// serve answers one request, and reports what the client got. To mirror
	// what the monolith was sent, take the header from inbound.Request.Outbound: hop
	// by hop fields are gone from it, Forwarded and the like are in it.
	serve(w http.ResponseWriter, r inbound.Request) forward.Result
	// apply sets the share in force.
	apply(share whittle.Share, phase whittle.Phase)
	ledger() whittle.Ledger
	restore(l whittle.Ledger)
	// close ends the route's workers and waits for them, or for ctx. Requests
	// under way may still be in serve, and may call it later: they are served,
	// but nothing is mirrored any more (SkipInterrupted).
	close(ctx context.Context) error
	// collect adds the route's own metrics to a scrape.
	collect(ch chan<- prometheus.Metric)
}

var _ servedRoute = (*route)(nil)
