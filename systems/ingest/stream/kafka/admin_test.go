package kafka

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"whittle/internal/fatal"
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
	c, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.MetadataMinAge(10*time.Millisecond))
	fatal.If(t, err)
	t.Cleanup(c.Close)
	return c
}

func makeTopic(t *testing.T, brokers []string, topic string, partitions int32) {
	t.Helper()
	admin := kadm.NewClient(plainClient(t, brokers))
	_, err := admin.CreateTopic(t.Context(), partitions, 1, nil, topic)
	if err == nil {
		_, err = awaitLeaders(t.Context(), admin, topic)
	}
	fatal.If(t, err)
}

// alter changes a topic's setting and waits until the broker tells of it.
func alter(t *testing.T, brokers []string, topic, key, value string) {
	t.Helper()
	admin := kadm.NewClient(plainClient(t, brokers))
	response, err := admin.AlterTopicConfigs(t.Context(),
		[]kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, topic)
	if err == nil {
		_, err = response.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for got := ""; err == nil && got != value; {
		var settings map[string]string
		settings, err = settingsOf(ctx, admin, topic)
		got = settings[key]
	}
	fatal.If(t, err)
}
