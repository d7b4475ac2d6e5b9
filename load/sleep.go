package load

import (
	"context"
	"time"
)

// coarse is how near to its end a wait is left to the runtime's timers. The
// network poller rounds their last stretch up to a whole millisecond, which
// at thousands of arrivals a second would bunch them.
const coarse = 2 * time.Millisecond

// sleepUntil waits for a time, to some tens of microseconds; false says that
// ctx ended first.
func (n *napper) sleepUntil(ctx context.Context, now func() time.Time, at time.Time) bool {
	for {
		left := at.Sub(now())
		if left <= 0 {
			return ctx.Err() == nil
		}
		if left <= coarse {
			n.nap(left)
			continue
		}
		t := time.NewTimer(left - coarse)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return false
		}
	}
}
