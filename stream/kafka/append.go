package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"whittle"
	"whittle/stream"
)

// call is one Append. It is shared by Append, which may leave before the end,
// and the lanes that carry its records.
type call struct {
	done chan struct{} // closed when no record is open any more

	mu      sync.Mutex // guards the following
	left    bool       // Append has returned, and results are the caller's
	results []stream.Result
	states  []state
	open    int
	failed  map[string]int // the first record that failed, by key
}

// state is how far a record has come.
type state uint8

const (
	queued state = iota // in a lane, not yet with Kafka's client: surely not kept
	taken               // with Kafka's client: may be kept
	settled
)

// job is one record on its way.
type job struct {
	call   *call
	index  int
	key    string
	record *kgo.Record
	size   int // bytes on the wire, at most

	err error // what Kafka's client said
}

// Append implements stream.Stream. Records without a key go to one partition
// per call, the next one each time.
func (l *Log) Append(ctx context.Context, records []stream.Record) []stream.Result {
	c := &call{
		done:    make(chan struct{}),
		results: make([]stream.Result, len(records)),
		states:  make([]state, len(records)),
		open:    len(records),
		failed:  map[string]int{},
	}
	if len(records) == 0 {
		return c.results
	}
	if err := l.enter(ctx); err != nil {
		return c.refuse(err)
	}
	defer l.appends.Done()
	lanes, size := l.split(c, records)
	if !l.room.take(size) {
		return c.refuse(whittle.Errorf(whittle.ResourceExhausted, "the buffer before Kafka is full"))
	}
	for i, jobs := range lanes {
		if len(jobs) > 0 {
			l.lanes[i].enqueue(jobs)
		}
	}
	patience := time.NewTimer(l.o.DeliveryTimeout)
	defer patience.Stop()
	select {
	case <-c.done:
		return c.results
	case <-ctx.Done():
		err := ended(ctx, "append to Kafka")
		return c.leave(err, err)
	case <-patience.C:
		return c.leave(
			whittle.Errorf(whittle.Unavailable, "Kafka took nothing within %v", l.o.DeliveryTimeout),
			whittle.Errorf(whittle.DeadlineExceeded, "Kafka did not acknowledge within %v", l.o.DeliveryTimeout))
	}
}

func (l *Log) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return ended(ctx, "append to Kafka")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return whittle.Errorf(whittle.Unavailable, "the Kafka stream is closed")
	}
	l.appends.Add(1)
	return nil
}

// split settles what is invalid and deals the rest to the lanes, in order.
func (l *Log) split(c *call, records []stream.Record) ([][]*job, int64) {
	lanes := make([][]*job, len(l.lanes))
	var size int64
	keyless := int32(l.turn.Add(1) % uint32(l.traits.partitions))
	for i := range records {
		r := &records[i]
		if err := l.check(r); err != nil {
			c.settle(&job{call: c, index: i, key: r.Key}, stream.Result{Err: err})
			continue
		}
		k := toKafka(r)
		k.Partition = keyless
		if r.Key != "" {
			k.Partition = int32(l.pick.Partition(k, int(l.traits.partitions)))
		}
		j := &job{call: c, index: i, key: r.Key, record: k, size: wireLen(k)}
		size += int64(j.size)
		n := int(k.Partition) % len(lanes)
		lanes[n] = append(lanes[n], j)
	}
	return lanes, size
}

func (l *Log) check(r *stream.Record) error {
	switch n := stream.EncodedLen(r); {
	case n > l.Limit():
		return whittle.Errorf(whittle.Invalid, "a record of %d bytes is too large for the topic, which takes %d", n, l.Limit()).
			WithHint("raise the topic's max.message.bytes")
	case len(r.ID) > stream.MaxID, len(r.Key) > stream.MaxKey, len(r.Header) > stream.MaxHeaders:
		return whittle.Errorf(whittle.Invalid, "a record's id, key or headers are out of bounds")
	}
	return nil
}

// settle says what became of a record, once.
func (c *call) settle(j *job, r stream.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lockedSettle(j, r)
}

func (c *call) lockedSettle(j *job, r stream.Result) {
	c.states[j.index] = settled
	if r.Err != nil && j.key != "" {
		if first, ok := c.failed[j.key]; !ok || j.index < first {
			c.failed[j.key] = j.index
		}
	}
	if !c.left {
		c.results[j.index] = r
	}
	if c.open--; c.open == 0 {
		close(c.done)
	}
}

// lockedPasses is nil where the record may go on, and otherwise why it must not: one
// before it of the same key has failed.
func (c *call) lockedPasses(j *job) error {
	if first, ok := c.failed[j.key]; !ok || j.index < first {
		return nil
	}
	return whittle.Errorf(whittle.Unavailable, "an earlier record of its key was not kept")
}

// leave ends the wait: what has not been taken gets one error, what has the other.
func (c *call) leave(waiting, underWay error) []stream.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	for i, s := range c.states {
		switch s {
		case queued:
			c.results[i].Err = waiting
		case taken:
			c.results[i].Err = underWay
		case settled:
		}
	}
	return c.results
}

// refuse fails all that is not settled yet. No lane knows of the call.
func (c *call) refuse(err error) []stream.Result { return c.leave(err, err) }
