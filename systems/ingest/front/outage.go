package front

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// outage is a time in which the stream keeps nothing. It is logged when it begins
// and when it ends; where outages come one after the other, no more often than
// every logInterval.
type outage struct {
	ongoing atomic.Bool // changed under mu

	mu      sync.Mutex // guards the following
	since   time.Time
	refused int
	logged  bool      // its beginning was logged
	next    time.Time // when a beginning is logged again
}

// met notes that an event or a request was not kept because of the stream.
func (o *outage) met(log *slog.Logger, now time.Time, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused++
	if o.ongoing.Load() {
		return
	}
	o.ongoing.Store(true)
	o.since, o.refused = now, 1
	if o.logged = !now.Before(o.next); o.logged {
		o.next = now.Add(logInterval)
		log.Error("the stream keeps no events; each is refused until it does", "err", err)
	}
}

// over notes that the stream has kept an event.
func (o *outage) over(log *slog.Logger, now time.Time) {
	if !o.ongoing.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ongoing.Swap(false) && o.logged {
		log.Info("the stream keeps events again", "after", now.Sub(o.since).Round(time.Millisecond), "refused", o.refused)
	}
}
