package nats

import (
	"fmt"
	"testing"

	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/conformance"
)

func TestConformance(t *testing.T) {
	open := func(t *testing.T, o Options) stream.Stream {
		t.Helper()
		l, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	again := conformance.Reopens(func(t *testing.T, closed stream.Stream) stream.Stream {
		return open(t, closed.(*Log).o)
	})
	t.Run("embedded", func(t *testing.T) {
		conformance.Run(t, func(t *testing.T) stream.Stream {
			return open(t, Options{Embedded: &Embedded{Dir: t.TempDir()}, Stream: "events"})
		}, again)
	})
	t.Run("remote", func(t *testing.T) {
		url := startRemote(t).url()
		n := 0
		conformance.Run(t, func(t *testing.T) stream.Stream {
			n++
			return open(t, Options{URL: url, Stream: fmt.Sprint("events", n), Create: &Create{}})
		}, again)
	})
}
