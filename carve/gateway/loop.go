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
	"whittle/carve/gateway/listener"
	"whittle/internal/httpfield"
)

// loopHeader is the field by which a request that comes back is known: CDN-Loop
// (RFC 8586), as net/http spells it. Via (RFC 9110, section 7.6.3) would do as
// well, but origins act on it: nginx, for one, stops compressing.
const loopHeader = "Cdn-Loop"

// newLoopMark makes the name of this gateway in that field. It is of this process
// alone, so that a gateway behind a gateway is no loop, and cannot be guessed,
// so that nobody can have other people's requests refused.
func newLoopMark() string { return "whittle-" + strings.ToLower(rand.Text()) }

// looped reports whether this gateway has forwarded a request before.
func (g *Gateway) looped(r *http.Request) bool {
	values := r.Header[loopHeader]
	return values != nil && httpfield.HasToken(values, g.loopMark)
}

const loopText = "Loop Detected: this request has passed this gateway before, so one of its upstreams leads back to it.\n"

// refuseLoop answers a request that came back, and logs it for the operator at
// a bounded rate. Forwarded, it would come back again until no connection was
// left.
func (g *Gateway) refuseLoop(w http.ResponseWriter, r *http.Request, route string, res *result) {
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
func refuse(w http.ResponseWriter, r *http.Request, status int, text string, res *result) {
	res.sent, res.wrote, res.failure = status, true, whittle.FailedCanceled
	res.detail = "refused with " + strconv.Itoa(status)
	if c := listener.ConnOf(r); c != nil {
		c.EndRequests() // a body that is not read would be taken for the next one
	}
	writeErrorText(w, closing, status, text)
}
