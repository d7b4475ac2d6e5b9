package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
)

// The gateway has two halves. One passes a request on to one upstream
// (forward, upstream.call); the other decides which upstream that is, and what
// else is done with it (route). This file is the interface between them.

// result is what became of one forwarded request.
type result struct {
	// side is filled in by the route; the pass-through half leaves it alone.
	side whittle.Side
	// status is what the upstream answered, 0 where it gave no head. What the
	// client got instead (502, 504, 413) is in sent.
	status int
	// sent is the status that the client got; 0 where it got none.
	sent    int
	failure whittle.Failure
	// detail explains the failure to an operator; never sent to a client.
	detail string
	// latency is from turning to the upstream to the last byte read of it, without
	// the time in which the client was waited for: for the request's body, and to
	// take the response.
	latency time.Duration
	// wrote says that something of a final response has reached the
	// ResponseWriter: from then on nobody else can respond instead.
	wrote bool
	// refused says that passing.accept discarded the response.
	refused bool
	// streamed says that the response was an upgrade or an event stream.
	streamed bool
	// abort says that a response begun cannot be ended truthfully, so that the
	// client's connection must be cut. Whoever serves hands it up; ServeHTTP
	// does the cutting after everything else has been accounted for.
	abort bool
}

// forwardOptions says how a request is forwarded. The zero value passes every response
// on and turns every failure into a 502 or 504.
type forwardOptions struct {
	// tap sees the exchange go by. Nil: nobody does.
	tap tap
	// accept is asked once, with the head of a final response, before anything
	// of it is written. False discards the response (result.refused), so that
	// another upstream may be asked. With accept set, a failure before the
	// head writes nothing to the client either, and informational responses are
	// not passed on. The header must not be kept or changed.
	accept func(status int, h whittle.Header) bool
}

// tap sees an exchange go by. requestBody may run at the same time as the
// response's methods, and no method is called after forward has returned. None
// may block, and no slice may be kept; the maps belong to the tap.
type tap interface {
	// requestBody gets the request's body piece by piece, as it is read.
	requestBody(p []byte)
	// responseHead gets the final status and the end-to-end header.
	responseHead(status int, h whittle.Header)
	// responseBody gets the response's body piece by piece, as it is read.
	responseBody(p []byte)
	// responseTrailer is called only where a trailer came.
	responseTrailer(h whittle.Header)
}

// routeEnv is what a route gets from the gateway it belongs to.
type routeEnv struct {
	g        *Gateway
	monolith *upstream
	// candidate is nil where the route has none.
	candidate *upstream
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
	// what the monolith was sent, take the header from Gateway.outbound(r): hop
	// by hop fields are gone from it, Forwarded and the like are in it.
	serve(w http.ResponseWriter, r *http.Request) result
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
