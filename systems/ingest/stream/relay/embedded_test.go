package relay_test

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/conformance"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/ledger"
	"whittle/systems/ingest/stream/relay"
)

var _ relay.Holder = (*embedded.Log)(nil)

func log(tb testing.TB, dir, name string) *embedded.Log {
	tb.Helper()
	l, err := embedded.Open(filepath.Join(dir, name), embedded.Options{SegmentBytes: 32 << 20, ScrubRate: -1, Held: name == "log"})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func open(tb testing.TB, dir string) stream.Stream {
	tb.Helper()
	r, err := relay.Open(log(tb, dir, "log"), log(tb, dir, "sink"), relay.Options{
		Dir: filepath.Join(dir, "position"), Dead: log(tb, dir, "dead"), Keep: -1,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// TestConformance holds a relay between two embedded logs to what every stream
// must do.
func TestConformance(t *testing.T) {
	var mu sync.Mutex // guards the following
	dirs := map[stream.Stream]string{}
	in := func(t *testing.T, dir string) stream.Stream {
		s := open(t, dir)
		mu.Lock()
		defer mu.Unlock()
		dirs[s] = dir
		return s
	}
	conformance.Run(
		t, func(t *testing.T) stream.Stream { return in(t, t.TempDir()) },
		conformance.Reopens(func(t *testing.T, closed stream.Stream) stream.Stream {
			mu.Lock()
			dir := dirs[closed]
			mu.Unlock()
			return in(t, dir)
		}),
		conformance.Scale(500),
	)
}

// TestProducersOverRestarts has producers append to a relay that is closed and
// opened again: the sink ends with as many records as the log, and a move of it
// into a third log proves itself.
func TestProducersOverRestarts(t *testing.T) {
	dir := t.TempDir()
	for round := range 4 {
		r := open(t, dir)
		producing, stop := context.WithCancel(t.Context())
		producers := ledger.New(uint64(round))
		producers.Produce(producing, &enough{Stream: r, left: 200, stop: stop}, 3, 10*time.Second)
		stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if round == 1 {
			cancel() // the drain is cut off, and the next round finds what is there
		}
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
	r := open(t, dir)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	from, sink := log(t, dir, "log"), log(t, dir, "sink")
	defer from.Close(t.Context())
	defer sink.Close(t.Context())
	target := log(t, dir, "target")
	defer target.Close(t.Context())
	a, b := length(t, from), length(t, sink)
	if a != b || a < 800 {
		t.Errorf("the log has %d records and the sink %d", a, b)
	}
	moved, err := relay.Move(t.Context(), sink, target, relay.MoveOptions{Dir: filepath.Join(dir, "move")})
	if err != nil || moved.Source != moved.Target || moved.Source.Records != uint64(b) || moved.Duplicates != 0 {
		t.Errorf("moved: %+v, %v", moved, err)
	}
}

// enough stops its callers after so many records.
type enough struct {
	stream.Stream
	mu   sync.Mutex // guards the following
	left int
	stop func()
}

func (e *enough) Append(ctx context.Context, records []stream.Record) []stream.Result {
	results := e.Stream.Append(ctx, records)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left -= len(records); e.left <= 0 {
		e.stop()
	}
	return results
}

func length(t *testing.T, s stream.Stream) int {
	t.Helper()
	parts, err := s.Partitions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(parts[0].Next.Offset)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
