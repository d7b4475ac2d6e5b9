package journal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"whittle/record/capture"
)

// scan goes through the blocks of one segment by their headers. It accepts only
// a block whose header is whole and belongs to this segment.
type scan struct {
	f    *os.File
	name string
	size int64 // of the file, when it was last asked
	off  int64 // of the block to come
	// id is the segment's random number, from its label, or from the first
	// block where the label is damaged.
	id    uint64
	known bool
	// about is the writer's description of the segment's entries; nil: none.
	about []byte
	// note receives what is skipped.
	note func(Damage)
}

// begin opens a segment.
func begin(path string, note func(Damage)) (*scan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &scan{f: f, name: filepath.Base(path), note: note}, nil
}

func (s *scan) close() { s.f.Close() }

// next finds the next block, whose header begins at s.off. io.EOF: there is no
// further whole one so far; rest says what there is instead.
func (s *scan) next() (capture.Header, error) {
	info, err := s.f.Stat()
	if err != nil {
		return capture.Header{}, err
	}
	s.size = info.Size()
	if s.off == 0 {
		s.label()
	}
	if s.off >= s.size {
		return capture.Header{}, io.EOF
	}
	h, err := s.header(s.off)
	if err == nil {
		return h, nil
	}
	at, h, found := s.search(s.off + 1)
	if found != nil {
		return capture.Header{}, found
	}
	s.note(Damage{Segment: s.name, Offset: s.off, Bytes: at - s.off, Why: err.Error()})
	s.off = at
	return h, nil
}

// label reads the segment's number, and skips the label where it is sound.
func (s *scan) label() {
	var b [labelLen]byte
	if _, err := s.f.ReadAt(b[:], 0); err != nil {
		return
	}
	if s.id, s.known = parseLabel(b[:]); !s.known {
		return
	}
	s.off = labelLen
	if s.about = readAbout(b[:], s.f); s.about != nil {
		s.off += int64(len(s.about)) + sumLen
	}
}

var (
	errNoBlock = errors.New("no block begins here")
	errShort   = errors.New("the block ends before its end")
)

// header reads the header at an offset and checks that its block is complete in
// length.
func (s *scan) header(at int64) (capture.Header, error) {
	var b [capture.HeaderLen]byte
	if n, err := s.f.ReadAt(b[:], at); err != nil && (n < len(b) || !errors.Is(err, io.EOF)) {
		if errors.Is(err, io.EOF) {
			err = errShort
		}
		return capture.Header{}, err
	}
	h, ok := capture.ParseHeader(b[:])
	switch {
	case !ok, s.known && h.Segment != s.id:
		return capture.Header{}, errNoBlock
	case at+h.Size() > s.size:
		return capture.Header{}, errShort
	}
	s.id, s.known = h.Segment, true
	return h, nil
}

// search finds the next whole block from an offset on, or returns io.EOF.
func (s *scan) search(from int64) (int64, capture.Header, error) {
	buf := make([]byte, 64<<10)
	for at := from; at < s.size; {
		n, err := s.f.ReadAt(buf, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, capture.Header{}, err
		}
		for i := 0; ; i++ {
			j := bytes.Index(buf[i:n], []byte(capture.Magic))
			if j < 0 {
				break
			}
			i += j
			if h, err := s.header(at + int64(i)); err == nil {
				return at + int64(i), h, nil
			}
		}
		if n < len(buf) {
			break
		}
		at += int64(n - len(capture.Magic) + 1)
	}
	return 0, capture.Header{}, io.EOF
}

// body reads what follows the header of the block at s.off, into buf where that is
// large enough.
func (s *scan) body(h *capture.Header, buf []byte) ([]byte, error) {
	n := int(h.Size()) - capture.HeaderLen
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	_, err := s.f.ReadAt(buf, s.off+capture.HeaderLen)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf, err
}

// step goes to the end of the block at s.off.
func (s *scan) step(h *capture.Header) { s.off += h.Size() }

// skip goes past the damaged block at s.off to the next block, even if that
// begins before the damaged one claims to end.
func (s *scan) skip(h *capture.Header, why error) {
	end := s.off + h.Size()
	if at, _, err := s.search(s.off + capture.HeaderLen); err == nil {
		end = at
	}
	s.note(Damage{Segment: s.name, Offset: s.off, Bytes: end - s.off, Why: why.Error()})
	s.off = end
}

// rest is what follows the last whole block, if anything does: a block whose
// writing was cut off or is still under way.
func (s *scan) rest() (Damage, bool) {
	if s.off >= s.size {
		return Damage{}, false
	}
	return Damage{
		Segment: s.name, Offset: s.off, Bytes: s.size - s.off,
		Why: "the end is not a whole block: its writing was cut off, or is still under way",
	}, true
}

// look goes through a segment's headers.
func look(path string) (closed, error) {
	s, err := begin(path, func(Damage) {})
	if err != nil {
		return closed{}, err
	}
	defer s.close()
	c := closed{path: path}
	for {
		h, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return closed{}, err
		}
		c.add(&h)
		s.step(&h)
	}
	c.size = s.size
	if c.last.IsZero() {
		info, err := s.f.Stat()
		if err != nil {
			return closed{}, err
		}
		c.first, c.last = info.ModTime(), info.ModTime()
	}
	return c, nil
}
