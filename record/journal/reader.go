package journal

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"whittle"
	"whittle/record/capture"
)

// Reader reads a folder's entries, oldest first, in the order in which they
// were appended, holding one block at a time. It is for one goroutine.
type Reader struct {
	queue  queue
	seg    *scan // nil before the first segment and between two
	final  bool  // nothing is written to seg any more
	ended  bool  // seg has been read as far as it goes
	block  capture.BlockReader
	buf    []byte
	entry  capture.Entry
	number int64 // of entry
	damage damages

	// What was read: segments, their bytes but for seg's, and those of entries before
	// compression. whole is the block that entry is of.
	segments        int
	bytes, unpacked int64
	whole           Damage
}

// Open opens a folder, or one segment file, for reading, while a writer may be
// writing to it.
func Open(path string) (*Reader, error) {
	q, err := enqueue(path)
	if err != nil {
		return nil, err
	}
	return &Reader{queue: q}, nil
}

// Next returns the next entry, or io.EOF. After io.EOF it may be called again,
// and returns what a writer has written since. The entry is valid until the
// next call; whoever keeps it longer must clone it.
func (r *Reader) Next(ctx context.Context, f Filter) (*capture.Entry, error) {
	for {
		err := r.block.Next(&r.entry)
		switch {
		case err == nil:
			r.number++
			if f.entry(&r.entry) {
				return &r.entry, nil
			}
			continue
		case !errors.Is(err, io.EOF):
			r.whole.Why = err.Error()
			r.damage.add(r.whole)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.advance(&f); err != nil {
			if errors.Is(err, io.EOF) {
				return nil, io.EOF
			}
			return nil, coded(err, "read log")
		}
	}
}

// advance goes to the next block that may contain what f selects.
func (r *Reader) advance(f *Filter) error {
	if r.seg == nil {
		path, err := r.queue.next()
		if err != nil {
			return err
		}
		r.seg, err = begin(path, r.damage.add)
		if errors.Is(err, fs.ErrNotExist) {
			r.seg = nil // too old meanwhile
			return nil
		}
		if err == nil {
			r.segments++
		}
		r.final = false
		return err
	}
	h, err := r.seg.next()
	r.ended = err != nil
	if errors.Is(err, io.EOF) {
		return r.end()
	}
	if err != nil {
		return err
	}
	if !f.times(&h) {
		r.seg.step(&h)
		r.number += int64(h.Count)
		return nil
	}
	if r.buf, err = r.seg.body(&h, r.buf); err == nil {
		err = r.block.Reset(&h, r.buf)
	}
	if err != nil {
		r.seg.skip(&h, err)
		return nil
	}
	if cap(r.buf) > 8*blockBytes && len(r.buf) < blockBytes {
		r.buf = nil
	}
	r.unpacked += h.Unpacked()
	r.whole = Damage{Segment: r.seg.name, Offset: r.seg.off, Bytes: h.Size()}
	r.seg.step(&h)
	return nil
}

// Number is the position, from 1, of the last entry that Next returned, among
// all that can be read, whatever the filter selects.
func (r *Reader) Number() int64 { return r.number }

// About is the writer's description of the last entry that Next returned; nil:
// there is none, or it is damaged.
func (r *Reader) About() []byte {
	if r.seg == nil {
		return nil
	}
	return r.seg.about
}

// end handles the end of a segment. A writer begins a new one only after it has
// finished the one before, so once a newer one exists the older one is
// complete.
func (r *Reader) end() error {
	if !r.final {
		more, err := r.queue.more()
		if err != nil {
			return err
		}
		if !more {
			return io.EOF
		}
		r.final = true
		return nil
	}
	if d, ok := r.seg.rest(); ok {
		r.damage.add(d)
	}
	r.bytes += r.seg.size
	r.seg.close()
	r.seg = nil
	return nil
}

// Damages lists what was skipped so far, and what follows the last whole block
// of the current segment.
func (r *Reader) Damages() []Damage {
	all := r.damage.all[:len(r.damage.all):len(r.damage.all)]
	if r.seg != nil && r.ended {
		if d, ok := r.seg.rest(); ok {
			all = append(all, d)
		}
	}
	return all
}

// Close closes the files.
func (r *Reader) Close() error {
	r.block.Drop()
	if r.seg != nil {
		r.seg.close()
		r.seg = nil
	}
	return nil
}

// queue has the segments that are still to be read.
type queue struct {
	dir   string // empty for a single file
	ahead []named
	last  uint64 // the number of the last one taken
}

func enqueue(path string) (queue, error) {
	info, err := os.Stat(path)
	if err != nil {
		return queue{}, coded(err, "open log").WithHint("name the folder that was recorded into, or one of its " + suffix + " files")
	}
	if !info.IsDir() {
		return queue{ahead: []named{{path: path}}}, nil
	}
	q := queue{dir: path}
	more, err := q.more()
	if err != nil {
		return queue{}, coded(err, "open log")
	}
	if !more {
		// A writer that has not written yet holds its lock.
		if _, err := os.Stat(filepath.Join(path, lockName)); err != nil {
			return queue{}, whittle.Errorf(whittle.NotFound, "open log: nothing has been recorded into %s", path).
				WithHint("name a folder that has " + suffix + " files")
		}
	}
	return q, nil
}

// more reports whether another segment follows.
func (q *queue) more() (bool, error) {
	if len(q.ahead) > 0 || q.dir == "" {
		return len(q.ahead) > 0, nil
	}
	all, err := segments(q.dir)
	for i, s := range all {
		if s.number > q.last {
			q.ahead = all[i:]
			break
		}
	}
	return len(q.ahead) > 0, err
}

// next returns the path of the next segment, or io.EOF.
func (q *queue) next() (string, error) {
	if more, err := q.more(); err != nil || !more {
		if err == nil {
			err = io.EOF
		}
		return "", err
	}
	s := q.ahead[0]
	q.ahead, q.last = q.ahead[1:], s.number
	return s.path, nil
}
