package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"whittle"
)

// logFailureEvery is how often one kind of failure of one upstream is logged. When an
// upstream is down, every request fails, and a line for each would flood the log.
const logFailureEvery = time.Second

// maxFailureKeys bounds the kinds that are distinguished.
const maxFailureKeys = 1024

// failureLog logs failing upstreams for the operator, at a bounded rate. The
// zero value is ready.
type failureLog struct {
	mu   sync.Mutex // guards the following
	last map[failureKey]*unlogged
}

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

// logFailure logs an upstream's failure. A request that its client ended is none.
func (g *Gateway) logFailure(ctx context.Context, route string, side whittle.Side, failure whittle.Failure, detail string, sent int) {
	if failure == whittle.NoFailure || failure == whittle.FailedCanceled {
		return
	}
	more, due := g.failureLog.due(failureKey{route, side, failure}, time.Now())
	if !due {
		return
	}
	g.log.LogAttrs(ctx, slog.LevelWarn, "an upstream failed a request",
		slog.String("route", route), slog.String("side", side.String()), slog.String("failure", string(failure)),
		slog.String("detail", g.loggedDetail(detail)), slog.Int("client_got", sent), slog.Int64("more_since_the_last_line", more))
}
