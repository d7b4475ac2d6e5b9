package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/inflight"
)

// job is one record on its way.
type job struct {
	inflight.Item
	record *kgo.Record
	err    error // what Kafka's client said
}

// Append implements stream.Stream. Records without a key go to one partition
// per call, the next one each time.
func (l *Log) Append(ctx context.Context, records []stream.Record) []stream.Result {
	return inflight.Append(ctx, l.sink, l.queues, records, l.o.DeliveryTimeout, l.split)
}

// split settles what is invalid and distributes the rest to the partition
// queues, in order.
func (l *Log) split(c *inflight.Call, records []stream.Record) ([][]*job, int64) {
	queues := make([][]*job, len(l.queues))
	var size int64
	keyless := int32(l.turn.Add(1) % uint32(l.traits.partitions))
	for i := range records {
		r := &records[i]
		if err := stream.Check(r, l.Limit()); err != nil {
			c.Settle(i, stream.Result{Err: err})
			continue
		}
		k := toKafka(r)
		k.Partition = keyless
		if r.Key != "" {
			k.Partition = int32(l.pick.Partition(k, int(l.traits.partitions)))
		}
		j := &job{Item: inflight.Item{Call: c, Index: i, Size: encodedLen(k)}, record: k}
		size += int64(j.Size)
		n := int(k.Partition) % len(queues)
		queues[n] = append(queues[n], j)
	}
	return queues, size
}
