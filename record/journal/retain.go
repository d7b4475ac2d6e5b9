package journal

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"whittle/record/capture"
)

// closed is a segment that is no longer written to.
type closed struct {
	path        string
	size        int64
	first, last time.Time // zero: it has no entries that can be read
}

func (c *closed) add(h *capture.Header) {
	if c.first.IsZero() || h.First().Before(c.first) {
		c.first = h.First()
	}
	if h.Last().After(c.last) {
		c.last = h.Last()
	}
}

// survey lists the segments that exist already.
func (w *Writer) survey() error {
	all, err := segments(w.dir)
	if err != nil {
		return err
	}
	for _, s := range all {
		w.next = max(w.next, s.number+1)
		c, err := look(s.path)
		if err != nil {
			return err
		}
		w.old = append(w.old, c)
	}
	return w.retain()
}

// retain closes a segment that is large or old enough, and removes segments
// that exceed MaxBytes or MaxAge.
func (w *Writer) retain() error {
	now := w.o.now()
	var failed error
	if w.seg != nil && w.full(now) {
		failed = w.finish()
	}
	total := int64(0)
	if w.seg != nil {
		total = w.seg.size
	}
	for _, c := range w.old {
		total += c.size
	}
	ends := w.ends(now)
	var kept []closed
	for i, c := range w.old {
		last := w.seg == nil && i == len(w.old)-1
		tooMany := w.o.MaxBytes > 0 && total > w.o.MaxBytes && !last
		tooOld := w.o.MaxAge > 0 && ends[i].Before(now.Add(-w.o.MaxAge))
		if !tooMany && !tooOld {
			kept = append(kept, c)
			continue
		}
		if err := os.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
			kept = append(kept, w.old[i:]...)
			break
		}
		total -= c.size
	}
	w.old = kept
	if failed != nil {
		return coded(failed, "keep log within bounds")
	}
	return nil
}

// ends returns, for each segment in old, the time until which it was written
// to, which is its newest entry's. A time in the future was written by a wrong
// clock; the segment is then older than the one that follows it.
func (w *Writer) ends(now time.Time) []time.Time {
	ends := make([]time.Time, len(w.old))
	next := now
	sane := func(t time.Time) bool { return !t.After(now) }
	if w.seg != nil && !w.seg.last.IsZero() && sane(w.seg.last) {
		next = w.seg.last
	}
	for i := len(w.old) - 1; i >= 0; i-- {
		if last := w.old[i].last; sane(last) {
			next = last
		}
		ends[i] = next
	}
	return ends
}

// full reports whether the segment has reached its size, or spans so much time
// that keeping it for its newest entry would keep its oldest too long.
func (w *Writer) full(now time.Time) bool {
	const part = 10
	if w.seg.size >= w.o.SegmentBytes {
		return true
	}
	until := now
	if w.seg.last.After(until) {
		until = w.seg.last // the clock was set back, and entries of before are in it
	}
	return w.o.MaxAge > 0 && !w.seg.first.IsZero() && until.Sub(w.seg.first) > w.o.MaxAge/part
}
