package relay

import (
	"context"
	"sync"
	"time"
)

// drainHistory remembers when the drain had come how far, to let go of records by age.
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

// trimSteps is in how many steps all that is drained leaves a log that stays short
// of room.
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

// trimDrained is called after each save: what is drained, saved and old enough may
// leave the log. Where the log is short of room age does not count, and as much
// of the oldest leaves as there is need, to a step.
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

// isShort says whether the log needs the room of what is drained. It does so
// before it is full: its clients are refused as soon as they ask for more than
// is free.
func (r *Relay) isShort() bool {
	capacity := r.log.Capacity()
	return capacity.Err != nil || capacity.Free < r.o.Low
}

// trim reports false where the log did not let go.
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
