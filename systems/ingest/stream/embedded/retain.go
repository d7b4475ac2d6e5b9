package embedded

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"whittle"
)

// Trim removes records before an offset. Space becomes free by whole segments;
// the last segment with records stays, because it holds the next offset.
func (l *Log) Trim(before uint64) error {
	if l.o.ReadOnly {
		return whittle.Errorf(whittle.FailedPrecondition, "trim: the log is open for reading only")
	}
	if l.isClosing() {
		return errClosed
	}
	l.mu.Lock()
	if before > l.next {
		next := l.next
		l.mu.Unlock()
		return whittle.Errorf(whittle.FailedPrecondition, "trim before %d: the log ends at %d", before, next)
	}
	l.first = max(l.first, before)
	l.lockedCut(func(seg *segment) bool { return seg.next <= l.first })
	l.mu.Unlock()
	return l.discard()
}

// Hold keeps the retention from dropping anything at or behind an offset. Whoever
// drains the log calls it as it goes on; each call replaces the one before.
func (l *Log) Hold(from uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = from
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

// time is the log's own. Batches are stamped with it, and by it records are old. It begins
// with the machine's clock where there is no log yet, goes on from the last batch's stamp
// where there is one, and asks no clock of the machine's again. So no record goes because a
// clock was wrong, and none gets older while nobody has the log open.
func (l *Log) time() time.Time { return l.began.Add(max(0, l.o.now().Sub(l.opened))) } // Sub knows of a clock that is set

// expire drops the segments that the retention does not keep. A segment is as old as the
// first batch of the next one.
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
		old := l.o.RetainAge > 0 && now.UnixNano()-l.segments[i].began > int64(l.o.RetainAge)
		much := l.o.RetainBytes > 0 && bytes > l.o.RetainBytes
		if seg.next > l.hold || !old && !much {
			return false
		}
		bytes -= seg.size
		return true
	})
}
