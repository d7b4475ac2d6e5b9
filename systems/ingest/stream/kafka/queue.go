package kafka

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/inflight"
)

// partitionQueue sends the records of some partitions, in rounds. A round puts
// at most one batch for each partition into Kafka's client, sends, and waits
// for all of it.
//
// So a partition's part of a round is stored or refused as a whole, and the
// next round knows which: no record overtakes a failed one of its key. With a
// client that is always full, a batch could fail while later records of its
// keys are already being sent. Group commit makes up for having a single round
// in flight: records that arrive meanwhile go together in the next.
type partitionQueue struct {
	*inflight.Queue[*job]
	log     *Log
	client  *kgo.Client
	tracker *produceTracker
	single  []*job // to be sent one at a time for each partition, before those that wait
}

// maxRound bounds one round, in bytes.
const maxRound = 16 << 20

// batchOverhead is what a batch needs in addition to its records, in bytes,
// with some reserve.
const batchOverhead = 128

func newPartitionQueue(l *Log, settings []kgo.Opt) (*partitionQueue, error) {
	w := &produceTracker{}
	opts := append(append([]kgo.Opt{}, settings...), producer(&l.o, w)...)
	client, err := kgo.NewClient(append(opts, kgo.ProducerBatchMaxBytes(int32(l.traits.maxBatch)))...)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "make Kafka producer: %w", err)
	}
	return &partitionQueue{Queue: inflight.NewQueue[*job](l.o.DeliveryTimeout), log: l, client: client, tracker: w}, nil
}

// take returns the next round: the jobs in order, up to the first that does not
// fit any more. It drops jobs that nobody waits for.
func (l *partitionQueue) take(waiting []*job) (round, rest []*job) {
	if round, l.single = l.fill(l.single, 0); len(round) > 0 {
		return round, waiting
	}
	return l.fill(waiting, int(l.log.batch.Load())-batchOverhead)
}

// fill takes jobs from the front while each partition's fit into limit bytes. A
// partition's first job always fits.
func (l *partitionQueue) fill(from []*job, limit int) (round, rest []*job) {
	sizes := map[int32]int{}
	total := 0
	for i, j := range from {
		n := sizes[j.record.Partition]
		if n > 0 && n+j.Size > limit || total > maxRound {
			return round, from[i:]
		}
		if !j.Call.Start(j.Index) {
			l.log.sink.Buffer.Release(j.Size)
		} else {
			sizes[j.record.Partition] = n + j.Size
			total += j.Size
			round = append(round, j)
		}
	}
	return round, nil
}

// round sends jobs and returns when each has been settled or requeued.
func (l *partitionQueue) round(ctx context.Context, jobs []*job) {
	began := time.Now()
	l.tracker.begin()
	var under sync.WaitGroup
	under.Add(len(jobs))
	bytes := 0
	for _, j := range jobs {
		bytes += j.Size
		l.client.Produce(context.Background(), j.record, func(k *kgo.Record, err error) {
			defer under.Done()
			if j.err = err; err == nil {
				l.log.sink.Buffer.Acknowledged()
				l.log.failing.Store(nil)
				l.log.sink.Settle(&j.Item, stream.Result{Position: position(k.Partition, k.Offset)})
			}
		})
	}
	if l.client.Flush(ctx) != nil {
		l.client.Close() // fails what is in flight
	}
	under.Wait()
	if l.fail(jobs) == 0 {
		l.log.sink.Buffer.Measure(bytes, time.Since(began))
	}
}

// fail settles the jobs that Kafka's client has failed, and returns their
// number. Jobs of a batch that was refused because of its content are requeued
// to be sent one by one, because only one record is at fault.
func (l *partitionQueue) fail(jobs []*job) int {
	share := map[int32]int{}
	failed := 0
	for _, j := range jobs {
		if j.err != nil {
			share[j.record.Partition]++
			failed++
		}
	}
	sure := l.tracker.certain()
	var again []*job
	tooLarge := false
	for _, j := range jobs {
		switch {
		case j.err == nil:
		case sure && isContentError(j.err, j.record) && share[j.record.Partition] > 1:
			again, tooLarge = append(again, j), tooLarge || isTooLarge(j.err)
		default:
			err := outcome(j.err, j.record, sure)
			if whittle.CodeOf(err) == whittle.Unavailable {
				l.log.failing.Store(&err)
			}
			l.log.sink.Settle(&j.Item, stream.Result{Err: err})
		}
	}
	if tooLarge { // once, however many records the batch had
		l.log.shrink()
	}
	for _, j := range again {
		j.Call.Requeue(j.Index)
		j.err, j.record = nil, unsent(j.record)
	}
	l.single = append(again, l.single...)
	return failed
}
