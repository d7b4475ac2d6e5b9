package stream

import (
	"context"
	"errors"
	"slices"
	"time"

	"whittle"
)

// Span is a part of a stream that is read once, from a position up to an end
// (exclusive). If the end is not known (its offset is empty), the span ends when the
// reader is silent, or at a record that was received after the reading began. A known
// end may never be reached, because there may be no record right before it (Kafka's
// transaction markers, JetStream's messages of other subjects). Then silence ends the
// span too, but only that of a reader that has shown that it works.
type Span struct {
	Stream    Stream
	From, End Position
	// IdleTimeout is how long a reader must give nothing to count as silent.
	IdleTimeout time.Duration
}

// silentFor is Walk's IdleTimeout.
const silentFor = 10 * time.Second

// Walk reads a partition from its First up to what is its Next now: see Span.Read.
func Walk(ctx context.Context, s Stream, p Partition, visit func([]Entry) error, corrupt func(*CorruptError) error) error {
	return Span{Stream: s, From: p.First, End: p.Next, IdleTimeout: silentFor}.Read(ctx, visit, corrupt)
}

// ErrNothingRead is what a span ends with whose end is known and could not be read.
var ErrNothingRead = errors.New("the end is known, and nothing comes before it")

// maxSilentReaders is how many readers in turn must give nothing for ErrNothingRead.
const maxSilentReaders = 3

// Each is Read for one entry at a time, which is valid until visit returns, or for what
// is corrupt.
func (s Span) Each(ctx context.Context, visit func(*Entry, *CorruptError) error) error {
	return s.Read(ctx, func(batch []Entry) error {
		for i := range batch {
			if err := visit(&batch[i], nil); err != nil {
				return err
			}
		}
		return nil
	}, func(bad *CorruptError) error { return visit(nil, bad) })
}

// Read hands the span's entries to visit, in order and in batches, which are valid until
// it returns. A corrupt record goes to corrupt and is passed. An error of theirs ends the
// reading; Unavailable, wrapping ErrNothingRead, where the end cannot be read.
func (s Span) Read(ctx context.Context, visit func([]Entry) error, corrupt func(*CorruptError) error) error {
	if s.End.Offset != "" && (s.End.Offset == "0" || CompareOffsets(s.From.Offset, s.End.Offset) >= 0) {
		return nil
	}
	// Clocks of different fronts may differ by less than the silence.
	r := reading{Span: s, visit: visit, corrupt: corrupt, late: time.Now().Add(s.IdleTimeout)}
	for silent := 0; ; {
		before := r.last
		again, err := r.pass(ctx)
		switch {
		case !errors.Is(err, ErrIdle):
			return err
		case s.End.Offset == "", again && r.last == before:
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
	Span
	visit   func([]Entry) error
	corrupt func(*CorruptError) error
	late    time.Time
	last    string // the offset that was visited last; empty: none was
}

// pass reads on with a new reader, from the last record on that was visited,
// and reports whether that came again. It ends with nil where the span is over
// and with ErrIdle where nothing comes any more.
func (r *reading) pass(ctx context.Context) (again bool, err error) {
	from, before := r.From, r.last
	if before != "" {
		from.Offset = before
	}
	reader, err := r.Stream.Read(ctx, from)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	entries := make([]Entry, 256)
	for {
		n, err := NextBefore(ctx, reader, entries, r.IdleTimeout)
		batch := entries[:n]
		for before != "" && len(batch) > 0 && CompareOffsets(batch[0].Position.Offset, before) <= 0 {
			again = again || batch[0].Position.Offset == before
			batch = batch[1:]
		}
		if over, err := r.take(batch); over || err != nil {
			return again, err
		}
		bad, corrupt := errors.AsType[*CorruptError](err)
		switch {
		case corrupt && before != "" && CompareOffsets(bad.Position.Offset, before) <= 0:
			again = again || bad.Position.Offset == before
		case corrupt:
			if over, err := r.skip(bad); over || err != nil {
				return again, err
			}
		case errors.Is(err, ErrEnded): // a shard that is closed for good
			return again, nil
		case err != nil:
			return again, err
		}
	}
}

// take visits entries, and reports whether the span is over behind them.
func (r *reading) take(batch []Entry) (over bool, err error) {
	if end := slices.IndexFunc(batch, r.isOut); end >= 0 {
		batch, over = batch[:end], true
	}
	if len(batch) == 0 {
		return over, nil
	}
	r.last = batch[len(batch)-1].Position.Offset
	return over || r.isBehind(NextOffset(r.last)), r.visit(batch)
}

// skip is take for what is corrupt.
func (r *reading) skip(bad *CorruptError) (over bool, err error) {
	if r.isBehind(bad.Position.Offset) {
		return true, nil
	}
	r.last = bad.Position.Offset
	return r.isBehind(NextOffset(r.last)), r.corrupt(bad)
}

// isOut reports whether the span is over at an entry.
func (r *reading) isOut(e Entry) bool {
	return r.isBehind(e.Position.Offset) || r.End.Offset == "" && e.Time.After(r.late)
}

func (s Span) isBehind(offset string) bool {
	return s.End.Offset != "" && CompareOffsets(offset, s.End.Offset) >= 0
}

// isOver is asked after so many readers in turn that gave nothing at all, not
// even the last record again. It may be gone by now, or there was none; then a
// reader from the beginning shows whether the stream gives what it has.
func (r *reading) isOver(ctx context.Context, silent int) (bool, error) {
	parts, err := r.Stream.Partitions(ctx)
	if err != nil {
		return false, err
	}
	for _, p := range parts {
		if p.Name != r.From.Partition {
			continue
		}
		if r.isBehind(p.First.Offset) {
			return true, nil
		}
		if silent > 1 && (r.last == "" || CompareOffsets(p.First.Offset, r.last) > 0) {
			if gives, err := r.gives(ctx, p.First); gives || err != nil {
				return gives, err
			}
		}
	}
	if silent < maxSilentReaders {
		return false, nil
	}
	return false, whittle.Errorf(whittle.Unavailable, "read partition %s: it ends at %s: %w", r.From.Partition, r.End.Offset, ErrNothingRead)
}

// gives reports whether there is something to read from a position on.
func (s Span) gives(ctx context.Context, from Position) (_ bool, err error) {
	reader, err := s.Stream.Read(ctx, from)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	var one [1]Entry
	n, err := NextBefore(ctx, reader, one[:], s.IdleTimeout)
	if _, corrupt := errors.AsType[*CorruptError](err); n > 0 || corrupt {
		return true, nil
	}
	if errors.Is(err, ErrIdle) {
		err = nil
	}
	return false, err
}
