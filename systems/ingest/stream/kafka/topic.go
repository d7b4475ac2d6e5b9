package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"whittle"
	"whittle/systems/ingest/stream"
)

// traits are what the stream must know of its topic.
type traits struct {
	partitions int32
	maxBatch   int // bytes, the topic's max.message.bytes
}

const (
	keyMaxMessage = "max.message.bytes"
	keyCleanup    = "cleanup.policy"
	keyMinInSync  = "min.insync.replicas"
	// defaultMaxMessage is Kafka's default of max.message.bytes, taken where the
	// brokers do not let us ask.
	defaultMaxMessage = 1048588
)

// lookUp finds the topic, makes it where that is asked for, and refuses one
// that would not keep what it acknowledged.
func lookUp(ctx context.Context, admin *kadm.Client, o *Options) (traits, error) {
	partitions, err := countPartitions(ctx, admin, o.Topic)
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		if o.Create == nil {
			return traits{}, whittle.Errorf(whittle.NotFound, "Kafka has no topic %q", o.Topic).
				WithHint("create it, with three replicas and min.insync.replicas=2, or let it be created (--kafka-create)")
		}
		partitions, err = create(ctx, admin, o.Topic, *o.Create)
	}
	if err != nil {
		return traits{}, unreachable(ctx, "look up Kafka topic "+o.Topic, err)
	}
	settings, err := settingsOf(ctx, admin, o.Topic)
	if err != nil {
		return traits{}, err
	}
	if strings.Contains(settings[keyCleanup], "compact") {
		return traits{}, whittle.Errorf(whittle.FailedPrecondition, "Kafka topic %q is compacted: it forgets all but a key's last record", o.Topic).
			WithHint("cleanup.policy=delete")
	}
	t := traits{partitions: partitions, maxBatch: defaultMaxMessage}
	if v, err := strconv.Atoi(settings[keyMaxMessage]); err == nil && v > 0 {
		t.maxBatch = v
	}
	return t, nil
}

// countPartitions is kerr.UnknownTopicOrPartition where there is no such topic.
func countPartitions(ctx context.Context, admin *kadm.Client, topic string) (int32, error) {
	details, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return 0, err
	}
	found := details[topic]
	if found.Err != nil {
		return 0, found.Err
	}
	return int32(len(found.Partitions)), nil
}

// create makes the topic and waits until each of its partitions has a leader.
func create(ctx context.Context, admin *kadm.Client, topic string, c Create) (int32, error) {
	c.Partitions = cmp.Or(c.Partitions, defaultPartitions)
	if c.Replicas == 0 {
		brokers, err := admin.ListBrokers(ctx)
		if err != nil {
			return 0, err
		}
		c.Replicas = int16(min(defaultReplicas, len(brokers)))
	}
	settings := map[string]*string{keyCleanup: kadm.StringPtr("delete")}
	if c.Replicas >= defaultReplicas {
		settings[keyMinInSync] = kadm.StringPtr("2")
	}
	_, err := admin.CreateTopic(ctx, c.Partitions, c.Replicas, settings, topic)
	if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
		return 0, err
	}
	return awaitLeaders(ctx, admin, topic)
}

func awaitLeaders(ctx context.Context, admin *kadm.Client, topic string) (int32, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		details, err := admin.ListTopics(ctx, topic)
		if err != nil {
			return 0, err
		}
		found := details[topic]
		led := !slices.ContainsFunc(found.Partitions.Sorted(), func(p kadm.PartitionDetail) bool {
			return p.Err != nil || p.Leader < 0
		})
		if found.Err == nil && led && len(found.Partitions) > 0 {
			return int32(len(found.Partitions)), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// settingsOf returns the topic's settings, and none where we may not ask.
func settingsOf(ctx context.Context, admin *kadm.Client, topic string) (map[string]string, error) {
	response, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		if _, refused := errors.AsType[*kadm.AuthError](err); refused {
			return nil, nil
		}
		return nil, unreachable(ctx, "read settings of Kafka topic "+topic, err)
	}
	settings := map[string]string{}
	for _, resource := range response {
		for _, c := range resource.Configs {
			settings[c.Key] = c.MaybeValue()
		}
	}
	return settings, nil
}

// unreachable gives the error of a request that changes nothing its code.
func unreachable(ctx context.Context, doing string, err error) error {
	if ctx.Err() != nil {
		return whittle.Errorf(stream.Ended(ctx, doing).Code, "%s: %w", doing, err)
	}
	if _, refused := errors.AsType[*kadm.AuthError](err); refused || isAuth(err) {
		return whittle.Errorf(whittle.PermissionDenied, "%s: %w", doing, err)
	}
	return whittle.Errorf(whittle.Unavailable, "%s: %w", doing, err)
}

func isAuth(err error) bool {
	return errors.Is(err, kerr.SaslAuthenticationFailed) || errors.Is(err, kerr.TopicAuthorizationFailed) ||
		errors.Is(err, kerr.ClusterAuthorizationFailed)
}
