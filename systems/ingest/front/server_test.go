package front

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"whittle/systems/ingest/stream"
)

// sayings is what is logged, for many goroutines at once.
type sayings struct {
	mu   sync.Mutex // guards the following
	text bytes.Buffer
}

func (s *sayings) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *sayings) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestPanicsAreErrors has the stream panic below the handler: an operator who
// logs errors alone reads where, the client has no response that could be false,
// and nothing stays held.
func TestPanicsAreErrors(t *testing.T) {
	said := &sayings{}
	s := serve(t, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelError}))
	})
	s.stream.fate = func(n int, _ *stream.Record) error {
		if n == 0 {
			panic("as the test wants it")
		}
		return nil
	}
	const request = "POST /import HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\nhi"
	if got := s.wire(request); got != "" {
		t.Errorf("acknowledged %q", got)
	}
	for _, want := range []string{"level=ERROR", "panic serving 127.0.0.1:", "as the test wants it", "front.(*call).append"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, said)
		}
	}
	if held, underWay := s.front.appendBytes.Load(), s.front.activeRequests.Load(); held != 0 || underWay != 0 {
		t.Errorf("%d bytes and %d requests are held", held, underWay)
	}
	if a := s.post("/import", "hi", "Idempotency-Key: k"); a.Status != "accepted" {
		t.Errorf("the same event afterwards: %d %s", a.code, a.text)
	}
}
