package front

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// source is one who sends events: a write key of the list. Where there is no
// list, all are one source, because anybody could make up names without end.
type source struct {
	name        string
	events      [statuses]prometheus.Counter
	deadLetters prometheus.Counter
	rejections  throttle // of the log
}

// The names of sources that are no write key.
const (
	anySource     = "any"     // there is no list
	unknownSource = "unknown" // no write key of the list was shown
)

// sources are the ones that have been seen, by name.
type sources struct {
	known   sync.Map // of *source
	metrics *metrics
}

func (s *sources) of(name string) *source {
	if found, ok := s.known.Load(name); ok {
		return found.(*source)
	}
	made := &source{name: name, deadLetters: s.metrics.deadLetters.WithLabelValues(name)}
	for status, text := range statusNames {
		made.events[status] = s.metrics.sources.WithLabelValues(name, text)
	}
	first, _ := s.known.LoadOrStore(name, made)
	return first.(*source)
}

// stranger is the source of those who have shown no write key.
func (f *Front) stranger() *source {
	if f.o.Keys == nil {
		return f.sources.of(anySource)
	}
	return f.sources.of(unknownSource)
}

// identify takes the write key as the call's. It returns false where it is not in
// the list.
func (c *call) identify(key string) bool {
	if c.f.o.Keys == nil {
		return true
	}
	name := c.f.o.Keys.source(key)
	if name == "" {
		return false
	}
	c.source = c.f.sources.of(name)
	return true
}

func (s *source) count(t *tally) {
	for status, n := range t.of {
		if n > 0 {
			s.events[status].Add(float64(n))
		}
	}
}

// maxLoggedPath is how much of a path the log shows, which anybody may make up.
const maxLoggedPath = 128

// rejected logs that events or a body of the source were rejected: the first
// time at once, and then no more often than the others are logged.
func (s *source) rejected(log *slog.Logger, now time.Time, n int, path, reason, letter string) {
	if since, ok := s.rejections.admit(now, n); ok {
		log.Warn("events were rejected", "source", s.name, "endpoint", path[:min(len(path), maxLoggedPath)], "rejected", n, "also_since_last", since,
			"reason", reason, "dead_letter", letter)
	}
}
