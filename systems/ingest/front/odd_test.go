package front

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"whittle"
	"whittle/systems/ingest/stream"
)

// TestAnIDThatIsNoneIsVisible: events that share what their program sends for no id are
// duplicates, and that shows.
func TestAnIDThatIsNoneIsVisible(t *testing.T) {
	for id, none := range map[string]bool{
		"null": true, "undefined": true, "NaN": true, "[object Object]": true, "00000000-0000-0000-0000-000000000000": true, "0": true, "-": true,
		"m1": false, "order-0": false, "b7e2a1f0-0000-4000-8000-000000000000": false,
	} {
		said := &sayings{}
		s := serve(t, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(said, nil)) })
		for range 3 {
			s.post("/v1/track", strings.ReplaceAll(track, "m1", id))
		}
		want := map[bool]float64{true: 2}[none]
		if n := testutil.ToFloat64(s.front.metrics.noID.WithLabelValues(anySource)); n != want {
			t.Errorf("%s: %v counted, want %v", id, n, want)
		}
		if (s.front.Warning() != "") != none || strings.Contains(said.String(), "messageId that is none") != none {
			t.Errorf("%s: warning %q, log %s", id, s.front.Warning(), said)
		}
	}
}

// TestWhoseFaultItIs: what is not the event's fault is for the client to send again, and says
// what the sink calls it; the server is not ready while it lasts.
func TestWhoseFaultItIs(t *testing.T) {
	for code, want := range map[whittle.Code]int{whittle.Unavailable: 503, whittle.Invalid: 400} {
		s := serve(t, nil)
		refusal := &stream.Refusal{Name: "INVALID_TIMESTAMP", Err: errors.New("of 10.0.0.1")}
		s.stream.fate = func(int, *stream.Record) error { return whittle.Errorf(code, "append: %w", refusal) }
		a := s.post("/v1/track", track)
		if a.code != want || !strings.Contains(a.text, ": INVALID_TIMESTAMP") || strings.Contains(a.text, "10.0.0.1") {
			t.Errorf("%v: %d %s", code, a.code, a.text)
		}
		s.stream.setCapacity(stream.Capacity{Free: 1 << 30, Failing: refusal})
		if s.front.Ready() == nil {
			t.Error("ready while the sink refuses everything")
		}
		s.stream.fate = nil
		if a := s.post("/v1/track", track); a.code != 200 {
			t.Errorf("afterwards: %d %s", a.code, a.text)
		}
	}
}
