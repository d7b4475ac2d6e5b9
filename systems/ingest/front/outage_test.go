package front

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// TestAnOutageIsTwoLines: however many requests meet it, whether the stream says
// so beforehand or fails.
func TestAnOutageIsTwoLines(t *testing.T) {
	var log bytes.Buffer
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	s := serve(t, func(o *Options) {
		o.Log, o.Seen = slog.New(slog.NewTextHandler(&log, nil)), nil
		o.Now = func() time.Time { return time.Unix(0, now.Load()) }
	})
	down := stream.Capacity{Err: whittle.Errorf(whittle.Unavailable, "kafka does not respond")}
	up := s.stream.Capacity()
	send := func(want int) {
		t.Helper()
		now.Add(int64(time.Second))
		if a := s.post("/v1/track", track); a.code != want {
			t.Errorf("%d %s, want %d", a.code, a.text, want)
		}
	}
	send(200)
	for range 2 {
		s.stream.setCapacity(down)
		for range 60 {
			send(503)
		}
		s.stream.setCapacity(up)
		s.stream.mu.Lock()
		s.stream.fate = func(int, *stream.Record) error { return fails(whittle.DeadlineExceeded) }
		s.stream.mu.Unlock()
		for range 60 {
			send(504)
		}
		s.stream.mu.Lock()
		s.stream.fate = nil
		s.stream.mu.Unlock()
		for range 20 {
			send(200)
		}
	}
	const begins, ends = "keeps no events", "keeps events again"
	if text := log.String(); strings.Count(text, begins) != 2 || strings.Count(text, ends) != 2 || strings.Count(text, "\n") != 4 || !strings.Contains(text, "after=2m0s refused=120") {
		t.Errorf("%s", text)
	}
}
