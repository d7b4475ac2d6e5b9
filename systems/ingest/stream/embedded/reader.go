package embedded

import (
	"context"
	"errors"
	"io/fs"
	"sort"

	"whittle"
	"whittle/systems/ingest/stream"
)

// readChunk is how much a reader reads at once.
const readChunk = 256 << 10

// Read implements stream.Stream. A position behind the end is FailedPrecondition.
func (l *Log) Read(ctx context.Context, from stream.Position) (stream.Reader, error) {
	if ctx.Err() != nil {
		return nil, stream.Ended(ctx, "read")
	}
	offset, err := offsetOf(from)
	if err != nil {
		return nil, err
	}
	if l.isClosing() {
		return nil, errClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if offset > l.next && l.o.ReadOnly { // its writer may be further
		l.mu.Unlock()
		err := l.follow()
		if l.mu.Lock(); err != nil {
			return nil, err
		}
	}
	if offset > l.next {
		return nil, whittle.Errorf(whittle.FailedPrecondition, "read from %d: the log ends at %d", offset, l.next)
	}
	return &reader{l: l, next: max(offset, l.first)}, nil
}

// reader is one position that moves along the log.
type reader struct {
	l      *Log
	next   uint64 // the offset that is wanted
	lost   uint64 // records before it, from next on, cannot be found
	file   file   // nil: no segment is open
	number uint64 // of that segment
	scan   scan
	batch  view
	failed int // reads that failed, one behind the other
}

// Next implements stream.Reader.
func (r *reader) Next(ctx context.Context, into []stream.Entry) (int, error) {
	if len(into) == 0 {
		return 0, whittle.Errorf(whittle.Invalid, "next: there is no place for an entry")
	}
	for {
		if ctx.Err() != nil {
			return 0, stream.Ended(ctx, "read")
		}
		if r.l.isClosing() {
			return 0, errClosed
		}
		n, err := r.fill(into)
		if n > 0 || err != nil {
			return n, err
		}
		if err := r.l.wait(ctx, r.next); err != nil {
			return 0, err
		}
	}
}

// Close implements stream.Reader.
func (r *reader) Close() error {
	r.closeSegment()
	return nil
}

func (r *reader) closeSegment() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
	r.batch = view{}
}

// fill takes what there is without waiting. Entries are parts of the window's
// memory, so what needs another read is left for the next call.
func (r *reader) fill(into []stream.Entry) (n int, err error) {
	for n < len(into) {
		switch {
		case r.lost > r.next:
			if n > 0 {
				return n, nil
			}
			return 0, r.corrupt(reasonLost)
		case r.batch.more():
			before := r.batch
			record, reason := r.batch.take()
			switch {
			case reason != "" && n > 0:
				r.batch = before
				return n, nil
			case reason != "":
				return 0, r.corrupt(reason)
			}
			into[n] = stream.Entry{Record: record, Position: position(r.next)}
			r.next++
			n++
		default:
			ok, err := r.advance(n == 0)
			if err != nil || !ok {
				return n, err
			}
		}
	}
	return n, nil
}

func (r *reader) corrupt(reason string) error {
	at := r.next
	r.next++
	return &stream.CorruptError{Position: position(at), Reason: reason}
}

// patientReads is how many reads of one place may fail before what cannot be
// read there counts as corrupt. Before that the error is given as it is: it may
// pass, and nothing is skipped.
const patientReads = 3

// advance goes on to the next batch with a record that is wanted. Without
// mayRead it takes what is in memory. It returns false when there is nothing more.
func (r *reader) advance(mayRead bool) (bool, error) {
	for {
		seg, ok := r.l.locate(&r.next)
		if !ok {
			return false, nil
		}
		if (r.file == nil || r.number != seg.number) && !mayRead {
			return false, nil
		}
		r.scan.frozen = !mayRead
		err := r.openAt(&seg)
		r.scan.forgive = r.failed >= patientReads
		if err == nil {
			ok, err = r.step(&seg)
		}
		switch {
		case err == nil && ok:
			r.failed = 0
			return true, nil
		case err == nil:
		case errors.Is(err, errFrozen):
			return false, nil
		case errors.Is(err, fs.ErrNotExist) && r.l.wasRemoved(seg.number):
			// It was dropped between the look and the reading.
		default:
			r.failed++
			return false, whittle.Errorf(whittle.Unavailable, "read log at %d: %w", r.next, err)
		}
	}
}

// openAt opens the segment, if it is not open, at a batch before the wanted one.
func (r *reader) openAt(seg *segment) error {
	if r.file != nil && r.number == seg.number {
		return nil
	}
	r.closeSegment()
	f, err := r.l.disk.Open(segmentName(seg.number), false)
	if err != nil {
		return err
	}
	r.file, r.number = f, seg.number
	r.scan = scan{window: window{file: f, chunk: readChunk, buf: r.scan.buf[:0], forgive: r.failed >= patientReads}, segment: seg.id, at: sector, next: seg.base}
	if r.next > seg.base {
		if err := r.scan.seek(r.next, seg.end); err != nil {
			r.closeSegment()
			return err
		}
	}
	return nil
}

// step takes the next batch. It returns false when that has no record that is
// wanted.
func (r *reader) step(seg *segment) (bool, error) {
	f, at, ok, err := r.scan.find(seg.end)
	if err != nil {
		return false, err
	}
	if !ok || f.base >= seg.next {
		r.lost = seg.next
		return true, nil
	}
	b, err := r.scan.slice(at, int(f.size()), seg.end)
	if err != nil {
		return false, err
	}
	r.scan.pass(&f, at)
	r.batch = viewOf(&f, b)
	r.batch.skip(r.next)
	if f.base > r.next {
		r.lost = f.base
	}
	return r.batch.more(), nil
}

// locate returns a copy of the segment that an offset is in. An offset that the
// log has dropped becomes the first one that it holds.
func (l *Log) locate(offset *uint64) (segment, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*offset = max(*offset, l.first)
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].next > *offset })
	if i == len(l.segments) {
		return segment{}, false
	}
	return *l.segments[i], true
}
