package kafka

import (
	"context"
	"testing"
	"time"

	"whittle/systems/ingest/stream/ledger"
)

// The broker is killed twice while producers are at work, the second time after
// it stood still for a while with requests on their way.
func TestBrokerKilled(t *testing.T) {
	broker := realBroker(t)
	l := openAt(t, Options{Brokers: []string{broker.Address()}, Create: &Create{Partitions: 6}, DeliveryTimeout: 20 * time.Second})
	book := ledger.New(1)
	ctx, stop := context.WithCancel(t.Context())
	produced := make(chan struct{})
	go func() {
		book.Produce(ctx, l, 8, 20*time.Second)
		close(produced)
	}()
	defer func() { stop(); <-produced }()
	reach := func(n int) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for want := book.Acknowledged() + n; book.Acknowledged() < want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d acknowledged, %d refused, %d unknown: no progress", book.Acknowledged(), book.Refused(), book.Unknown())
			}
		}
	}
	for _, pause := range []bool{false, true} {
		reach(1000)
		if pause {
			if err := broker.Pause(); err != nil {
				t.Fatal(err)
			}
		}
		broker.Kill()
		if err := broker.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reach(1000)
	stop()
	<-produced
	report, err := book.Audit(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if err := report.Err(); err != nil {
		t.Error(err)
	}
}
