package gateway

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"time"

	"whittle/carve/gateway/inbound"
)

// newLoopMark makes this gateway's name for that field. It is unique to the process,
// so a gateway behind a gateway is no loop. It cannot be guessed, so nobody can have
// other users' requests refused.
func newLoopMark() string { return "whittle-" + strings.ToLower(rand.Text()) }

const loopText = "Loop Detected: this request has passed this gateway before, so one of its upstreams leads back to it.\n"

// logLoop counts a request that came back, and logs it at a bounded rate. If such a
// request were forwarded, it would come back until no connection was left.
func (g *Gateway) logLoop(r *inbound.Request, route string) {
	g.counts.loops.Add(1)
	more, due := g.failureLog.due(failureKey{route: route, failure: "loop"}, time.Now())
	if !due {
		return
	}
	g.log.LogAttrs(context.WithoutCancel(r.Context()), slog.LevelError,
		"a request came back to the gateway that had forwarded it: mend the URL of the monolith, or of the route's candidate",
		slog.String("route", route), slog.String("host", r.Host), slog.String("peer", r.RemoteAddr),
		slog.Int64("more_since_the_last_line", more))
}
