package kafkatest_test

import (
	"testing"

	"whittle/stream/kafka/kafkatest"
)

// TestLife starts a broker, kills it and starts it again on the same ports.
func TestLife(t *testing.T) {
	if err := kafkatest.Missing(); err != nil {
		t.Skipf("NOT TESTED against Apache Kafka: %v", err)
	}
	b, err := kafkatest.Start(t.Context(), kafkatest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	before := b.Address()
	b.Kill()
	if err := b.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.Address() != before {
		t.Errorf("the broker moved from %s to %s", before, b.Address())
	}
}
