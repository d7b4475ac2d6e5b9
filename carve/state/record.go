package state

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"whittle"
)

// Bounds of what is kept of one route.
const (
	// MaxTimeline is how many decisions are kept, the last ones.
	MaxTimeline = 500
	maxPart     = 8 << 20 // bytes of one part of a record
	maxName     = 1024    // bytes of a route's name
)

// Record is all that is kept of a route. The parts are opaque here.
type Record struct {
	// Epoch names what the evidence is about; other evidence must not be
	// continued under it.
	Epoch string
	// Rollout, Judge, Guard and Ledger are the rooms' own encodings.
	Rollout, Judge, Guard, Ledger []byte
	// Timeline is oldest first; only the last MaxTimeline are kept.
	Timeline []whittle.Decision
}

// Load reads a route's record: the zero Record where none was saved. A record
// that is not what was written is an error with ErrCorrupt in its chain; it
// stays where it is, and the next Save of the route puts it aside in the file.
func (s *Store) Load(route string) (Record, error) {
	var r Record
	err := guarded(func() error {
		return s.db.View(func(tx *bbolt.Tx) (err error) {
			r, err = decode(route, tx.Bucket(bucketRecord).Get([]byte(route)), tx.Bucket(bucketTimeline).Get([]byte(route)))
			return err
		})
	})
	if err == nil {
		return r, nil
	}
	hint := ""
	if errors.Is(err, ErrCorrupt) {
		hint = "the route's evidence starts afresh on the monolith; the damaged record is kept in the state file"
	}
	return Record{}, whittle.Errorf(codeOf(err), "load state of %s: %w", route, err).WithHint(hint)
}

// Save writes a route's whole record in one transaction, which is on disk when
// Save returns nil. After an error the record before is still there, whole.
// Errors are *whittle.Error: ResourceExhausted where there is no space.
func (s *Store) Save(route string, r Record) error {
	record, timeline, err := encode(route, r)
	if err == nil {
		err = guarded(func() error {
			return s.db.Update(func(tx *bbolt.Tx) error { return put(tx, []byte(route), record, timeline) })
		})
	}
	if err == nil {
		return nil
	}
	e := whittle.Errorf(codeOf(err), "save state of %s: %w", route, err)
	if e.Code == whittle.ResourceExhausted {
		return e.WithHint("make room on the disk that holds " + s.path + "; no share rises until then")
	}
	return e
}

func put(tx *bbolt.Tx, key, record, timeline []byte) error {
	records, timelines := tx.Bucket(bucketRecord), tx.Bucket(bucketTimeline)
	if old := records.Get(key); old != nil {
		if _, err := decode(string(key), old, timelines.Get(key)); err != nil {
			if err := tx.Bucket(bucketAside).Put(key, bytes.Clone(old)); err != nil {
				return err
			}
		}
	}
	// The time line is the long part and changes with decisions only.
	if !bytes.Equal(timelines.Get(key), timeline) {
		if err := timelines.Put(key, timeline); err != nil {
			return err
		}
	}
	return records.Put(key, record)
}

func codeOf(err error) whittle.Code {
	if coded, ok := errors.AsType[*whittle.Error](err); ok {
		return coded.Code
	}
	for _, full := range []error{berrors.ErrMaxSizeReached, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) {
			return whittle.ResourceExhausted
		}
	}
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return whittle.FailedPrecondition
	}
	return whittle.Internal
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}
