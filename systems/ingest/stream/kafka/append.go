package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/inflight"
)

// job is one record on its way.
type job struct {
	call   *inflight.Call
	index  int
	record *kgo.Record
	size   int   // bytes on the wire, at most
	err    error // what Kafka's client said
}

// Append implements stream.Stream. Records without a key go to one partition
// per call, the next one each time.
func (l *Log) Append(ctx context.Context, records []stream.Record) []stream.Result {
	c := inflight.NewCall(records)
	if err := l.beginAppend(ctx); err != nil {
		return c.Refuse(err)
	}
	defer l.appends.Done()
	queues, size := l.split(c, records)
	if !l.buffer.Reserve(size) {
		return c.Refuse(whittle.Errorf(whittle.ResourceExhausted, "the buffer before Kafka is full"))
	}
	for i, jobs := range queues {
		if len(jobs) > 0 {
			l.queues[i].enqueue(jobs)
		}
	}
	return c.Wait(ctx, "Kafka", l.o.DeliveryTimeout)
}

func (l *Log) beginAppend(ctx context.Context) error {
	if ctx.Err() != nil {
		return inflight.Ended(ctx, "append to Kafka")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return whittle.Errorf(whittle.Unavailable, "the Kafka stream is closed")
	}
	l.appends.Add(1)
	return nil
}

// split settles what is invalid and distributes the rest to the partition
// queues, in order.
func (l *Log) split(c *inflight.Call, records []stream.Record) ([][]*job, int64) {
	queues := make([][]*job, len(l.queues))
	var size int64
	keyless := int32(l.turn.Add(1) % uint32(l.traits.partitions))
	for i := range records {
		r := &records[i]
		if err := inflight.Check(r, l.Limit()); err != nil {
			c.Settle(i, stream.Result{Err: err})
			continue
		}
		k := toKafka(r)
		k.Partition = keyless
		if r.Key != "" {
			k.Partition = int32(l.pick.Partition(k, int(l.traits.partitions)))
		}
		j := &job{call: c, index: i, record: k, size: encodedLen(k)}
		size += int64(j.size)
		n := int(k.Partition) % len(queues)
		queues[n] = append(queues[n], j)
	}
	return queues, size
}
