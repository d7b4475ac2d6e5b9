package jsondoc

import (
	"bytes"
	"strconv"

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

// ParseDecimal reads a valid JSON number; digits are appended to buf. One whose exponent no integer
// holds is the same as another only if it is written alike.
func ParseDecimal(buf, number []byte) Decimal {
	var d Decimal
	if number[0] == '-' {
		d.Negative, number = true, number[1:]
	}
	if e := bytes.IndexAny(number, "eE"); e >= 0 {
		exp, err := strconv.ParseInt(string(number[e+1:]), 10, 62)
		if err != nil {
			d.Digits = append(buf, number...)
			return d
		}
		d.Exp, number = exp, number[:e]
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

// Approximate is a number as a float; ±Inf where it is larger.
func Approximate(number []byte) float64 {
	f, _ := strconv.ParseFloat(string(number), 64)
	return f
}
