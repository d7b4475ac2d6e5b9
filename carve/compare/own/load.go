package own

import (
	"regexp"
	"strings"
)

var (
	capitals = regexp.MustCompile(`[A-Z]`)
	loads    = regexp.MustCompile(`(^|[^a-z])(load|cpu|memory|mem|heap|rss|queued?|connections|latency|threads|goroutines|metrics)($|[^a-z])`)
)

// IsLoad reports whether a place is named as what traffic moves.
func IsLoad(path string) bool {
	return loads.MatchString(strings.ToLower(capitals.ReplaceAllString(path, "_$0")))
}
