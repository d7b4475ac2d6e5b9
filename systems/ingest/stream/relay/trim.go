package relay

import (
	"context"
	"sync"
	"time"
)

// drainHistory remembers when the drain had come how far, to remove drained
// records by age.
type drainHistory struct {
	mu    sync.Mutex    // guards the following
	marks []historyMark // oldest first, at most twice minHistoryMarks
	every time.Duration // how far apart, at least
}

type historyMark struct {
	at  time.Time
	low uint64
}

// minHistoryMarks is into how many parts the time is divided, at least, that drained
// records are kept for.
const minHistoryMarks = 64

// trimSteps is in how many steps drained records are removed from a log that
// stays short of space.
const trimSteps = 64

// note adds a mark where the last one is old enough, and gives the newest number
// that was drained before the time of keep.
func (p *drainHistory) note(now time.Time, low uint64, keep time.Duration) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.marks); n == 0 || now.Sub(p.marks[n-1].at) >= p.every {
		p.marks = append(p.marks, historyMark{now, low})
	}
	if n := len(p.marks); n == 2*minHistoryMarks {
		p.every = now.Sub(p.marks[0].at) / minHistoryMarks
		for i := range minHistoryMarks {
			p.marks[i] = p.marks[2*i+1]
		}
		p.marks = p.marks[:minHistoryMarks]
	}
	old := 0
	for old < len(p.marks) && now.Sub(p.marks[old].at) >= keep {
		old++
	}
	if old == 0 {
		return 0
	}
	before := p.marks[old-1].low
	p.marks = append(p.marks[:0], p.marks[old-1:]...)
	return before
}

// trimDrained is called after each save. It removes records from the log that
// are drained, saved and old enough. When the log is short of space their age
// does not count, and the oldest are removed, in steps, as far as needed.
func (r *Relay) trimDrained(ctx context.Context, p checkpoint) {
	if err := r.hold(p.Next); err != nil {
		r.drain.trouble.begin(atTrim, err, time.Now())
		return
	}
	if r.o.Keep < 0 {
		return
	}
	ok := r.trim(ctx, r.history.note(time.Now(), p.Next, r.o.Keep))
	// In equal steps by number: when they came is not known of those that an
	// earlier run drained, and many may have come at once.
	step := (p.Next-min(r.trimmed, p.Next))/trimSteps + 1
	for ok && r.trimmed < p.Next && r.isShort() {
		ok = r.trim(ctx, min(r.trimmed+step, p.Next))
	}
}

// isShort reports whether the log needs the space of drained records. That
// begins before the log is full, because clients are refused as soon as they
// need more than is free.
func (r *Relay) isShort() bool {
	capacity := r.log.Capacity()
	return capacity.Err != nil || capacity.Free < r.o.Low
}

// trim trims the log. It returns false when that failed.
func (r *Relay) trim(ctx context.Context, before uint64) bool {
	if before <= r.trimmed {
		return true
	}
	if err := r.log.Trim(ctx, r.at(before)); err != nil {
		if ctx.Err() == nil {
			r.drain.trouble.begin(atTrim, err, time.Now())
		}
		return false
	}
	r.trimmed = before
	r.drain.trouble.end(atTrim, time.Now())
	return true
}

// hold keeps the log's own retention away from what is not drained.
func (r *Relay) hold(from uint64) error {
	if h, ok := r.log.(Holder); ok {
		return h.Hold(r.at(from))
	}
	return nil
}
