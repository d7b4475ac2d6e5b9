package kafka

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// random is n bytes that do not compress.
func random(n int) string {
	b := make([]byte, n)
	source := rand.NewChaCha8([32]byte{})
	source.Read(b)
	return string(b)
}

func plainClient(t *testing.T, brokers []string) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// alter changes a topic's setting.
func alter(t *testing.T, brokers []string, topic, key, value string) {
	t.Helper()
	answer, err := kadm.NewClient(plainClient(t, brokers)).AlterTopicConfigs(t.Context(),
		[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, topic)
	if err == nil {
		_, err = answer.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// produce appends a value as another program would.
func produce(t *testing.T, brokers []string, topic, value string) {
	t.Helper()
	r := plainClient(t, brokers).ProduceSync(context.Background(), &kgo.Record{Topic: topic, Value: []byte(value)})
	if err := r.FirstErr(); err != nil {
		t.Fatal(err)
	}
}
