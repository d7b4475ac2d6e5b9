package front

import (
	"log/slog"
	"sync"
	"time"
)

// logInterval is how often at most a failure is logged, because every request
// meets it while it lasts.
const logInterval = 10 * time.Second

// throttle lets one thing be logged every logInterval.
type throttle struct {
	mu   sync.Mutex // guards the following
	next time.Time
	kept int // back since the last one
}

// admit reports whether n more may be logged now, and otherwise keeps them back. since
// is how many were kept back before.
func (t *throttle) admit(now time.Time, n int) (since int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Before(t.next) {
		t.kept += n
		return 0, false
	}
	since, t.next, t.kept = t.kept, now.Add(logInterval), 0
	return since, true
}

// fail logs an error.
func (t *throttle) fail(log *slog.Logger, now time.Time, what string, err error) {
	if since, ok := t.admit(now, 1); ok {
		log.Error(what, "err", err, "also_since_last", since)
	}
}
