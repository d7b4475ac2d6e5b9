package relay

import (
	"context"
	"errors"
	"time"

	"whittle/stream"
)

// span is a part of a stream that is read once, from a position up to an end
// (exclusive). Where the end is not known (its offset is empty), and where the
// last records before it do not exist, silence tells it.
type span struct {
	stream    stream.Stream
	from, end stream.Position
	quiet     time.Duration
}

// read calls each with an entry, whose memory is lent, or with what is corrupt.
func (s span) read(ctx context.Context, each func(*stream.Entry, *stream.CorruptError) error) error {
	if s.end.Offset != "" && (s.end.Offset == "0" || compareOffsets(s.from.Offset, s.end.Offset) >= 0) {
		return nil
	}
	r, err := s.stream.Read(ctx, s.from)
	if err != nil {
		return err
	}
	defer r.Close()
	entries := make([]stream.Entry, 256)
	for silent := 0; ; {
		n, err := s.next(ctx, r, entries)
		for i := range entries[:n] {
			if s.over(entries[i].Position.Offset) {
				return nil
			}
			if err := each(&entries[i], nil); err != nil {
				return err
			}
		}
		if n > 0 {
			silent = 0
			if s.over(following(entries[n-1].Position.Offset)) {
				return nil
			}
		}
		bad, corrupt := errors.AsType[*stream.CorruptError](err)
		switch {
		case err == nil:
		case corrupt:
			if s.over(bad.Position.Offset) {
				return nil
			}
			if err := each(nil, bad); err != nil {
				return err
			}
			if bad.Position.Offset != "" && s.over(following(bad.Position.Offset)) {
				return nil
			}
		case errors.Is(err, errQuiet):
			if silent++; s.end.Offset == "" || silent == 2 {
				return nil
			}
			// The end is known and does not come: the sink may be slow, or there
			// may be no records before its end. One that answers is not slow.
			if _, err := s.stream.Partitions(ctx); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (s span) over(offset string) bool {
	return s.end.Offset != "" && compareOffsets(offset, s.end.Offset) >= 0
}

var errQuiet = errors.New("nothing to read")

func (s span) next(ctx context.Context, r stream.Reader, into []stream.Entry) (int, error) {
	wait, cancel := context.WithTimeout(ctx, s.quiet)
	defer cancel()
	n, err := r.Next(wait, into)
	if err == nil {
		return n, nil
	}
	if _, corrupt := errors.AsType[*stream.CorruptError](err); !corrupt && ctx.Err() == nil && wait.Err() != nil {
		return n, errQuiet
	}
	return n, err
}
