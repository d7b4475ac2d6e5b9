package upstream

import (
	"context"
	"sync/atomic"
	"time"

	"whittle/internal/notify"
)

// pace bounds how fast responses are read that no user waits for, all of them together.
// A candidate that floods every mirrored request would otherwise take the processors
// from users' requests. Work is counted as time: a byte as a nanosecond, and a
// stretch of content, such as a chunk of a few bytes, as pieceWork more. That is several
// times what it takes.
type pace struct {
	from time.Time
	due  atomic.Int64 // when the work so far would have been done, in ns from then on
}

const (
	pieceWork = 256 * time.Nanosecond
	// stretch is the work after which a reader looks whether it has to wait. Responses
	// that take less do not count.
	stretch = 64 << 10 * time.Nanosecond
	// ahead is how much sooner than due work may be done.
	ahead = time.Millisecond
)

var asides = pace{from: time.Now()}

// add counts work, and says how long whoever has done it must wait.
func (p *pace) add(at time.Time, work time.Duration) time.Duration {
	now := at.Sub(p.from)
	for {
		due := p.due.Load()
		next := max(due, int64(now)) + int64(work)
		if p.due.CompareAndSwap(due, next) {
			return time.Duration(next) - now - ahead
		}
	}
}

// paced counts a reader's work.
type paced struct {
	ctx   context.Context //nolint:containedctx // the call's
	pace  *pace
	work  time.Duration // that was not looked at yet
	waits time.Duration // in all
}

// did counts so many bytes in so many stretches, and waits where all are too fast. The
// error is errNoSpare where the call would end meanwhile: that is not the upstream's failure.
func (r *paced) did(bytes, stretches int) error {
	if r.work += time.Duration(bytes) + time.Duration(stretches)*pieceWork; r.work < stretch {
		return nil
	}
	now := time.Now()
	wait := r.pace.add(now, r.work)
	if r.work = 0; wait <= 0 {
		return nil
	}
	if end, ok := r.ctx.Deadline(); ok && end.Sub(now) <= wait {
		return errNoSpare
	}
	notify.Sleep(r.ctx, wait)
	r.waits += time.Since(now)
	return r.ctx.Err()
}
