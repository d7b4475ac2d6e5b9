package embedded

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"sort"

	"whittle"
	"whittle/systems/ingest/stream"
)

// readChunk is how much a reader reads at once.
const readChunk = 256 << 10

// Read gives a reader of the records from an offset on, or from the first one that is
// kept. An offset behind the end is FailedPrecondition.
func (l *Log) Read(from uint64) (*Reader, error) {
	if l.isClosing() {
		return nil, errClosed
	}
	first, next, err := l.Bounds()
	if err != nil {
		return nil, err
	}
	if from > next {
		return nil, whittle.Errorf(whittle.FailedPrecondition, "read from %d: the log ends at %d", from, next)
	}
	return &Reader{l: l, next: max(from, first)}, nil
}

// Walk hands out the records from an offset up to the end as of now. An entry is valid until
// visit returns. A record whose bytes are not what was appended goes to corrupt, and is
// passed. An error of theirs ends the walk.
func (l *Log) Walk(ctx context.Context, from uint64, visit func(*stream.Entry) error, corrupt func(*stream.CorruptError) error) error {
	_, end, err := l.Bounds()
	if err != nil || from >= end {
		return err
	}
	return l.walk(ctx, from, end, visit, corrupt)
}

// Follow is Walk, but that it goes on as records come, until ctx ends.
func (l *Log) Follow(ctx context.Context, from uint64, visit func(*stream.Entry) error, corrupt func(*stream.CorruptError) error) error {
	return l.walk(ctx, from, math.MaxUint64, visit, corrupt)
}

func (l *Log) walk(ctx context.Context, from, end uint64, visit func(*stream.Entry) error, corrupt func(*stream.CorruptError) error) error {
	r, err := l.Read(from)
	if err != nil {
		return err
	}
	defer r.Close()
	entries := make([]stream.Entry, 256)
	for r.next < end {
		n, err := r.Next(ctx, entries[:min(uint64(len(entries)), end-r.next)])
		for i := range entries[:n] {
			if err := visit(&entries[i]); err != nil {
				return err
			}
		}
		if bad, ok := errors.AsType[*stream.CorruptError](err); ok {
			err = corrupt(bad)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Reader is one position that moves along a log. It belongs to one goroutine.
type Reader struct {
	l      *Log
	next   uint64 // the offset that is wanted
	lost   uint64 // records before it, from next on, cannot be found
	file   file   // nil: no segment is open
	number uint64 // of that segment
	scan   scan
	batch  view
	failed int // reads that failed, one behind the other
}

// Next fills into with the next records, at least one, and waits for it
// until ctx ends. The entries' memory is valid until the next call. A
// record whose bytes are not what was appended returns a *stream.CorruptError, and
// the next call continues behind it.
func (r *Reader) Next(ctx context.Context, into []stream.Entry) (int, error) {
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

// Close releases what the reader has open.
func (r *Reader) Close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
	r.batch = view{}
}

// fill takes what there is of one batch, without waiting: entries are parts of the window's
// memory.
func (r *Reader) fill(into []stream.Entry) (n int, err error) {
	for r.lost <= r.next && !r.batch.more() {
		if ok, err := r.advance(); err != nil || !ok {
			return 0, err
		}
	}
	if r.lost > r.next {
		return 0, r.corrupt(reasonLost)
	}
	for n < len(into) && r.batch.more() {
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
	}
	return n, nil
}

func (r *Reader) corrupt(reason string) error {
	at := r.next
	r.next++
	return &stream.CorruptError{Position: position(at), Reason: reason}
}

// patientReads is how many reads of one place may fail before what cannot be
// read there counts as corrupt. Before that the error is given as it is: it may
// pass, and nothing is skipped.
const patientReads = 3

// advance goes on to the next batch with a record that is wanted. It returns false when
// there is nothing more.
func (r *Reader) advance() (bool, error) {
	for {
		seg, ok := r.l.locate(&r.next)
		if !ok {
			return false, nil
		}
		err := r.openSegment(&seg)
		r.scan.forgive = r.failed >= patientReads
		if err == nil {
			ok, err = r.step(&seg)
		}
		switch {
		case err == nil && ok:
			r.failed = 0
			return true, nil
		case err == nil:
		case errors.Is(err, fs.ErrNotExist) && r.l.wasRemoved(seg.number):
			// It was dropped between the look and the reading.
		default:
			r.failed++
			return false, whittle.Errorf(whittle.Unavailable, "read log at %d: %w", r.next, err)
		}
	}
}

// openSegment opens a segment, if it is not open.
func (r *Reader) openSegment(seg *segment) error {
	if r.file != nil && r.number == seg.number {
		return nil
	}
	r.Close()
	f, err := r.l.disk.Open(segmentName(seg.number), false)
	if err != nil {
		return err
	}
	r.file, r.number = f, seg.number
	r.scan = scan{window: window{file: f, chunk: readChunk, buf: r.scan.buf[:0]}, segment: seg.id, at: sector, next: seg.base}
	return nil
}

// step takes the next batch. It returns false when that has no record that is
// wanted.
func (r *Reader) step(seg *segment) (bool, error) {
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
