package front

import (
	"log/slog"
	"sync"
	"time"
)

// logInterval is how often at most a failure is logged, because every request
// meets it while it lasts.
const logInterval = 10 * time.Second

type throttledLog struct {
	mu   sync.Mutex // guards the following
	next time.Time
	kept int // back since the last one
}

func (c *throttledLog) warn(log *slog.Logger, now time.Time, what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Before(c.next) {
		c.kept++
		return
	}
	log.Error(what, "err", err, "also_since_last", c.kept)
	c.next, c.kept = now.Add(logInterval), 0
}
