package kafka

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/systems/ingest/stream/kafka/kafkatest"
)

// shared is the one real broker of this package's tests, started by the first
// that asks for it.
var shared struct {
	once   sync.Once
	broker *kafkatest.Broker
	err    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.broker != nil {
		shared.broker.Close()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// realBroker returns the shared broker, or skips where the machine cannot run it.
func realBroker(t *testing.T) *kafkatest.Broker {
	t.Helper()
	if kafkatest.Missing() != nil {
		needs.Missing(t, "a real Apache Kafka", kafkatest.Install)
	}
	shared.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		shared.broker, shared.err = kafkatest.Start(ctx, kafkatest.Options{})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.broker
}

// topicFor is a topic name that belongs to the test.
func topicFor(t *testing.T) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '#' || r == ' ' {
			return '.'
		}
		return r
	}, fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano()))
}

// openAt opens a stream, closed with the test, on a topic of the test's own
// where none is named. Topics are made beforehand: Open takes longer for it.
func openAt(t *testing.T, o Options) *Log {
	t.Helper()
	if o.Topic == "" {
		o.Topic = topicFor(t)
		if o.Create == nil {
			o.Create = &Create{Partitions: 3}
		}
	}
	if o.Create != nil {
		makeTopic(t, o.Brokers, o.Topic, o.Create.Partitions)
	}
	l, err := Open(t.Context(), o)
	fatal.If(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		l.Close(ctx)
	})
	return l
}
