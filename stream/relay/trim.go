package relay

import (
	"context"
	"sync"
	"time"
)

// past remembers when the drain had come how far, to let go of records by age.
type past struct {
	mu    sync.Mutex // guards the following
	marks []pastMark // oldest first, at most pastMarks and one
}

type pastMark struct {
	at  time.Time
	low uint64
}

const pastMarks = 64

// note adds a mark where the last one is a part of keep old, and gives the
// newest number that was drained before the time of keep.
func (p *past) note(now time.Time, low uint64, keep time.Duration) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.marks); n == 0 || now.Sub(p.marks[n-1].at) >= keep/pastMarks {
		p.marks = append(p.marks, pastMark{now, low})
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

// letGo is called after each save: what is drained, saved and old enough may
// leave the log. Where the log is full, age does not count.
func (r *Relay) letGo(ctx context.Context, p place) {
	if err := r.hold(p.Next); err != nil {
		r.drain.trouble.begin(atTrim, err, time.Now())
		return
	}
	if r.o.Keep < 0 {
		return
	}
	before := r.past.note(time.Now(), p.Next, r.o.Keep)
	if room := r.log.Room(); room.Err != nil || room.Free <= 0 {
		before = p.Next
	}
	if before == 0 || before <= r.trimmed {
		return
	}
	if err := r.log.Trim(ctx, r.at(before)); err != nil {
		if ctx.Err() == nil {
			r.drain.trouble.begin(atTrim, err, time.Now())
		}
		return
	}
	r.trimmed = before
	r.drain.trouble.end(atTrim, time.Now())
}

// hold keeps the log's own retention away from what is not drained.
func (r *Relay) hold(from uint64) error {
	if h, ok := r.log.(Holder); ok {
		return h.Hold(r.at(from))
	}
	return nil
}
