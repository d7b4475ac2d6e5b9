package kafka

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
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
	log     *Log
	client  *kgo.Client
	tracker *produceTracker
	wake    notify.Signal // there may be something to do
	done    chan struct{} // closed when the partition queue has ended

	since atomic.Int64 // when the round in flight began, Unix nanoseconds; 0: none

	mu      sync.Mutex // guards the following
	waiting []*job     // bounded by the room
	single  []*job     // to be sent one at a time for each partition, before queue
	closing bool       // end when all is done
	ended   bool       // takes nothing any more
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
	return &partitionQueue{
		log: l, client: client, tracker: w,
		wake: notify.New(), done: make(chan struct{}),
	}, nil
}

// enqueue adds jobs of one call. While a round has taken longer than
// DeliveryTimeout, the queue refuses jobs, because they would only fill the
// buffer.
func (l *partitionQueue) enqueue(jobs []*job) {
	l.mu.Lock()
	refused := l.ended || l.stuck()
	if !refused {
		l.waiting = append(l.waiting, jobs...)
	}
	l.mu.Unlock()
	if !refused {
		l.wake.Notify()
		return
	}
	for _, j := range jobs {
		l.settle(j, stream.Result{Err: whittle.Errorf(whittle.Unavailable, "Kafka does not respond for partition %d", j.record.Partition)})
	}
}

func (l *partitionQueue) stuck() bool {
	since := l.since.Load()
	return since != 0 && time.Since(time.Unix(0, since)) > l.log.o.DeliveryTimeout
}

func (l *partitionQueue) close() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.wake.Notify()
}

// run sends until close is called and the last record is sent, or until ctx
// ends.
func (l *partitionQueue) run(ctx context.Context) {
	defer close(l.done)
	for {
		if jobs := l.take(); len(jobs) > 0 {
			l.round(ctx, jobs)
			continue
		}
		if l.finish(ctx.Err() != nil) {
			return
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
		}
	}
}

// finish ends the queue when nothing is left to send or when it must end now,
// and reports whether it has.
func (l *partitionQueue) finish(now bool) bool {
	l.mu.Lock()
	idle := len(l.waiting) == 0 && len(l.single) == 0
	l.ended = now || l.closing && idle
	over := l.ended
	l.mu.Unlock()
	return over
}

// take returns the next round: the jobs in order, up to the first that does not
// fit any more. It drops jobs that nobody waits for.
func (l *partitionQueue) take() []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.single) > 0 {
		var round []*job
		round, l.single = l.fill(l.single, 0)
		if len(round) > 0 {
			return round
		}
	}
	var round []*job
	round, l.waiting = l.fill(l.waiting, int(l.log.batch.Load())-batchOverhead)
	if len(l.waiting) == 0 {
		l.waiting = nil // releases the array that grew
	}
	return round
}

// fill takes jobs from the front while each partition's fit into limit bytes. A
// partition's first job always fits.
func (l *partitionQueue) fill(from []*job, limit int) (round, rest []*job) {
	sizes := map[int32]int{}
	total := 0
	for i, j := range from {
		n := sizes[j.record.Partition]
		if n > 0 && n+j.size > limit || total > maxRound {
			return round, from[i:]
		}
		if !j.call.Start(j.index) {
			l.log.buffer.Release(j.size)
		} else {
			sizes[j.record.Partition] = n + j.size
			total += j.size
			round = append(round, j)
		}
	}
	return round, nil
}

// round sends jobs and returns when each has been settled or requeued.
func (l *partitionQueue) round(ctx context.Context, jobs []*job) {
	began := time.Now()
	l.since.Store(began.UnixNano())
	defer l.since.Store(0)
	l.tracker.begin()
	var under sync.WaitGroup
	under.Add(len(jobs))
	bytes := 0
	for _, j := range jobs {
		bytes += j.size
		l.client.Produce(context.Background(), j.record, func(k *kgo.Record, err error) {
			defer under.Done()
			if j.err = err; err == nil {
				l.log.buffer.Acknowledged()
				l.settle(j, stream.Result{Position: position(k.Partition, k.Offset)})
			}
		})
	}
	if l.client.Flush(ctx) != nil {
		l.client.Close() // fails what is in flight
	}
	under.Wait()
	if l.fail(jobs) == 0 {
		l.log.buffer.Measure(bytes, time.Since(began))
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
	for _, j := range jobs {
		switch {
		case j.err == nil:
		case sure && isContentError(j.err) && share[j.record.Partition] > 1:
			l.log.shrink(j.err)
			again = append(again, j)
		default:
			l.settle(j, stream.Result{Err: outcome(j.err, sure)})
		}
	}
	if len(again) > 0 {
		l.mu.Lock()
		for _, j := range again {
			j.call.Requeue(j.index)
			j.err, j.record = nil, unsent(j.record)
		}
		l.single = append(again, l.single...)
		l.mu.Unlock()
	}
	return failed
}

func (l *partitionQueue) settle(j *job, r stream.Result) {
	l.log.buffer.Release(j.size)
	j.call.Settle(j.index, r)
}
