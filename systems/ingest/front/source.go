package front

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle/systems/ingest/event"
)

// source is one who sends events: a write key of the list. Where there is no
// list, all are one source, because anybody could make up names without end.
type source struct {
	name        string
	events      [statuses]prometheus.Counter
	deadLetters prometheus.Counter

	mu    sync.Mutex // guards the following
	next  time.Time  // when a rejection is logged again
	since int        // rejections that were not logged
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

// sourceOf is the source that a write key is of.
func (f *Front) sourceOf(key string) *source {
	switch {
	case f.o.Keys == nil:
		return f.sources.of(anySource)
	case !f.o.Keys.Known(key):
		return f.sources.of(unknownSource)
	}
	return f.sources.of(event.Digest(key))
}

func (s *source) count(t *tally) {
	for status, n := range t.of {
		if n > 0 {
			s.events[status].Add(float64(n))
		}
	}
}

// rejected logs that events or a body of the source were rejected: the first
// time at once, and then no more often than the others are logged.
func (s *source) rejected(log *slog.Logger, now time.Time, n int, path, reason, letter string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Before(s.next) {
		s.since += n
		return
	}
	log.Warn("events were rejected", "source", s.name, "endpoint", path, "rejected", n, "also_since_last", s.since,
		"reason", reason, "dead_letter", letter)
	s.next, s.since = now.Add(logInterval), 0
}
