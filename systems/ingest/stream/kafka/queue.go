package kafka

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"whittle"
	"whittle/systems/ingest/stream"
)

// partitionQueue carries the records of some partitions, in rounds: it puts at most one
// batch for each partition into Kafka's client, sends, and waits for all of it.
//
// So a partition's share of a round is kept or refused as a whole, and the next
// round knows which: no record passes a failed one of its key. With a client
// that is always full, a batch could fail while later records of its keys are
// being put in behind it. Group commit makes up for the single round under way:
// what arrives meanwhile goes together in the next.
type partitionQueue struct {
	log     *Log
	client  *kgo.Client
	tracker *produceTracker
	wake    chan struct{} // one token: there may be something to do
	done    chan struct{} // closed when the lane has ended

	since atomic.Int64 // when the round under way began, Unix nanoseconds; 0: none

	mu      sync.Mutex // guards the following
	waiting []*job     // bounded by the room
	single  []*job     // to be sent one at a time for each partition, before queue
	closing bool       // end when all is done
	ended   bool       // takes nothing any more
}

// maxRound bounds one round, in bytes.
const maxRound = 16 << 20

// batchOverhead is what a batch takes beyond its records, in bytes, and some spare.
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
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}, nil
}

// enqueue puts jobs of one call in. A lane whose round has been under way for
// longer than anybody waits takes nothing: it would only fill the buffer.
func (l *partitionQueue) enqueue(jobs []*job) {
	l.mu.Lock()
	refused := l.ended || l.stuck()
	if !refused {
		l.waiting = append(l.waiting, jobs...)
	}
	l.mu.Unlock()
	if !refused {
		l.notify()
		return
	}
	for _, j := range jobs {
		l.settle(j, stream.Result{Err: whittle.Errorf(whittle.Unavailable, "Kafka does not answer for partition %d", j.record.Partition)})
	}
}

func (l *partitionQueue) stuck() bool {
	since := l.since.Load()
	return since != 0 && time.Since(time.Unix(0, since)) > l.log.o.DeliveryTimeout
}

func (l *partitionQueue) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *partitionQueue) close() {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.notify()
}

// run works until close and the last record, or until ctx ends.
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

// finish ends the lane where nothing is left to do or it must end now, and
// reports whether it has.
func (l *partitionQueue) finish(now bool) bool {
	l.mu.Lock()
	idle := len(l.waiting) == 0 && len(l.single) == 0
	l.ended = now || l.closing && idle
	over := l.ended
	l.mu.Unlock()
	return over
}

// take gives the next round: in order, up to the first record that does not
// fit any more. Records that nobody waits for are dropped here.
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
		l.waiting = nil // lets go of the array that grew
	}
	return round
}

// fill takes jobs from the front while each partition's fit into limit bytes; a
// partition's first always does.
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

// round sends jobs and returns when each has been settled or put back.
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
		l.client.Close() // fails what is under way
	}
	under.Wait()
	if l.fail(jobs) == 0 {
		l.log.buffer.Measure(bytes, time.Since(began))
	}
}

// fail settles the jobs that Kafka's client has failed, and counts them. Those
// of a batch that was refused for what is in it are put back, to be sent one by
// one: the fault is one record's.
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
