package relay

import (
	"context"
	"errors"
	"time"

	"whittle/stream"
)

// span is a part of a stream that is read once, from a position up to an end
// (exclusive). Where the end is not known (its offset is empty), silence tells
// it, or a record that was received after the reading began.
type span struct {
	stream    stream.Stream
	from, end stream.Position
	quiet     time.Duration
}

// visit is called with an entry, whose memory is lent, or with what is corrupt.
type visit func(*stream.Entry, *stream.CorruptError) error

// read visits what is in the span.
func (s span) read(ctx context.Context, each visit) (err error) {
	if s.end.Offset != "" && (s.end.Offset == "0" || compareOffsets(s.from.Offset, s.end.Offset) >= 0) {
		return nil
	}
	r, err := s.stream.Read(ctx, s.from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	// Clocks of different fronts may differ by less than quiet.
	late := time.Now().Add(s.quiet)
	entries := make([]stream.Entry, 256)
	for silent := 0; ; {
		n, err := s.next(ctx, r, entries)
		if n > 0 {
			silent = 0
		}
		over, failed := s.visit(entries[:n], late, each)
		if over || failed != nil {
			return failed
		}
		bad, corrupt := errors.AsType[*stream.CorruptError](err)
		switch {
		case err == nil:
		case corrupt:
			if s.over(bad.Position.Offset) {
				return nil
			}
			if err := each(nil, bad); err != nil || s.over(following(bad.Position.Offset)) {
				return err
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

// visit reports whether the span is over.
func (s span) visit(entries []stream.Entry, late time.Time, each visit) (over bool, err error) {
	for i := range entries {
		e := &entries[i]
		if s.over(e.Position.Offset) || s.end.Offset == "" && e.Time.After(late) {
			return true, nil
		}
		if err := each(e, nil); err != nil {
			return true, err
		}
	}
	n := len(entries)
	return n > 0 && s.over(following(entries[n-1].Position.Offset)), nil
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
