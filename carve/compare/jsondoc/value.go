package jsondoc

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"whittle/carve/compare/digest"
)

// Unquote appends what a quoted JSON string stands for. A lone surrogate
// becomes U+FFFD, as in encoding/json; bytes that are not UTF-8 stay.
func Unquote(dst, quoted []byte) (s []byte, ok bool) {
	if len(quoted) < 2 || quoted[0] != '"' || quoted[len(quoted)-1] != '"' {
		return dst, false
	}
	b := quoted[1 : len(quoted)-1]
	for len(b) > 0 {
		plainEnd := bytes.IndexByte(b, '\\')
		if plainEnd < 0 {
			return append(dst, b...), true
		}
		dst, b = append(dst, b[:plainEnd]...), b[plainEnd:]
		n := escapeLen(b)
		if n == 0 {
			return dst, false
		}
		if n == 2 {
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
			if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
				b = b[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst, true
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// decimal is the exact value of a JSON number: ±0.digits × 10^exp, digits
// without zeros at either end. No digits: zero.
type Decimal struct {
	Negative bool
	Digits   []byte
	Exp      int64
}

// maxExponent bounds the exponents that are added up; beyond it two numbers
// are the same only if their exponents are written with the same digits.
const maxExponent = 1 << 40

// ParseDecimal reads a valid JSON number; digits are appended to buf.
func ParseDecimal(buf, number []byte) Decimal {
	var d Decimal
	if number[0] == '-' {
		d.Negative, number = true, number[1:]
	}
	if e := bytes.IndexAny(number, "eE"); e >= 0 {
		d.Exp = parseExponent(number[e+1:])
		number = number[:e]
	}
	point := bytes.IndexByte(number, '.')
	if point < 0 {
		point = len(number)
		buf = append(buf, number...)
	} else {
		buf = append(append(buf, number[:point]...), number[point+1:]...)
	}
	d.Exp += int64(point)
	trimmed := bytes.TrimLeft(buf, "0")
	d.Exp -= int64(len(buf) - len(trimmed))
	d.Digits = bytes.TrimRight(trimmed, "0")
	if len(d.Digits) == 0 {
		return Decimal{}
	}
	return d
}

func parseExponent(b []byte) int64 {
	negative := b[0] == '-'
	if negative || b[0] == '+' {
		b = b[1:]
	}
	b = bytes.TrimLeft(b, "0")
	n := int64(0)
	for _, c := range b {
		if n = n*10 + int64(c-'0'); n > maxExponent {
			n = maxExponent + int64(digest.FNV(b)>>3)
			break
		}
	}
	if negative {
		return -n
	}
	return n
}

// Approximate is a number as a float; ±Inf where it is larger.
func Approximate(number []byte) float64 {
	f, _ := strconv.ParseFloat(string(number), 64)
	return f
}
