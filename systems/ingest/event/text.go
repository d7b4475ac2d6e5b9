package event

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// escapeLen is the length of the escape at the start of b, 0 for none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unquote appends what a scanned string means. whole is false when half
// a surrogate pair stands alone in it; it becomes U+FFFD.
func unquote(dst, quoted []byte) (text []byte, whole bool) {
	b := quoted[1 : len(quoted)-1]
	whole = true
	for {
		n := bytes.IndexByte(b, '\\')
		if n < 0 {
			return append(dst, b...), whole
		}
		dst, b = append(dst, b[:n]...), b[n:]
		if b[1] != 'u' {
			dst, b = append(dst, escapes[b[1]]), b[2:]
			continue
		}
		r, _ := hex4(b[2:])
		b = b[6:]
		if utf16.IsSurrogate(r) {
			second := rune(-1)
			if len(b) > 1 && b[0] == '\\' && b[1] == 'u' {
				second, _ = hex4(b[2:])
			}
			if r = utf16.DecodeRune(r, second); r == utf8.RuneError {
				whole = false
			} else {
				b = b[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends s as a JSON string.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
