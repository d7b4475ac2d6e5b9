package embedded

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Trim removes records before a position. Space becomes free by whole segments;
// the last segment with records stays, because it holds the next offset.
func (l *Log) Trim(ctx context.Context, before stream.Position) error {
	if ctx.Err() != nil {
		return ended(ctx, "trim")
	}
	offset, err := offsetOf(before)
	if err != nil {
		return err
	}
	if l.o.ReadOnly {
		return whittle.Errorf(whittle.FailedPrecondition, "trim: the log is open for reading only")
	}
	if l.isClosing() {
		return errClosed
	}
	l.mu.Lock()
	if offset > l.next {
		next := l.next
		l.mu.Unlock()
		return whittle.Errorf(whittle.FailedPrecondition, "trim before %d: the log ends at %d", offset, next)
	}
	l.first = max(l.first, offset)
	l.lockedCut(func(seg *segment) bool { return seg.next <= l.first })
	l.mu.Unlock()
	return l.discard()
}

// Hold keeps the retention from dropping anything at or behind a position. Whoever
// drains the log calls it as it goes on; each call replaces the one before.
func (l *Log) Hold(from stream.Position) error {
	offset, err := offsetOf(from)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = offset
	return nil
}

// lockedCut takes the oldest segments off the list while gone says so, except
// for the last one. discard removes their files.
func (l *Log) lockedCut(gone func(*segment) bool) {
	n := 0
	for n < len(l.segments)-1 && gone(l.segments[n]) {
		n++
	}
	l.removing = append(l.removing, l.segments[:n]...)
	l.segments = l.segments[n:]
	if n > 0 {
		l.first = max(l.first, l.segments[0].base)
	}
}

// discard removes the files of dropped segments, the oldest first. Each removal
// is on the disk before the next one, so that a crash leaves no gap.
func (l *Log) discard() error {
	l.discarding.Lock()
	defer l.discarding.Unlock()
	l.mu.Lock()
	doomed := l.removing
	l.removing = nil
	l.mu.Unlock()
	var (
		bytes int64
		err   error
	)
	for len(doomed) > 0 && err == nil {
		if err = l.disk.Remove(segmentName(doomed[0].number)); err == nil || errors.Is(err, fs.ErrNotExist) {
			if err = l.disk.Sync(); err == nil {
				bytes += doomed[0].size
				doomed = doomed[1:]
			}
		}
	}
	if bytes > 0 {
		l.space.gave(bytes, l.o.now())
		l.freed.Notify()
	}
	if err != nil {
		l.mu.Lock()
		l.removing = slices.Concat(doomed, l.removing)
		l.mu.Unlock()
		return codedf(err, "remove segment")
	}
	return nil
}

// retainEvery is how often the retention looks.
const retainEvery = time.Second

// retain drops old segments until the log closes.
func (l *Log) retain() {
	if l.o.RetainBytes == 0 && l.o.RetainAge == 0 {
		return
	}
	tick := time.NewTicker(retainEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.closing:
			return
		case <-tick.C:
			l.expire(l.time())
			if err := l.discard(); err != nil {
				l.o.Log.Warn("removing an old segment failed", "err", err)
			}
		}
	}
}

// clock is the time that batches are stamped with and by which records are old. It
// begins with the machine's and goes on at its own pace. Where the machine's clock is
// set, it follows at no more than twice its pace, and stands still where it has to go
// back: a clock that is a year ahead or behind for an hour costs an hour of records at
// most.
type clock struct {
	mu     sync.Mutex // guards the following
	at     time.Time  // the zero time: it has not begun
	passed time.Duration
}

// follow takes the machine's clock, and how long the log has really been open. It
// gives the time.
func (c *clock) follow(wall time.Time, open time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		c.at = wall
	}
	passed := max(0, open-c.passed)
	c.passed += passed
	c.at = c.at.Add(passed)
	c.at = c.at.Add(max(-passed, min(passed, wall.Sub(c.at))))
	return c.at
}

// time is the clock's.
func (l *Log) time() time.Time {
	now := l.o.now()
	return l.clock.follow(now.Round(0), now.Sub(l.opened)) // Sub knows of a clock that is set, what Round gives does not
}

// expire drops the segments that the retention does not keep.
func (l *Log) expire(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var bytes int64
	for _, seg := range l.segments {
		bytes += seg.size
	}
	i := 0
	l.lockedCut(func(seg *segment) bool {
		i++
		old := l.o.RetainAge > 0 && age(seg, l.segments[i:], now) > l.o.RetainAge
		much := l.o.RetainBytes > 0 && bytes > l.o.RetainBytes
		if seg.next > l.hold || !old && !much {
			return false
		}
		bytes -= seg.size
		return true
	})
}

// age is how long ago a segment got its last record: it is as old as the first batch
// of the next one. A stamp of a process whose clock was wrong, one that is yet to come
// or is from before the segment's own, says nothing: then the one behind it counts. 0
// where none does.
func age(seg *segment, behind []*segment, now time.Time) time.Duration {
	from, to := seg.began, now.UnixNano()
	if from > to {
		from = 0
	}
	for _, next := range behind {
		if next.began >= from && next.began <= to {
			return time.Duration(to - next.began)
		}
	}
	return 0
}
