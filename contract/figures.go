package contract

import (
	"strconv"

	"whittle/internal/units"
)

// About writes an estimated share: "about 12 %", "nearly every one", "hardly one".
func About(share float64) string {
	switch {
	case share >= 0.95:
		return "nearly every one"
	case share <= 0:
		return "hardly one"
	}
	return "about " + units.Percent(share)
}

// Count writes a number of things: "1 field", "2 fields".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
