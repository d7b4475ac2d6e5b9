package form

import (
	"slices"
	"strings"
	"unicode"
)

var loads = []string{"load", "cpu", "memory", "mem", "heap", "rss", "queue", "queued", "connections", "latency", "threads", "goroutines", "metrics"}

// IsLoad reports whether a place is named as what traffic moves.
func IsLoad(path string) bool {
	word := func(s string) bool { return slices.Contains(loads, strings.ToLower(s)) }
	start := 0
	for i, r := range path {
		switch {
		case !unicode.IsLetter(r), unicode.IsUpper(r):
			if word(path[start:i]) {
				return true
			}
			if start = i; !unicode.IsLetter(r) {
				start = i + len(string(r))
			}
		}
	}
	return word(path[start:])
}
