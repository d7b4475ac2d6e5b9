package stream

import (
	"context"
	"errors"
	"time"

	"whittle"
)

// Fingerprint tells a record from another one that has its place in another stream. The
// zero value is of none.
type Fingerprint struct {
	Time int64  `json:"time"` // Unix nanoseconds
	Sum  uint32 `json:"sum"`
}

// Fingerprint is the record's.
func (r *Record) Fingerprint() Fingerprint { return Fingerprint{Time: r.Time.UnixNano(), Sum: r.Sum} }

// fingerprintWait is how long the record may take to come.
const fingerprintWait = 10 * time.Second

// patientReads is how often a record is read that cannot be.
const patientReads = 5

// Recheck is asked before a stream is read on from behind a record that was read earlier.
// It fails, as FailedPrecondition, where the stream ends before that record, or has
// another one in its place. It says nothing where the record was dropped since or cannot
// be read, where the fingerprint is the zero value, and of a partition that does not
// report its end: there an offset is no other stream's.
func Recheck(ctx context.Context, s Stream, p Partition, offset string, known Fingerprint) error {
	if offset == "" || p.Next.Offset == "" {
		return nil
	}
	if CompareOffsets(offset, p.Next.Offset) >= 0 {
		return whittle.Errorf(whittle.FailedPrecondition, "partition %s ends before offset %s, and the record at %s was read from it", p.Name, p.Next.Offset, offset)
	}
	if known == (Fingerprint{}) || CompareOffsets(offset, p.First.Offset) < 0 {
		return nil
	}
	r, err := s.Read(ctx, Position{Partition: p.Name, Offset: offset})
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	var one [1]Entry
	n, err := NextBefore(ctx, r, one[:], fingerprintWait)
	for tries := patientReads; tries > 0 && whittle.CodeOf(err) == whittle.Unavailable; tries-- {
		n, err = NextBefore(ctx, r, one[:], fingerprintWait)
	}
	_, corrupt := errors.AsType[*CorruptError](err)
	switch {
	case corrupt, errors.Is(err, ErrIdle), errors.Is(err, ErrEnded):
		return nil
	case err != nil:
		return err
	case n == 1 && one[0].Position.Offset == offset && one[0].Fingerprint() != known:
		return whittle.Errorf(whittle.FailedPrecondition, "partition %s has another record at offset %s than was read there", p.Name, offset)
	}
	return nil
}
