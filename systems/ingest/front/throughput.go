package front

import (
	"sync"
	"sync/atomic"
	"time"
)

// throughput measures how fast bodies are finished. It is computed only when a
// response needs a Retry-After.
type throughput struct {
	done atomic.Int64 // bytes of the bodies' cost, since the start

	mu   sync.Mutex // guards the following: what was reckoned last
	at   time.Time
	then int64
	per  float64
}

// Between two reckonings is at least and, for it to say anything, at most.
const (
	rateIntervalMin = time.Second
	rateIntervalMax = 10 * time.Second
)

// rate is in bytes a second. 0: not known.
func (t *throughput) rate(now time.Time) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	done, span := t.done.Load(), now.Sub(t.at)
	switch {
	case t.at.IsZero() || span > rateIntervalMax:
		t.per = 0
	case span >= rateIntervalMin:
		t.per = float64(done-t.then) / span.Seconds()
	default:
		return t.per
	}
	t.at, t.then = now, done
	return t.per
}
