package kafka

import (
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/streamtest"
)

// The broker is killed twice while producers are at work, the second time after
// it stood still for a while with requests on their way. A short run has the second only.
func TestBrokerKilled(t *testing.T) {
	broker := realBroker(t)
	l := openAt(t, Options{Brokers: []string{broker.Address()}, Create: &Create{Partitions: 6}, DeliveryTimeout: 20 * time.Second})
	book := streamtest.NewLedger(1)
	book.During(t, l, 8, 20*time.Second, func() {
		for _, pause := range []bool{false, true} {
			if !pause && testing.Short() {
				continue
			}
			book.Reach(t, 500)
			if pause {
				fatal.If(t, broker.Pause())
			}
			broker.Kill()
			fatal.If(t, broker.Restart(t.Context()))
		}
		book.Reach(t, 500)
	})
	book.Audit(t, readAll(t, l))
}

// TestConformance holds a topic of a real broker to what every stream must do.
func TestConformance(t *testing.T) {
	address := []string{realBroker(t).Address()}
	open := func(t *testing.T, topic string) stream.Stream {
		t.Helper()
		l, err := Open(t.Context(), Options{Brokers: address, Topic: topic})
		fatal.If(t, err)
		return l
	}
	streamtest.Run(t, streamtest.Suite{
		Open: func(t *testing.T) stream.Stream {
			topic := topicFor(t)
			makeTopic(t, address, topic, 3)
			return open(t, topic)
		},
		Reopen: func(t *testing.T, closed stream.Stream) stream.Stream { return open(t, closed.(*Log).o.Topic) },
		Read:   readAll,
	})
}
