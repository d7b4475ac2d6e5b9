package stream

import (
	"context"
	"errors"
	"strings"
	"time"
)

// silentFor is how long a partition that does not report its end must be silent to be
// taken as read to the end.
const silentFor = 10 * time.Second

// Walk hands each entry of a partition from its First on to visit, in batches,
// up to what is its Next now. A corrupt record goes to corrupt and is passed.
func Walk(ctx context.Context, s Stream, p Partition, visit func([]Entry) error, corrupt func(*CorruptError) error) error {
	if p.Next.Offset != "" && !less(p.First.Offset, p.Next.Offset) {
		return nil
	}
	r, err := s.Read(ctx, p.First)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	batch := make([]Entry, 256)
	for {
		n, err := next(ctx, r, batch, p.Next.Offset == "")
		if broken, ok := errors.AsType[*CorruptError](err); ok {
			if err := corrupt(broken); err != nil {
				return err
			}
			if last(broken.Position.Offset, p.Next.Offset) {
				return nil
			}
			continue
		}
		if errors.Is(err, ErrEnded) || errors.Is(err, ErrIdle) { // ErrEnded: a shard that was closed for good
			return nil
		}
		if err != nil {
			return err
		}
		if err := visit(batch[:n]); err != nil {
			return err
		}
		if last(batch[n-1].Position.Offset, p.Next.Offset) {
			return nil
		}
	}
}

// next reads on. With an open end, silence is the end.
func next(ctx context.Context, r Reader, into []Entry, openEnd bool) (int, error) {
	if openEnd {
		return NextBefore(ctx, r, into, silentFor)
	}
	return r.Next(ctx, into)
}

// less compares decimal numbers of any length.
func less(a, b string) bool {
	return CompareOffsets(strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")) < 0
}

// last reports whether the record at offset is the last one before next, given
// that offsets are dense or that a later record is at next or beyond.
func last(offset, next string) bool {
	if next == "" {
		return false
	}
	return !less(NextOffset(offset), next)
}
