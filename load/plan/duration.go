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

// Unit returns the length of a unit of time by its name in lower case, singular or
// plural; an empty name is a second.
func Unit(name string) (time.Duration, bool) {
	d, ok := units[name]
	if !ok {
		d, ok = units[strings.TrimSuffix(name, "s")]
	}
	return d, ok
}

// ParseDuration parses seconds, or a number with its unit: "5m", "500 ms". A
// duration that overflows becomes the longest there is. False: it is invalid.
func ParseDuration(text string) (time.Duration, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	scale, ok := Unit(strings.TrimSpace(text[len(digits):]))
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
