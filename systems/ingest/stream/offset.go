package stream

import "strings"

// CompareOffsets orders offsets that are decimal numbers of any length; empty is
// before all.
func CompareOffsets(a, b string) int {
	if len(a) != len(b) {
		if len(a) < len(b) {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

// NextOffset is the decimal number after s: 0 after the empty one.
func NextOffset(s string) string {
	if s == "" {
		return "0"
	}
	b := []byte(s)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != '9' {
			b[i]++
			return string(b)
		}
		b[i] = '0'
	}
	return "1" + string(b)
}
