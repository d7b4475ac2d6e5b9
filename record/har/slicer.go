package har

import (
	"bufio"
	"errors"
	"io"
)

// errSyntax is the error of unexpected JSON.
var errSyntax = errors.New("it is not JSON as a HAR has it")

// slicer splits a JSON text into values while holding one of them. It checks
// that brackets and strings end; a value's contents are checked by its decoder.
type slicer struct {
	r   *bufio.Reader
	off int64
}

// peek returns the next byte that is no white space, without consuming it.
func (s *slicer) peek() (byte, error) {
	for {
		b, err := s.r.ReadByte()
		if err != nil {
			return 0, ended(err)
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			s.off++
			continue
		}
		return b, s.r.UnreadByte()
	}
}

// expect consumes one byte.
func (s *slicer) expect(want byte) error {
	got, err := s.peek()
	if err != nil {
		return err
	}
	if got != want {
		return errSyntax
	}
	return s.take()
}

func (s *slicer) take() error {
	_, err := s.r.Discard(1)
	s.off++
	return err
}

// more takes what stands before an object's or array's next element: false at
// the end, which it takes.
func (s *slicer) more(first bool, end byte) (bool, error) {
	b, err := s.peek()
	switch {
	case err != nil:
		return false, err
	case b == end:
		return false, s.take()
	case first:
		return true, nil
	}
	return true, s.expect(',')
}

// enter goes into an object as far as behind the name of a member, false where
// it has none of that name.
func (s *slicer) enter(name string) (bool, error) {
	if err := s.expect('{'); err != nil {
		return false, err
	}
	for first := true; ; first = false {
		if more, err := s.more(first, '}'); err != nil || !more {
			return false, err
		}
		if b, err := s.peek(); err != nil || b != '"' {
			return false, errors.Join(errSyntax, err)
		}
		key, _, err := s.value(nil, len(name)+2)
		if err != nil {
			return false, err
		}
		if err := s.expect(':'); err != nil {
			return false, err
		}
		if string(key) == `"`+name+`"` {
			return true, nil
		}
		if _, _, err := s.value(nil, 0); err != nil {
			return false, err
		}
	}
}

// value takes one value, of which it keeps at most most bytes behind kept, and
// says whether there were more.
func (s *slicer) value(kept []byte, most int) (_ []byte, long bool, err error) {
	if _, err := s.peek(); err != nil {
		return kept, false, err
	}
	var v extent
	for {
		window, err := s.r.Peek(max(1, s.r.Buffered()))
		if len(window) == 0 {
			if v.bare() && errors.Is(err, io.EOF) {
				return kept, long, nil
			}
			return kept, long, ended(err)
		}
		n, done := v.scan(window)
		if v.broken {
			return kept, long, errSyntax
		}
		if fits := min(n, most-len(kept)); fits > 0 {
			kept = append(kept, window[:fits]...)
			long = long || fits < n
		} else {
			long = long || n > 0
		}
		if _, err := s.r.Discard(n); err != nil {
			return kept, long, err
		}
		s.off += int64(n)
		if done {
			return kept, long, nil
		}
	}
}

// ended says that a text that ends is cut off.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// extent finds where a value ends.
type extent struct {
	depth   int
	quoted  bool
	escaped bool
	begun   bool
	broken  bool
}

// bare says whether it is within a number or a word, which end without a sign.
func (v *extent) bare() bool { return v.begun && v.depth == 0 && !v.quoted }

// scan takes more of a value and says how many bytes belong to it, and whether
// it ends there.
func (v *extent) scan(b []byte) (n int, done bool) {
	for i, c := range b {
		if v.quoted {
			switch {
			case v.escaped:
				v.escaped = false
			case c == '\\':
				v.escaped = true
			case c == '"':
				if v.quoted = false; v.depth == 0 {
					return i + 1, true
				}
			}
			continue
		}
		switch c {
		case '"':
			if v.bare() {
				v.broken = true
				return i, true
			}
			v.quoted = true
		case '{', '[':
			if v.bare() {
				v.broken = true
				return i, true
			}
			v.depth++
		case '}', ']':
			if v.depth == 0 {
				v.broken = !v.begun
				return i, true
			}
			if v.depth--; v.depth == 0 {
				return i + 1, true
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if v.depth == 0 {
				v.broken = !v.begun
				return i, true
			}
		}
		v.begun = true
	}
	return len(b), false
}
