package gateway

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
)

// newLoopMark makes the name of this gateway in that field. It is of this process
// alone, so that a gateway behind a gateway is no loop, and cannot be guessed,
// so that nobody can have other people's requests refused.
func newLoopMark() string { return "whittle-" + strings.ToLower(rand.Text()) }

const loopText = "Loop Detected: this request has passed this gateway before, so one of its upstreams leads back to it.\n"

// refuseLoop answers a request that came back, and logs it for the operator at
// a bounded rate. Forwarded, it would come back again until no connection was
// left.
func (g *Gateway) refuseLoop(w http.ResponseWriter, r *inbound.Request, route string, res *forward.Result) {
	g.counts.loops.Add(1)
	if unspoken, speak := g.failureLog.due(failureKey{route: route, failure: "loop"}, time.Now()); speak {
		g.log.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelError,
			"a request came back to the gateway that had forwarded it: mend the URL of the monolith, or of the route's candidate",
			slog.String("route", route), slog.String("host", r.Host), slog.String("peer", r.RemoteAddr),
			slog.Int64("more_since_the_last_line", unspoken))
	}
	refuse(w, r, http.StatusLoopDetected, loopText, res)
}

// refuse answers what is not passed on at all, in whittle's own name.
func refuse(w http.ResponseWriter, r *inbound.Request, status int, text string, res *forward.Result) {
	res.Sent, res.Wrote, res.Failure = status, true, whittle.FailedCanceled
	res.Detail = "refused with " + strconv.Itoa(status)
	if r.Conn != nil {
		r.Conn.EndRequests() // a body that is not read would be taken for the next one
	}
	forward.WriteErrorText(w, forward.Closing, status, text)
}

// refused answers what is not passed on at all.
func refused(w http.ResponseWriter, r *inbound.Request, l Limits, res *forward.Result) bool {
	var status int
	switch {
	case r.Method == http.MethodConnect:
		status = http.StatusNotImplemented // this is no forward proxy
	case l.BodyBytes >= 0 && r.ContentLength > l.BodyBytes:
		status = http.StatusRequestEntityTooLarge
	default:
		return false
	}
	refuse(w, r, status, http.StatusText(status)+"\n", res)
	return true
}
