package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// parsePosition reads "partition/offset" as the responses write it. A partition
// alone is its beginning.
func parsePosition(text string) (stream.Position, error) {
	partition, offset, _ := strings.Cut(text, "/")
	if partition == "" || strings.Trim(offset, "0123456789") != "" {
		return stream.Position{}, whittle.Errorf(whittle.Invalid, "%q is no position", text).
			WithHint("a position is partition/offset as the responses name it: 0/123")
	}
	return stream.Position{Partition: partition, Offset: offset}, nil
}

func formatPosition(p stream.Position) string { return p.Partition + "/" + p.Offset }

// begins returns where to read from: the one position that was asked for, or each
// partition's beginning.
func begins(ctx context.Context, s stream.Stream, from string) ([]stream.Partition, error) {
	parts, err := s.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	if from == "" {
		return parts, nil
	}
	at, err := parsePosition(from)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if p.Name == at.Partition {
			p.First = at
			return []stream.Partition{p}, nil
		}
	}
	return nil, whittle.Errorf(whittle.NotFound, "the stream has no partition %q", at.Partition)
}

// idleTimeout is how long a partition that does not report its end must be silent to be
// taken as read to the end.
const idleTimeout = 10 * time.Second

// walk hands each entry of a partition from its First on to visit, in batches,
// up to what is its Next now. A corrupt record goes to corrupt and is passed.
func walk(ctx context.Context, s stream.Stream, p stream.Partition, visit func([]stream.Entry) error, corrupt func(*stream.CorruptError) error) error {
	if p.Next.Offset != "" && !less(p.First.Offset, p.Next.Offset) {
		return nil
	}
	r, err := s.Read(ctx, p.First)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	batch := make([]stream.Entry, 256)
	for {
		n, err := next(ctx, r, batch, p.Next.Offset == "")
		if broken, ok := errors.AsType[*stream.CorruptError](err); ok {
			if err := corrupt(broken); err != nil {
				return err
			}
			if last(broken.Position.Offset, p.Next.Offset) {
				return nil
			}
			continue
		}
		if errors.Is(err, stream.ErrEnded) || errors.Is(err, stream.ErrIdle) { // ErrEnded: a shard that was closed for good
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
func next(ctx context.Context, r stream.Reader, into []stream.Entry, openEnd bool) (int, error) {
	if openEnd {
		return stream.NextBefore(ctx, r, into, idleTimeout)
	}
	return r.Next(ctx, into)
}

// less compares decimal numbers of any length.
func less(a, b string) bool {
	return stream.CompareOffsets(strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")) < 0
}

// last reports whether the record at offset is the last one before next, given
// that offsets are dense or that a later record is at next or beyond.
func last(offset, next string) bool {
	if next == "" {
		return false
	}
	return !less(stream.NextOffset(offset), next)
}
