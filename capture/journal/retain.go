package journal

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"whittle/capture"
)

// closed is a segment that nothing is written to any more.
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

// survey notes the segments that are there already.
func (w *Writer) survey() error {
	all, err := segments(w.dir)
	if err != nil {
		return err
	}
	for _, s := range all {
		w.next = s.number + 1
		c, err := look(s.path)
		if err != nil {
			return err
		}
		w.old = append(w.old, c)
	}
	return w.retain()
}

// retain ends a segment that is long or old enough, and removes those that are
// too many or too old.
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
	for len(w.old) > 0 {
		oldest := w.old[0]
		last := w.seg == nil && len(w.old) == 1
		tooMany := w.o.MaxBytes > 0 && total > w.o.MaxBytes && !last
		tooOld := w.o.MaxAge > 0 && oldest.last.Before(now.Add(-w.o.MaxAge))
		if !tooMany && !tooOld {
			break
		}
		if err := os.Remove(oldest.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
			break
		}
		total -= oldest.size
		w.old = w.old[1:]
	}
	if failed != nil {
		return coded(failed, "keep log within bounds")
	}
	return nil
}

// full says whether the segment has its length, or spans so much time that
// keeping it for its newest entry would keep its oldest for too long.
func (w *Writer) full(now time.Time) bool {
	const part = 10
	return w.seg.size >= w.o.SegmentBytes ||
		w.o.MaxAge > 0 && !w.seg.first.IsZero() && now.Sub(w.seg.first) > w.o.MaxAge/part
}
