// Package kafka is a durable stream on a Kafka topic. A record is acknowledged
// when all in-sync replicas have it, written idempotently. The records of one
// key are in one partition, in the order in which they were appended.
package kafka

import (
	"context"
	"math/rand/v2"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/inflight"
)

// maxQueues bounds the producers, and with them the connections to each broker.
const maxQueues = 4

// Log is the stream.Stream of a topic.
type Log struct {
	o      Options
	admin  *kadm.Client // asks; it produces nothing
	traits traits
	// batch is the most that goes into one batch, in bytes. It falls when the
	// topic turns out to take less than at Open.
	batch  atomic.Int64
	pick   kgo.TopicPartitioner // keys to partitions, as Kafka's own clients do
	turn   atomic.Uint32        // the partition of the next records without a key
	queues []*partitionQueue
	sink   *inflight.Sink
	// failing is why the last record was refused that nothing is wrong with; nil since one was
	// kept.
	failing atomic.Pointer[error]
}

var _ stream.Stream = (*Log)(nil)

// Open connects to the brokers, looks the topic up, and starts its producers.
func Open(ctx context.Context, o Options) (*Log, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	settings, err := o.client()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(settings...)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "make Kafka client: %w", err)
	}
	l := &Log{o: o, admin: kadm.NewClient(client), sink: inflight.NewSink("Kafka", o.Buffer)}
	if l.traits, err = lookUp(ctx, l.admin, &l.o); err != nil {
		client.Close()
		return nil, err
	}
	l.batch.Store(int64(l.traits.maxBatch))
	l.pick = kgo.StickyKeyPartitioner(nil).ForTopic(o.Topic)
	l.turn.Store(rand.Uint32())
	for range min(maxQueues, l.traits.partitions) {
		queue, err := newPartitionQueue(l, settings)
		if err != nil {
			l.release()
			return nil, err
		}
		l.queues = append(l.queues, queue)
	}
	var senders []func(context.Context)
	for _, queue := range l.queues {
		senders = append(senders, func(ctx context.Context) { queue.Run(ctx, queue.take, queue.round) })
	}
	l.sink.Run(client.Ping, senders...)
	return l, nil
}

// Durability is stream.KafkaAll.
func (l *Log) Durability() stream.Durability { return stream.KafkaAll }

// Limit follows from the topic's max.message.bytes.
func (l *Log) Limit() int { return int(l.batch.Load()) - encodingOverhead }

// Capacity is what the buffer can accept, and whether the brokers respond.
func (l *Log) Capacity() stream.Capacity {
	c := l.sink.Buffer.Capacity(len(l.queues))
	if f := l.failing.Load(); f != nil {
		c.Failing = *f
	}
	return c
}

// Close waits for what is in flight until ctx ends. What is then still in flight
// may or may not be kept, as its Append says.
func (l *Log) Close(ctx context.Context) error {
	return inflight.Close(ctx, l.sink, l.release, l.queues)
}

func (l *Log) release() {
	for _, queue := range l.queues {
		queue.client.Close()
	}
	l.admin.Close()
}
