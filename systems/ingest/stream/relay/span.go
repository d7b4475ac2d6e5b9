package relay

import (
	"context"
	"errors"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// span is a part of a stream that is read once, from a position up to an end
// (exclusive). If the end is not known (its offset is empty), the span ends when the
// reader is silent, or at a record that was received after the reading began. A known
// end may never be reached, because there may be no record right before it (Kafka's
// transaction markers, JetStream's messages of other subjects). Then silence ends the
// span too, but only that of a reader that has shown that it works.
type span struct {
	stream      stream.Stream
	from, end   stream.Position
	idleTimeout time.Duration
}

// visit is called with an entry, which is valid until it returns, or with what is corrupt.
type visit func(*stream.Entry, *stream.CorruptError) error

// errNothingRead is what a span ends with whose end is known and could not be read.
var errNothingRead = errors.New("the end is known, and nothing comes before it")

// maxSilentReaders is how many readers in turn must give nothing for errNothingRead.
const maxSilentReaders = 3

// read visits what is in the span.
func (s span) read(ctx context.Context, each visit) error {
	if s.end.Offset != "" && (s.end.Offset == "0" || stream.CompareOffsets(s.from.Offset, s.end.Offset) >= 0) {
		return nil
	}
	// Clocks of different fronts may differ by less than the silence.
	r := reading{span: s, each: each, late: time.Now().Add(s.idleTimeout)}
	for silent := 0; ; {
		before := r.last
		again, err := r.pass(ctx)
		switch {
		case !errors.Is(err, stream.ErrIdle):
			return err
		case s.end.Offset == "", again && r.last == before:
			return nil
		case r.last != before:
			silent = 0
			continue
		}
		silent++
		if over, err := r.isOver(ctx, silent); over || err != nil {
			return err
		}
	}
}

// reading is a span being read, by one reader after the other.
type reading struct {
	span
	each visit
	late time.Time
	last string // the offset that was visited last; empty: none was
}

// pass reads on with a new reader, from the last record on that was visited,
// and reports whether that came again. It ends with nil where the span is over
// and with stream.ErrIdleTimeout where nothing comes any more.
func (r *reading) pass(ctx context.Context) (again bool, err error) {
	from := r.from
	if r.last != "" {
		from.Offset = r.last
	}
	before := r.last
	reader, err := r.stream.Read(ctx, from)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	entries := make([]stream.Entry, 256)
	for {
		n, err := stream.NextBefore(ctx, reader, entries, r.idleTimeout)
		for i := range entries[:n] {
			e := &entries[i]
			again = again || e.Position.Offset == before
			if over, err := r.visit(before, e.Position.Offset, e, nil); over || err != nil {
				return again, err
			}
		}
		bad, corrupt := errors.AsType[*stream.CorruptError](err)
		switch {
		case corrupt:
			again = again || bad.Position.Offset == before
			if over, err := r.visit(before, bad.Position.Offset, nil, bad); over || err != nil {
				return again, err
			}
		case errors.Is(err, stream.ErrEnded): // a shard that is closed for good
			return again, nil
		case err != nil:
			return again, err
		}
	}
}

// visit reports whether the span is over. What an earlier reader gave, up to
// before, is passed over.
func (r *reading) visit(before, offset string, e *stream.Entry, bad *stream.CorruptError) (over bool, err error) {
	switch {
	case r.isBehind(offset), r.end.Offset == "" && e != nil && e.Time.After(r.late):
		return true, nil
	case before != "" && stream.CompareOffsets(offset, before) <= 0:
		return false, nil
	}
	if err := r.each(e, bad); err != nil {
		return true, err
	}
	r.last = offset
	return r.isBehind(stream.NextOffset(offset)), nil
}

func (s span) isBehind(offset string) bool {
	return s.end.Offset != "" && stream.CompareOffsets(offset, s.end.Offset) >= 0
}

// isOver is asked after so many readers in turn that gave nothing at all, not
// even the last record again. It may be gone by now, or there was none; then a
// reader from the beginning shows whether the stream gives what it has.
func (r *reading) isOver(ctx context.Context, silent int) (bool, error) {
	parts, err := r.stream.Partitions(ctx)
	if err != nil {
		return false, err
	}
	for _, p := range parts {
		if p.Name != r.from.Partition {
			continue
		}
		if r.isBehind(p.First.Offset) {
			return true, nil
		}
		if silent > 1 && (r.last == "" || stream.CompareOffsets(p.First.Offset, r.last) > 0) {
			if gives, err := r.gives(ctx, p.First); gives || err != nil {
				return gives, err
			}
		}
	}
	if silent < maxSilentReaders {
		return false, nil
	}
	return false, whittle.Errorf(whittle.Unavailable, "read partition %s: it ends at %s: %w", r.from.Partition, r.end.Offset, errNothingRead)
}

// gives reports whether there is something to read from a position on.
func (s span) gives(ctx context.Context, from stream.Position) (_ bool, err error) {
	reader, err := s.stream.Read(ctx, from)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	var one [1]stream.Entry
	n, err := stream.NextBefore(ctx, reader, one[:], s.idleTimeout)
	if _, corrupt := errors.AsType[*stream.CorruptError](err); n > 0 || corrupt {
		return true, nil
	}
	if errors.Is(err, stream.ErrIdle) {
		err = nil
	}
	return false, err
}
