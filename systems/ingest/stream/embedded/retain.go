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
		return stream.Ended(ctx, "trim")
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
	if len(doomed) > 0 && !l.markEnd(false) {
		return nil // the log is closed, and its last mark says that they are there; the next life drops them
	}
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

// time is the log's own: how long it has been open in all its lives. Batches are stamped
// with it, and by it records are old. It begins with the machine's clock where there is
// no log yet, goes on where the end mark says that it had come, and asks no clock of
// the machine's again. So no record goes because a clock was wrong, and none gets older
// while nobody has the log open.
func (l *Log) time() time.Time { return l.began.Add(max(0, l.o.now().Sub(l.opened))) } // Sub knows of a clock that is set

// beganAt is where the log's time goes on. A log of before there was such a time has
// stamps of the machine's clock, of which the newest counts unless it is yet to come.
func (l *Log) beganAt(m mark) time.Time {
	wall := l.opened.Round(0)
	switch n := len(l.segments); {
	case m.time != 0:
		return time.Unix(0, m.time)
	case n > 0 && l.segments[n-1].began < wall.UnixNano():
		return time.Unix(0, l.segments[n-1].began)
	}
	return wall
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
// of the next one. A stamp of another time, one that is yet to come or is from before
// the segment's own, says nothing: then the one behind it counts. 0 where none does.
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
