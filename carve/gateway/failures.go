package gateway

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/carve/gateway/inbound"
)

// failureLog logs failing upstreams for the operator, at a bounded rate. The
// zero value is ready.
type failureLog struct {
	mu   sync.Mutex // guards the following
	last map[failureKey]*unlogged
}

// logFailureEvery is how often one kind of failure of one upstream is logged. When an
// upstream is down, every request fails, and a line for each would flood the log.
const logFailureEvery = time.Second

// maxFailureKeys bounds the kinds that are distinguished.
const maxFailureKeys = 1024

// failureKey identifies a kind of failure for an operator.
type failureKey struct {
	route   string
	side    whittle.Side
	failure whittle.Failure
}

// unlogged counts the failures that were not logged since the last line.
type unlogged struct {
	until time.Time
	count int64
}

// due reports whether to log now, and how many failures before were not logged.
func (c *failureLog) due(k failureKey, now time.Time) (more int64, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || len(c.last) >= maxFailureKeys {
		c.last = map[failureKey]*unlogged{}
	}
	s := c.last[k]
	if s == nil {
		s = &unlogged{}
		c.last[k] = s
	}
	if now.Before(s.until) {
		s.count++
		return 0, false
	}
	more, s.count, s.until = s.count, 0, now.Add(logFailureEvery)
	return more, true
}

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
		"a request came back to the gateway that had forwarded it: fix the URL of the monolith, or of the route's candidate",
		slog.String("route", route), slog.String("host", r.Host), slog.String("peer", r.RemoteAddr),
		slog.Int64("more_since_the_last_line", more))
}
