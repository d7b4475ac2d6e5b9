package http1

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// The sets of bytes that a message may have in its places.
const (
	inToken uint8 = 1 << iota
	inTarget
	inHost
	inScheme
)

var sets = func() (t [256]uint8) {
	put := func(set uint8, chars string) {
		for i := range len(chars) {
			t[chars[i]] |= set
		}
	}
	const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	put(inToken, alphanumeric+"!#$%&'*+-.^_`|~")
	put(inHost, alphanumeric+"-._~!$&'()*+,;=%:[]")
	put(inScheme, alphanumeric+"+-.")
	for c := range t {
		if c > ' ' && c != 0x7f {
			t[c] |= inTarget
		}
	}
	return t
}()

func all[T string | []byte](s T, set uint8) bool {
	for i := range len(s) {
		if sets[s[i]]&set == 0 {
			return false
		}
	}
	return true
}

// IsToken reports whether s is a token (RFC 9110, section 5.6.2): a method or a
// field name.
func IsToken[T string | []byte](s T) bool { return len(s) > 0 && all(s, inToken) }

// IsValue reports whether s can be written as a field's value without changing
// what follows it: it has no control character but tabs.
func IsValue[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// IsTarget reports whether s stays one word on a request line.
func IsTarget[T string | []byte](s T) bool { return len(s) > 0 && all(s, inTarget) }

// controlAt returns the position of the first control character but a tab in
// b[i:], or len(b). It looks at eight bytes at once.
func controlAt(b []byte, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x8080808080808080
	)
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		del := x ^ ones*0x7f
		// The lowest marked byte is exact: a borrow marks only bytes above it.
		found := ((x-ones*' ')&^x | (del-ones)&^del) & highs
		if found == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(found) / 8
		if b[i] != '\t' {
			return i
		}
		i++
	}
	for i < len(b) && (b[i] >= ' ' && b[i] != 0x7f || b[i] == '\t') {
		i++
	}
	return i
}

// equalFold reports whether b is the text, which is in lower case, in any case.
func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// sameFold reports whether a differs from b, which is ASCII, in the case of letters at
// most: a letter beyond ASCII that is one in another case has more bytes.
func sameFold(a, b []byte) bool { return len(a) == len(b) && bytes.EqualFold(a, b) }

func blank(c byte) bool { return c == ' ' || c == '\t' }

func trim(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

// decimal reads digits and nothing else. ok is false for other bytes; fits is
// false for numbers from 10^18 on.
func decimal(b []byte) (n int64, ok, fits bool) {
	if len(b) == 0 {
		return 0, false, false
	}
	fits = true
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false, false
		}
		if fits = fits && n <= (maxLength-9)/10; fits {
			n = n*10 + int64(c-'0')
		}
	}
	return n, true, fits
}

// hexDigit returns a digit's value, or -1.
func hexDigit(c byte) int64 {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0')
	case c >= 'a' && c <= 'f':
		return int64(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int64(c-'A') + 10
	}
	return -1
}
