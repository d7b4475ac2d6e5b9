package kinesis

import (
	"fmt"
	"testing"

	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/conformance"
)

func TestConformance(t *testing.T) {
	for _, aggregate := range []int{0, 50 << 10} {
		t.Run(fmt.Sprint("aggregate ", aggregate), func(t *testing.T) {
			again := func(t *testing.T, closed stream.Stream) stream.Stream {
				return open(t, Options{Stream: closed.(*Stream).o.Stream, Aggregate: aggregate})
			}
			conformance.Run(t, func(t *testing.T) stream.Stream {
				return open(t, Options{Stream: newStream(t, 3), Aggregate: aggregate})
			}, conformance.Reopens(again), conformance.Scale(fewer(2000)))
		})
	}
}
