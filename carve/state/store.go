// Package state keeps each route's rollout position, evidence, ledger and time line in
// one embedded file, over restarts. They are written in one transaction that is on
// disk when Save returns.
// A process that is killed at any moment leaves the whole of the last record
// that was acknowledged, or the whole of the one being written.
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"whittle"
)

const (
	// lockWait is how long Open waits for another process to let go.
	lockWait = time.Second
	// maxFile bounds the file. A thousand routes with full evidence fit.
	maxFile = 2 << 30
	// formatVersion is the layout of the file: its buckets and their keys.
	formatVersion = "1"
)

// ErrCorrupt is in the chain of every error about bytes that are not what was
// written.
var ErrCorrupt = errors.New("the bytes are not what was written")

var (
	bucketFormat   = []byte("format")
	bucketRecord   = []byte("record")
	bucketTimeline = []byte("timeline")
	bucketAside    = []byte("aside")
	keyVersion     = []byte("version")
)

// Store is an open state file. Its methods may be called by several
// goroutines at once; Save serializes them. Whoever opened it closes it.
type Store struct {
	db   *bbolt.DB
	path string
}

// Open opens the file at path, or makes it with mode 0600 together with the
// folder it is in. It waits one second at most for a file that another process
// holds. Errors are *whittle.Error: Unavailable where another process holds
// the file, PermissionDenied, Unsupported for a later version's file, and
// Internal with ErrCorrupt in the chain for a damaged one.
func Open(path string) (*Store, error) { return open(path, maxFile) }

func open(path string, maxSize int) (*Store, error) {
	if path == "" {
		return nil, whittle.Errorf(whittle.Invalid, "open state: no path is given").WithField("state")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, openError(path, err)
	}
	s := &Store{path: path}
	var file *os.File
	err := guarded(func() (err error) {
		s.db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout: lockWait, MaxSize: maxSize, FreelistType: bbolt.FreelistMapType, NoStatistics: true,
			OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
				f, err = os.OpenFile(name, flag, mode)
				if file == nil {
					file = f
				}
				return f, err
			},
		})
		return err
	})
	if err != nil {
		if errors.Is(err, ErrCorrupt) && file != nil {
			_ = errors.Join(unlock(file), file.Close()) // a panic has left it open and mapped
		}
		if _, system := errors.AsType[*fs.PathError](err); !system && !errors.Is(err, berrors.ErrTimeout) && stunted(path) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		return nil, openError(path, err)
	}
	if err := s.prepare(); err != nil {
		_ = s.Close()
		return nil, openError(path, err)
	}
	return s, nil
}

// prepare checks the file's whole structure, so that damage is found here and
// not by a request, and makes the buckets.
func (s *Store) prepare() error {
	if err := os.Chmod(s.path, 0o600); err != nil {
		return err
	}
	if err := guarded(func() error { return s.db.View(s.intact) }); err != nil {
		return err
	}
	return guarded(func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			for _, name := range [][]byte{bucketRecord, bucketTimeline, bucketAside} {
				if _, err := tx.CreateBucketIfNotExists(name); err != nil {
					return err
				}
			}
			format, err := tx.CreateBucketIfNotExists(bucketFormat)
			if err != nil {
				return err
			}
			switch v := string(format.Get(keyVersion)); v {
			case formatVersion:
				return nil
			case "":
				return format.Put(keyVersion, []byte(formatVersion))
			default:
				return whittle.Errorf(whittle.Unsupported, "the file has format %q and this whittle knows %q", v, formatVersion).
					WithHint("start the whittle that wrote it, or name another file under state:")
			}
		})
	})
}

func (s *Store) intact(tx *bbolt.Tx) error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if info.Size() < tx.Size() {
		return fmt.Errorf("%w: the file has %d bytes and should have %d", ErrCorrupt, info.Size(), tx.Size())
	}
	file, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	all := pages{file: file, size: int64(s.db.Info().PageSize), seen: map[uint64]bool{}}
	if err := all.visit(uint64(tx.Cursor().Bucket().Root())); err != nil {
		return err
	}
	if err := tx.ForEach(func(_ []byte, b *bbolt.Bucket) error { return walk(b) }); err != nil {
		return err
	}
	var first error
	for err := range tx.Check() {
		if first == nil {
			first = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return first
}

// walk reads every key of a bucket, and of buckets within it. Where a damaged page names another one
// that is beyond the file, it faults here, where guarded catches it: tx.Check reads the pages in a
// goroutine of its own, in which such a fault would end the process.
func walk(b *bbolt.Bucket) error {
	return b.ForEach(func(key, value []byte) error {
		checksum("", key)
		if value != nil {
			return nil
		}
		return walk(b.Bucket(key))
	})
}

// Path is where the file is.
func (s *Store) Path() string { return s.path }

// Close lets go of the file. Calls after it fail.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return whittle.Errorf(whittle.Internal, "close state %s: %w", s.path, err)
	}
	return nil
}

// SetAside renames a file that Open found damaged, so that a new one can take
// its place, and gives the name it has then. The damaged one is never deleted.
// Call it only where Open's error has ErrCorrupt in its chain: any other file
// may be in use.
func SetAside(path string, now time.Time) (string, error) {
	aside := path + ".corrupt-" + now.UTC().Format("20060102T150405.000Z")
	if err := os.Rename(path, aside); err != nil {
		return "", whittle.Errorf(whittle.Internal, "set damaged state aside: %w", err).WithField("state")
	}
	return aside, nil
}

// guarded turns what a damaged file does to a memory map (a panic of the
// database's own assertions, a fault beyond the file's end) into ErrCorrupt.
func guarded(f func() error) (err error) {
	before := debug.SetPanicOnFault(true) // of this goroutine only
	defer func() {
		debug.SetPanicOnFault(before)
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, p)
		}
	}()
	return f()
}

// stunted reports a file that is too short to hold the two pages it starts
// with; the database has no error value for it.
func stunted(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.Size() < 2*int64(os.Getpagesize())
}

func openError(path string, err error) error {
	if coded, ok := errors.AsType[*whittle.Error](err); ok {
		return whittle.Errorf(coded.Code, "open state %s: %w", path, err).WithHint(coded.Hint).WithField("state")
	}
	code, hint := whittle.Internal, ""
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		code, hint = whittle.Unavailable, "another process has the file open: stop that whittle, or name another file under state:"
		err = errors.New("the file is in use by another process")
	case errors.Is(err, fs.ErrPermission):
		code, hint = whittle.PermissionDenied, "give the user that runs whittle the right to write this file and its folder"
	case errors.Is(err, ErrCorrupt), errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
		hint = "move the file away to start with fresh evidence; until then every user stays on the monolith"
		if !errors.Is(err, ErrCorrupt) {
			err = fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return whittle.Errorf(code, "open state %s: %w", path, err).WithHint(hint).WithField("state")
}
