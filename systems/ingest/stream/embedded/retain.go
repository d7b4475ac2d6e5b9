package embedded

import (
	"context"
	"errors"
	"io/fs"
	"slices"
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
	clock, looked := retainClock{at: l.o.now()}, time.Now()
	for {
		select {
		case <-l.closing:
			return
		case <-tick.C:
			passed := time.Since(looked) // of a clock that nobody sets
			looked = looked.Add(passed)
			l.expire(clock.follow(l.o.now(), passed))
			if err := l.discard(); err != nil {
				l.o.Log.Warn("removing an old segment failed", "err", err)
			}
		}
	}
}

// retainClock is the time by which records are old. It is the machine's clock, but
// where that was set forward it follows at no more than twice its pace: a clock that
// is a year ahead for an hour must not cost a year of records.
type retainClock struct{ at time.Time }

// follow takes the machine's clock and how much time has really passed since the last
// call.
func (c *retainClock) follow(wall time.Time, passed time.Duration) time.Time {
	if c.at = c.at.Add(2 * passed); wall.Before(c.at) {
		c.at = wall
	}
	return c.at
}

// expire drops the segments that the retention does not keep. A segment is as
// old as the first batch of the next one.
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
		old := l.o.RetainAge > 0 && age(l.segments[i], now) > l.o.RetainAge
		much := l.o.RetainBytes > 0 && bytes > l.o.RetainBytes
		if seg.next > l.hold || !old && !much {
			return false
		}
		bytes -= seg.size
		return true
	})
}
