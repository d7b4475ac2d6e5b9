package jsonscan

import (
	"encoding/binary"
	"math/bits"
)

// Where a token cannot be read, its end is one of these.
const (
	wrong = -int(Syntax)
	cut   = -int(Truncated)
)

func reason(end int) Error { return Error(-end) }

const (
	ones     = 0x0101010101010101
	tops     = 0x8080808080808080
	quotes   = '"' * ones
	slashes  = '\\' * ones
	controls = 0x20 * ones
)

// space is where the next byte is that is no space, from i on.
func space(b []byte, i int) int {
	if i < len(b) && b[i] > ' ' {
		return i // nearly always: JSON is sent without spaces
	}
	return spaces(b, i)
}

func spaces(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// Space is where the next byte is that is no space of JSON, from i on; len(b)
// where all of them are.
func Space(b []byte, i int) int { return space(b, i) }

// quoted is where the string ends whose opening quote is at i; it sets escaped
// where there are escapes. Eight bytes are read at a time.
func (s *Scanner) quoted(i int) int {
	b, high := s.src, uint64(0)
	for i++; i < len(b); {
		if i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			high |= x
			found := special(x) & tops
			if found == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(found) >> 3
		}
		c := b[i]
		if c == '"' {
			s.high |= high
			return i + 1
		}
		high |= uint64(c)
		switch {
		case c == '\\':
			n := escape(b[i:])
			if n < 0 {
				return n
			}
			i += n
			s.escaped = true
		case c < ' ':
			return wrong
		default:
			i++
		}
	}
	return cut
}

// special has the top bit of each byte set that is a quote, a backslash or a control
// character, and perhaps of some behind the first such. Other bits say nothing.
func special(x uint64) uint64 {
	return (((x ^ quotes) - ones) | ((x ^ slashes) - ones) | (x - controls)) &^ x
}

// escape is the length of the escape that begins b, or why it is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return cut
	}
	if b[1] != 'u' {
		if escapes[b[1]] == 0 {
			return wrong
		}
		return 2
	}
	for _, c := range b[2:min(6, len(b))] {
		if unhex[c] > 15 {
			return wrong
		}
	}
	if len(b) < 6 {
		return cut
	}
	return 6
}

func word(b []byte, i int, w string) int {
	if end := i + len(w); end <= len(b) {
		if string(b[i:end]) == w {
			return end
		}
		return wrong
	}
	if w[:len(b)-i] == string(b[i:]) {
		return cut
	}
	return wrong
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i
}

// number is where the number at i ends.
func number(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	whole := digits(b, i)
	if whole == i {
		return missing(b, i)
	}
	if b[i] == '0' && whole > i+1 {
		return wrong
	}
	i = whole
	if i < len(b) && b[i] == '.' {
		end := digits(b, i+1)
		if end == i+1 {
			return missing(b, end)
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
			return missing(b, end)
		}
		i = end
	}
	return i
}

// missing is why there is no digit at i.
func missing(b []byte, i int) int {
	if i == len(b) {
		return cut
	}
	return wrong
}

// IsNumber reports whether b is a JSON number and nothing else.
func IsNumber(b []byte) bool { return len(b) > 0 && number(b, 0) == len(b) }
