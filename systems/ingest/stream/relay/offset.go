package relay

import "strings"

// compareOffsets orders decimal numbers of any length; empty is before all.
func compareOffsets(a, b string) int {
	if len(a) != len(b) {
		if len(a) < len(b) {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

// following is the decimal number after s: 0 after the empty one.
func following(s string) string {
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
