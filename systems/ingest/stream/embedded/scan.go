package embedded

import (
	"errors"
	"io"
)

// window reads a file in pieces.
type window struct {
	file  io.ReaderAt
	chunk int    // how much to read at once, at least
	from  int64  // where buf begins
	buf   []byte // what was read
	// forgive takes bytes that the disk cannot read as zeros: their checksums
	// will name them.
	forgive bool
}

// slice returns n bytes at a place, valid until the next call that reads. end is
// where the file's use ends: nothing behind it is read. n bytes must be before it.
func (w *window) slice(at int64, n int, end int64) ([]byte, error) {
	if at < w.from || at+int64(n) > w.from+int64(len(w.buf)) {
		if err := w.fill(at, n, end); err != nil {
			return nil, err
		}
	}
	i := int(at - w.from)
	return w.buf[i : i+n], nil
}

func (w *window) fill(at int64, n int, end int64) error {
	size := int(min(int64(max(n, w.chunk)), end-at))
	if size < n {
		return io.ErrUnexpectedEOF
	}
	if cap(w.buf) < size {
		w.buf = make([]byte, size)
	}
	w.buf, w.from = w.buf[:size], at
	got, err := w.file.ReadAt(w.buf, at)
	if got == size {
		return nil
	}
	if w.forgive {
		w.sectors(got, err)
		return nil
	}
	w.buf = w.buf[:0]
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// sectors reads what is left of the window one by one.
func (w *window) sectors(got int, err error) {
	got -= got % sector
	clear(w.buf[got:])
	if errors.Is(err, io.EOF) {
		return
	}
	for i := got; i < len(w.buf); i += sector {
		piece := w.buf[i:min(i+sector, len(w.buf))]
		if _, err := w.file.ReadAt(piece, w.from+int64(i)); err != nil && !errors.Is(err, io.EOF) {
			clear(piece)
		}
	}
}

// scan finds the batches of one segment, in order.
type scan struct {
	window
	segment uint64
	at      int64  // where the next batch should begin
	next    uint64 // its base, at least
}

// find returns the next batch before end: its frame and its place. Where its head
// is not at the place where it should be, it goes on to the next frame that is
// whole, head or foot. ok is false when there is none.
func (s *scan) find(end int64) (f frame, at int64, ok bool, err error) {
	if s.at+sector > end {
		return f, 0, false, nil
	}
	b, err := s.slice(s.at, sector, end)
	if err != nil {
		return f, 0, false, err
	}
	if f, ok = s.head(b, s.at, end); ok {
		return f, s.at, true, nil
	}
	return s.resync(s.at, end)
}

// pass moves on behind a batch that was found.
func (s *scan) pass(f *frame, at int64) { s.at, s.next = at+f.size(), f.next() }

func (s *scan) head(b []byte, at, end int64) (frame, bool) {
	f, ok := parseFrame(b, headMagic)
	return f, ok && f.segment == s.segment && f.base >= s.next && at+f.size() <= end
}

// resync looks for a frame from a place on.
func (s *scan) resync(from, end int64) (f frame, at int64, ok bool, err error) {
	for p := from; p+sector <= end; p += sector {
		b, err := s.slice(p, sector, end)
		if err != nil {
			return f, 0, false, err
		}
		if f, ok := s.head(b, p, end); ok {
			return f, p, true, nil
		}
		if f, ok := parseFrame(b[sector-frameLen:], footMagic); ok && f.segment == s.segment && f.base >= s.next {
			if at := p + sector - f.size(); at >= s.at {
				return f, at, true, nil
			}
		}
	}
	return frame{}, 0, false, nil
}

// identify returns the segment's random number: from its label or, where that is
// damaged, from the first whole frame.
func identify(f io.ReaderAt, size int64) (segment uint64, ok bool) {
	w := window{file: f, chunk: probe, forgive: true}
	for p := int64(0); p+sector <= size; p += sector {
		b, err := w.slice(p, sector, size)
		if err != nil {
			return 0, false
		}
		if p == 0 {
			if segment, ok = parseLabel(b); ok {
				return segment, true
			}
		}
		if head, ok := parseFrame(b, headMagic); ok {
			return head.segment, true
		}
		if foot, ok := parseFrame(b[sector-frameLen:], footMagic); ok {
			return foot.segment, true
		}
	}
	return 0, false
}
