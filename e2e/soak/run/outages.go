package run

import (
	"sync"
	"time"
)

// outages are the times in which something was not there, so that direct access to it
// would have failed as well.
type outages struct {
	mu   sync.Mutex // guards the following
	list []outage
}

type outage struct{ from, to time.Time } // to is zero while it lasts

// remembered is for how long an outage is kept: longer than any request takes.
const remembered = 3 * time.Minute

// begin begins one; end ends it.
func (o *outages) begin() (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.list) > 0 && !o.list[0].to.IsZero() && time.Since(o.list[0].to) > remembered {
		o.list = o.list[1:]
	}
	o.list = append(o.list, outage{from: time.Now()})
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for i := range o.list {
			if o.list[i].to.IsZero() {
				o.list[i].to = time.Now() // one at a time is under way
			}
		}
	}
}

// meets reports whether a time overlaps with any.
func (o *outages) meets(from, to time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, out := range o.list {
		if !out.from.After(to) && (out.to.IsZero() || !out.to.Before(from)) {
			return true
		}
	}
	return false
}
