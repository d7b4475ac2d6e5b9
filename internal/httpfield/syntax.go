package httpfield

import (
	"bytes"
	"strings"
)

// tokens has the bytes of a token (RFC 9110, section 5.6.2).
var tokens = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0 && c > 0
	}
	return t
}()

// IsToken reports whether s is a token (RFC 9110, section 5.6.2).
func IsToken[T string | []byte](s T) bool {
	for i := range len(s) {
		if !tokens[s[i]] {
			return false
		}
	}
	return len(s) > 0
}

// IsValue reports whether a field's value can be written without changing what
// follows it.
func IsValue[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// IsTarget reports whether a request target stays one word on a request line.
func IsTarget(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s != ""
}

// ParseLength reads a Content-Length: at most 18 digits and nothing else.
func ParseLength(s string) (int64, bool) {
	if len(s) == 0 || len(s) > 18 {
		return 0, false
	}
	var n int64
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}

// ParseChunkSize reads the size line of a chunk, given without its end. Extensions
// are passed over, but not with control characters in them.
func ParseChunkSize(line []byte) (size int64, ok bool) {
	digits := line
	if j := bytes.IndexByte(line, ';'); j >= 0 {
		digits = bytes.TrimRight(line[:j], " \t")
		if !IsValue(line[j:]) {
			return 0, false
		}
	}
	if len(digits) == 0 || len(digits) > 15 {
		return 0, false
	}
	for _, c := range digits {
		v := unhex(c)
		if v < 0 {
			return 0, false
		}
		size = size<<4 | int64(v)
	}
	return size, true
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
