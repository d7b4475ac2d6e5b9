package jsondiff

import (
	"bytes"
	"math"
	"strconv"

	"whittle/carve/compare/jsondoc"
)

// sameNumber compares two valid JSON numbers by value, without rounding, or by
// their relative difference where tolerance is above 0.
func (j *Differ) sameNumber(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var bufA, bufB [64]byte
	x, y := jsondoc.ParseDecimal(bufA[:0], a), jsondoc.ParseDecimal(bufB[:0], b)
	if x.Negative == y.Negative && x.Exp == y.Exp && bytes.Equal(x.Digits, y.Digits) {
		return true
	}
	return j.tolerance > 0 && within(a, b, j.tolerance)
}

// within reports |a−b| ≤ tolerance·max(|a|, |b|).
func within(a, b []byte, tolerance float64) bool {
	x, errX := strconv.ParseFloat(string(a), 64)
	y, errY := strconv.ParseFloat(string(b), 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= tolerance*max(math.Abs(x), math.Abs(y))
}

// sameString compares two strings by what they stand for.
func (j *Differ) sameString(a, b *jsondoc.Document, x, y uint32) bool {
	s, t := a.Text(x), b.Text(y)
	if bytes.Equal(s, t) {
		return true
	}
	if !a.Nodes[x].Escaped && !b.Nodes[y].Escaped {
		return false
	}
	j.bufA, _ = jsondoc.Unquote(j.bufA[:0], s)
	j.bufB, _ = jsondoc.Unquote(j.bufB[:0], t)
	return bytes.Equal(j.bufA, j.bufB)
}
