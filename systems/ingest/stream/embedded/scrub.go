package embedded

import (
	"time"
)

// scrub reads every segment again and again, slowly, until the log closes, so
// that corruption is known before its reader comes.
func (l *Log) scrub() {
	for {
		begun := time.Now()
		if !l.scrubAll() {
			return
		}
		l.counts.passed()
		if !l.pause(l.o.ScrubEvery - time.Since(begun)) {
			return
		}
	}
}

// pause waits, and is false when the log closes before.
func (l *Log) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-l.closing:
		return false
	case <-t.C:
		return true
	}
}

// scrubAll reads all segments once. It returns false when the log closes before.
func (l *Log) scrubAll() bool {
	l.mu.Lock()
	segments := make([]segment, len(l.segments))
	for i, seg := range l.segments {
		segments[i] = *seg
	}
	l.mu.Unlock()
	for i := range segments {
		if !l.scrubOne(&segments[i]) {
			return false
		}
	}
	return true
}

// scrubOne reads a segment once. It returns false when the log closes before.
func (l *Log) scrubOne(seg *segment) (open bool) {
	open = true
	err := walkSegment(l.disk, seg, l.o.OnCorrupt, func(c checked) bool {
		l.counts.scrubbed(c)
		open = l.pause(time.Duration(float64(c.bytes) / float64(l.o.ScrubRate) * float64(time.Second)))
		return open
	})
	if err != nil && l.holds(seg.number) {
		l.o.Log.Error("scrubbing a segment failed", "segment", segmentName(seg.number), "err", err)
	}
	return open
}

// holds reports whether a segment is still part of the log.
func (l *Log) holds(number uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seg := range l.segments {
		if seg.number == number {
			return true
		}
	}
	return false
}
