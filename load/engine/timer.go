package engine

import (
	"context"
	"time"
)

// preciseBelow is the remaining wait below which the kernel timer is used instead
// of the runtime's timers. The runtime's network poller rounds a wait up to whole
// milliseconds, which would bunch thousands of arrivals a second.
const preciseBelow = 2 * time.Millisecond

// SleepUntil waits for a time, to some tens of microseconds. False: ctx ended
// first.
func (n *Timer) SleepUntil(ctx context.Context, now func() time.Time, at time.Time) bool {
	for {
		left := at.Sub(now())
		if left <= 0 {
			return ctx.Err() == nil
		}
		if left <= preciseBelow {
			n.sleep(left)
			continue
		}
		t := time.NewTimer(left - preciseBelow)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return false
		}
	}
}
