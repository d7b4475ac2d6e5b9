package event

import (
	"encoding/binary"
	"math/bits"
)

// span is a part of the body, in bytes. The zero value is none: no part that
// is kept begins where the body does.
type span struct{ from, to uint32 }

func (s span) none() bool { return s.to == 0 }

func (s span) len() int { return int(s.to - s.from) }

func (s span) of(b []byte) []byte { return b[s.from:s.to] }

// scanner goes once over a JSON text (RFC 8259), without recursion and
// without building anything.
type scanner struct {
	b []byte
	// open has the closing byte of each container around the place in hand.
	open []byte
	// deep is how many containers have been open at once.
	deep int
	// high has gathered the top bits of the strings' bytes: where none is set,
	// all of them are ASCII. A few bytes behind a string may be among them.
	high uint64
}

const (
	ones     = 0x0101010101010101
	tops     = 0x8080808080808080
	quotes   = '"' * ones
	slashes  = '\\' * ones
	controls = 0x20 * ones
)

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func skipSpace(b []byte, i int) int {
	if i < len(b) && b[i] > ' ' {
		return i // nearly always: JSON is sent without spaces
	}
	return skipSpaces(b, i)
}

func skipSpaces(b []byte, i int) int {
	for i < len(b) && space(b[i]) {
		i++
	}
	return i
}

// skip responses where the value at i ends, −1 where none is there. base is how
// many containers are around it.
func (s *scanner) skip(i, base int) int {
	b := s.b
	s.open = s.open[:0]
	for i < len(b) {
		switch c := b[i]; c {
		case '"':
			i, _ = s.str(i)
		case '{', '[':
			s.open = append(s.open, c+2) // '}' and ']' come two after
			s.deep = max(s.deep, base+len(s.open))
			i = skipSpace(b, i+1)
			if i < len(b) && b[i] == c+2 {
				s.open = s.open[:len(s.open)-1]
				i++
				break
			}
			if c == '{' {
				i = s.key(i)
			}
			if i < 0 {
				return -1
			}
			continue
		default:
			i = scalar(b, i)
		}
		if i < 0 {
			return -1
		}
		end, more := s.after(i)
		if !more {
			return end
		}
		i = end
	}
	return -1
}

// after goes on behind a value: to the next value where more is set, else to
// the end of all that was open, −1 where the text breaks off or is wrong.
func (s *scanner) after(i int) (at int, more bool) {
	b := s.b
	for n := len(s.open); n > 0; n = len(s.open) {
		i = skipSpace(b, i)
		if i >= len(b) {
			return -1, false
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
			if s.open[n-1] == '}' {
				i = s.key(i)
			}
			return i, i >= 0
		case s.open[n-1]:
			s.open = s.open[:n-1]
			i++
		default:
			return -1, false
		}
	}
	return i, false
}

// key responses where the value behind the key at i begins.
func (s *scanner) key(i int) int {
	b := s.b
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	if i, _ = s.str(i); i < 0 {
		return -1
	}
	return colon(b, i)
}

func colon(b []byte, i int) int {
	if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
		return -1
	}
	return skipSpace(b, i+1)
}

// str responses where the string whose opening quote is at i ends, eight bytes
// at a time, and whether it has escapes.
func (s *scanner) str(i int) (end int, escaped bool) {
	b, high := s.b, uint64(0)
	for i++; i < len(b); {
		if i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			high |= x
			// The lowest top bit that stays is that of the first byte which is
			// a quote, a backslash or a control character.
			q, e := x^quotes, x^slashes
			found := ((q-ones)&^q | (e-ones)&^e | (x-controls)&^x) & tops
			if found == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(found) >> 3
		}
		c := b[i]
		if c == '"' {
			s.high |= high
			return i + 1, escaped
		}
		high |= uint64(c)
		switch {
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return -1, false
			}
			i, escaped = i+n, true
		case c < ' ':
			return -1, false
		default:
			i++
		}
	}
	return -1, false
}

// scalar responses where the number or word at i ends.
func scalar(b []byte, i int) int {
	switch b[i] {
	case 't':
		return word(b, i, "true")
	case 'f':
		return word(b, i, "false")
	case 'n':
		return word(b, i, "null")
	}
	return number(b, i)
}

func word(b []byte, i int, w string) int {
	if end := i + len(w); end <= len(b) && string(b[i:end]) == w {
		return end
	}
	return -1
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

func number(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	whole := digits(b, i)
	if whole == i || b[i] == '0' && whole > i+1 {
		return -1
	}
	i = whole
	if i < len(b) && b[i] == '.' {
		end := digits(b, i+1)
		if end == i+1 {
			return -1
		}
		i = end
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		end := digits(b, i)
		if end == i {
			return -1
		}
		i = end
	}
	return i
}
