package jsondoc

import (
	"bytes"
	"strconv"

	"whittle/carve/compare/digest"
	"whittle/internal/jsonscan"
)

// Unquote appends what a quoted JSON string stands for; ok is false where quoted
// is none. Half of a surrogate pair stays itself, in the scheme of UTF-8; bytes that are
// not UTF-8 stay.
func Unquote(dst, quoted []byte) (s []byte, ok bool) {
	var scan jsonscan.Scanner
	scan.Reset(quoted, 0, 0)
	if scan.Next() != jsonscan.String || scan.Start() > 0 || scan.End() < len(quoted) {
		return dst, false
	}
	return jsonscan.AppendExact(dst, scan.Inside()), true
}

// SkipDigits skips digits and reports where they end.
func SkipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

// Decimal is the exact value of a JSON number: ±0.digits × 10^exp, digits
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
