package plan

import (
	"math"
	"strconv"
	"strings"
	"time"
)

var units = map[string]time.Duration{
	"": time.Second, "ms": time.Millisecond, "msec": time.Millisecond, "millisecond": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour,
}

// ParseDuration parses seconds, or a number with its unit, singular or plural: "5m",
// "500 ms". A duration that overflows becomes the longest there is. False: it is invalid.
func ParseDuration(text string) (time.Duration, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	unit := strings.TrimSpace(text[len(digits):])
	scale, ok := units[unit]
	if !ok {
		scale, ok = units[strings.TrimSuffix(unit, "s")]
	}
	f, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || math.IsNaN(f) {
		return 0, false
	}
	f *= float64(scale)
	if math.Abs(f) >= math.MaxInt64 {
		return time.Duration(math.Copysign(math.MaxInt64, f)), true
	}
	return time.Duration(math.Round(f)), true
}
