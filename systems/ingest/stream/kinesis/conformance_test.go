package kinesis

import (
	"fmt"
	"testing"

	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/conformance"
)

func TestConformance(t *testing.T) {
	for aggregate, compact := range map[int]bool{0: false, 50 << 10: true} {
		t.Run(fmt.Sprint("aggregate ", aggregate, ", compact ", compact), func(t *testing.T) {
			again := func(t *testing.T, closed stream.Stream) stream.Stream {
				return open(t, Options{Stream: closed.(*Stream).o.Stream, Aggregate: aggregate, Compact: !compact})
			}
			conformance.Run(t, func(t *testing.T) stream.Stream {
				return open(t, Options{Stream: newStream(t, 3), Aggregate: aggregate, Compact: compact})
			}, conformance.Reopens(again), conformance.Scale(fewer(2000)))
		})
	}
}
