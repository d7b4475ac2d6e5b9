package gateway

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"whittle"
)

// logFailureEvery is how often one kind of failure of one upstream is logged. An
// upstream that is down fails every request, and a log line for each would be a
// failure of its own.
const logFailureEvery = time.Second

// maxFailureKeys bounds the kinds that are distinguished.
const maxFailureKeys = 1024

// failureLog logs failing upstreams for the operator, at a bounded rate. The
// zero value is ready.
type failureLog struct {
	mu   sync.Mutex // guards the following
	last map[failureKey]*silence
}

// failureKey is what makes two failures the same to an operator.
type failureKey struct {
	route   string
	side    whittle.Side
	failure whittle.Failure
}

// silence is what has not been said since the last time.
type silence struct {
	until time.Time
	count int64
}

// due reports whether to speak now, and of how many unspoken ones before.
func (c *failureLog) due(k failureKey, now time.Time) (unspoken int64, speak bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || len(c.last) >= maxFailureKeys {
		c.last = map[failureKey]*silence{}
	}
	s := c.last[k]
	if s == nil {
		s = &silence{}
		c.last[k] = s
	}
	if now.Before(s.until) {
		s.count++
		return 0, false
	}
	unspoken, s.count, s.until = s.count, 0, now.Add(logFailureEvery)
	return unspoken, true
}

// logFailure logs a request that an upstream failed. What the client itself ended
// is nobody's failure.
func (g *Gateway) logFailure(ctx context.Context, route string, side whittle.Side, failure whittle.Failure, detail string, sent int) {
	if failure == whittle.NoFailure || failure == whittle.FailedCanceled {
		return
	}
	unspoken, speak := g.failureLog.due(failureKey{route, side, failure}, time.Now())
	if !speak {
		return
	}
	g.log.LogAttrs(ctx, slog.LevelWarn, "an upstream failed a request",
		slog.String("route", route), slog.String("side", side.String()), slog.String("failure", string(failure)),
		slog.String("detail", g.loggedDetail(detail)), slog.Int("client_got", sent), slog.Int64("more_since_the_last_line", unspoken))
}
