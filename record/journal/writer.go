package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"whittle"
	"whittle/internal/filelock"
	"whittle/record/capture"
)

// blockBytes is the size at which a block is written: large enough to compress
// well, small enough to lose, and to hold one while reading.
const blockBytes = 256 << 10

const lockName = ".lock"

// Writer appends to a folder. Only one writer can have the folder open; it is
// for one goroutine.
type Writer struct {
	dir  string
	o    Options
	lock *os.File

	block capture.Block
	buf   []byte

	next uint64 // the number of the next segment
	seg  *segment
	old  []closed // the segments behind seg, oldest first
	lost uint64
	// unpacked is the length of the appended entries before compression.
	unpacked int64
}

// segment is the segment that is being written.
type segment struct {
	f    *os.File
	id   uint64
	size int64
	closed
}

// Create opens the folder for writing and makes it where it is missing. It
// never writes to an existing segment. The error has the code Unavailable where
// another process has the folder open.
func Create(dir string, o Options) (*Writer, error) {
	if dir == "" {
		return nil, whittle.Errorf(whittle.Invalid, "open log: no folder is given")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, coded(err, "open log")
	}
	held, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, coded(err, "open log")
	}
	if err := filelock.Hold(held); err != nil {
		held.Close()
		return nil, whittle.Errorf(whittle.Unavailable, "open log: another process records into %s", dir).
			WithHint("give this one a folder of its own, or end the other one")
	}
	o = o.filled()
	w := &Writer{dir: dir, o: o, lock: held, next: lastNumber(held) + 1}
	if err := w.survey(); err != nil {
		held.Close()
		return nil, coded(err, "open log")
	}
	return w, nil
}

// Append adds an entry to the current block, and writes the block once it is
// large enough. A capture.ErrEntry concerns this entry alone; any other error
// is Flush's.
func (w *Writer) Append(e *capture.Entry) error {
	before := w.block.Unpacked()
	if err := w.block.Add(e); err != nil {
		return err
	}
	w.unpacked += int64(w.block.Unpacked() - before)
	if w.block.Unpacked() < blockBytes {
		return nil
	}
	return w.Flush()
}

// Flush writes the current block, and removes segments that are too many or too
// old, so call it from time to time even without entries. It does not sync. On
// an error the block's entries are lost, which Lost counts; the next block goes
// to a new segment.
func (w *Writer) Flush() error {
	count := w.block.Len()
	if count == 0 {
		return w.retain()
	}
	err := w.write()
	if err != nil {
		w.block.Drop()
		w.lost += uint64(count)
		w.abandon()
		_ = w.retain() // what goes makes room
		return coded(err, "write log")
	}
	return w.retain()
}

// Describe sets the description of the entries that follow, of at most MaxAbout
// bytes. Where it differs from the one before, they go to a new segment. An
// error is Flush's.
func (w *Writer) Describe(about []byte) error {
	if len(about) > MaxAbout {
		return whittle.Errorf(whittle.Internal, "write log: %d bytes about its entries are more than %d", len(about), MaxAbout)
	}
	if bytes.Equal(about, w.o.About) {
		return nil
	}
	err := w.Flush()
	if w.seg != nil {
		if failed := w.finish(); failed != nil && err == nil {
			err = coded(failed, "write log")
		}
	}
	w.o.About = bytes.Clone(about)
	return err
}

// Lost counts the entries that were appended and could not be written.
func (w *Writer) Lost() uint64 { return w.lost }

// Unpacked is the length of the entries that were appended, before compression, in bytes.
func (w *Writer) Unpacked() int64 { return w.unpacked }

func (w *Writer) write() error {
	if w.seg == nil {
		if err := w.open(); err != nil {
			return err
		}
	}
	w.buf = w.block.Seal(w.buf[:0], w.seg.id)
	head, _ := capture.ParseHeader(w.buf)
	if _, err := w.seg.f.WriteAt(w.buf, w.seg.size); err != nil {
		return err
	}
	w.seg.size += int64(len(w.buf))
	w.seg.add(&head)
	if cap(w.buf) > 8*blockBytes {
		w.buf = nil
	}
	return nil
}

// open begins a segment.
func (w *Writer) open() error {
	path := segmentPath(w.dir, w.next)
	noteNumber(w.lock, w.next)
	w.next++ // even where it fails, so that no name is in the way for ever
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	label, id := newLabel(w.o.About)
	if _, err := f.Write(label); err != nil {
		f.Close()
		_ = os.Remove(path) // the first error says more
		return err
	}
	w.seg = &segment{f: f, id: id, size: int64(len(label)), closed: closed{path: path}}
	return nil
}

// abandon closes a segment in which a write failed; its whole blocks stay.
func (w *Writer) abandon() {
	if w.seg == nil {
		return
	}
	_ = w.seg.f.Truncate(w.seg.size) // a reader copes with the torn block too
	_ = w.finish()
}

// finish closes the segment.
func (w *Writer) finish() error {
	s := w.seg
	w.seg = nil
	err := errors.Join(s.f.Sync(), s.f.Close())
	s.closed.size = s.size
	w.old = append(w.old, s.closed)
	return err
}

// Close writes the current block, syncs, and unlocks the folder.
func (w *Writer) Close() error {
	err := w.Flush()
	if w.seg != nil {
		if failed := w.finish(); failed != nil && err == nil {
			err = coded(failed, "close log")
		}
	}
	if failed := w.lock.Close(); failed != nil && !errors.Is(failed, fs.ErrClosed) && err == nil {
		err = coded(failed, "close log")
	}
	return err
}
