package kafka

import (
	"testing"

	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/conformance"
)

func TestConformance(t *testing.T) {
	address := []string{realBroker(t).Address()}
	open := func(t *testing.T, topic string) stream.Stream {
		t.Helper()
		l, err := Open(t.Context(), Options{Brokers: address, Topic: topic})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	conformance.Run(t, func(t *testing.T) stream.Stream {
		topic := topicFor(t)
		makeTopic(t, address, topic, 3)
		return open(t, topic)
	},
		conformance.Reopens(func(t *testing.T, closed stream.Stream) stream.Stream {
			return open(t, closed.(*Log).o.Topic)
		}))
}
