package contract

import (
	"fmt"
	"strconv"
)

// Percent writes a share from 0 to 1 in whole percents, below ten of them with
// one digit after the point, "7.5 %", and no less than "0.01 %".
func Percent(share float64) string {
	switch {
	case share > 0 && share < 0.0001:
		return "0.01 %"
	case share < 0.01:
		return fmt.Sprintf("%.2g %%", 100*share)
	case share < 0.0995:
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// About writes an estimated share: "about 12 %", "nearly every one", "hardly one".
func About(share float64) string {
	switch {
	case share >= 0.95:
		return "nearly every one"
	case share <= 0:
		return "hardly one"
	}
	return "about " + Percent(share)
}

// Count writes a number of things: "1 field", "2 fields".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// Thousands writes a count with its thousands apart: "12,000".
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
