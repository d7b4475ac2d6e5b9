package relay

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// headless keeps no headers, and gives no response to its first call, of which it
// keeps everything.
type headless struct {
	*fakeSink
	responded bool
	unknown   map[string]int // what came in that call, once each
}

func (h *headless) Append(ctx context.Context, records []stream.Record) []stream.Result {
	bare := make([]stream.Record, len(records))
	for i, r := range records {
		bare[i] = r
		bare[i].Header = nil
	}
	results := h.fakeSink.Append(ctx, bare)
	if !h.responded {
		h.responded, h.unknown = true, map[string]int{}
		for i := range results {
			h.unknown[records[i].ID]++
			results[i] = stream.Result{Err: whittle.Errorf(whittle.DeadlineExceeded, "no response")}
		}
	}
	return results
}

// TestASinkWithoutHeadersGetsDoublesThatAreCounted: nothing can be found there,
// so the relay says that it does not know, and does not look.
func TestASinkWithoutHeadersGetsDoublesThatAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines strings.Builder
		o := Options{Limits: quick(), Dir: folder(t), NoHeaders: true, Log: textLog(&lines)}
		o.Inflight = 1
		var sink *headless
		g := openOver(t, o, func(d *fakeSink) stream.Stream {
			sink = &headless{fakeSink: d}
			return sink
		}, event("k", 0), event("k", 1))
		time.Sleep(10 * time.Second)
		s := g.Status()
		twice := sink.unknown // one or both of them, as they were read by then
		if s.Resent != uint64(len(twice)) || len(twice) == 0 || s.Deduplicated != 0 || !strings.Contains(s.Unreadable, "headers") || s.Lag != 0 {
			t.Errorf("after an outcome that was not known: %+v", s)
		}
		if it := g.drain.newItem(9, &stream.Entry{Record: event("k", 9)}); it.marked || len(it.record.Header) != 1 {
			t.Errorf("an origin for nobody: %+v", it.record.Header)
		}
		if got := counts(t, g.sinks); got["k.0"] != 1+twice["k.0"] || got["k.1"] != 1+twice["k.1"] {
			t.Errorf("at the sink: %v", got)
		}
		g.crash()
		g.again(t, o)
		mustAppend(t, g, event("k", 2))
		g.close(t)
		if got := counts(t, g.sinks); got["k.2"] == 0 || !strings.Contains(lines.String(), "may arrive twice") {
			t.Errorf("at the sink: %v\n%s", got, lines.String())
		}
	})
}
