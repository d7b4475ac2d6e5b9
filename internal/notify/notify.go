// Package notify wakes a waiting goroutine. A notification is never lost: one that
// comes while nobody waits wakes the next waiter at once. Several before a wait become
// one, so the woken goroutine must look at the state and not count notifications.
package notify

import (
	"context"
	"time"
)

// Sleep waits for a time, and reports whether ctx did not end before.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Signal is what is waited on, by a receive. It must be made with New. It is safe
// for concurrent use; of several that wait, one is woken.
type Signal chan struct{}

// New gives a Signal that nobody has notified.
func New() Signal { return make(Signal, 1) }

// Notify wakes who waits, or the next who does. It never blocks.
func (s Signal) Notify() {
	select {
	case s <- struct{}{}:
	default: // it is notified already
	}
}

// Await waits until done reports true, and looks at each notification; after limit it
// returns all the same.
func (s Signal) Await(limit time.Duration, done func() bool) {
	t := time.NewTimer(limit)
	defer t.Stop()
	for !done() {
		select {
		case <-s:
		case <-t.C:
			return
		}
	}
}
