package jsonscan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// escapes has what the byte behind a backslash stands for, 0 for none.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// short has the byte by which a byte is escaped, 0 for none.
var short = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

const hexDigits = "0123456789abcdef"

// unhex has the values of the hexadecimal digits, 255 for other bytes.
var unhex = func() (t [256]byte) {
	for i := range t {
		t[i] = 255
	}
	for v, c := range []byte(hexDigits) {
		t[c] = byte(v)
		t[bytes.ToUpper([]byte{c})[0]] = byte(v)
	}
	return t
}()

// unit is the UTF-16 code unit of the \u escape that begins b, −1 for none.
func unit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	v := rune(0)
	for _, c := range b[2:6] {
		if unhex[c] > 15 {
			return -1
		}
		v = v<<4 | rune(unhex[c])
	}
	return v
}

// AppendText appends what the inside of a JSON string stands for. Half of
// a surrogate pair becomes U+FFFD, as in encoding/json, and whole is then false.
// Bytes that are not UTF-8 stay, and so does a backslash that begins no escape.
func AppendText(dst, inside []byte) (text []byte, whole bool) {
	return appendText(dst, inside, false)
}

// AppendExact is AppendText, but for half of a surrogate pair, which becomes its three
// bytes by the scheme of UTF-8 (WTF-8), so that different texts stay different.
func AppendExact(dst, inside []byte) []byte {
	dst, _ = appendText(dst, inside, true)
	return dst
}

func appendText(dst, inside []byte, halves bool) (text []byte, whole bool) {
	b := inside
	whole = true
	for {
		n := bytes.IndexByte(b, '\\')
		if n < 0 {
			return append(dst, b...), whole
		}
		dst, b = append(dst, b[:n]...), b[n:]
		if len(b) > 1 && escapes[b[1]] != 0 {
			dst, b = append(dst, escapes[b[1]]), b[2:]
			continue
		}
		r := unit(b)
		if r < 0 {
			dst, b = append(dst, '\\'), b[1:]
			continue
		}
		b = b[6:]
		if utf16.IsSurrogate(r) {
			half := r
			if r = utf16.DecodeRune(half, unit(b)); r != utf8.RuneError {
				b = b[6:]
			} else if whole = false; halves {
				dst = append(dst, 0xe0|byte(half>>12), 0x80|byte(half>>6)&0x3f, 0x80|byte(half)&0x3f)
				continue
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
}

// AppendInside appends a text as the inside of a JSON string: quotes,
// backslashes and control characters are escaped, all else stays.
func AppendInside[T string | []byte](dst []byte, text T) []byte {
	from := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		if s := short[c]; s != 0 {
			dst = append(dst, '\\', s)
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		from = i + 1
	}
	return append(dst, text[from:]...)
}

// AppendString appends a text as a JSON string; see AppendInside.
func AppendString[T string | []byte](dst []byte, text T) []byte {
	return append(AppendInside(append(dst, '"'), text), '"')
}
