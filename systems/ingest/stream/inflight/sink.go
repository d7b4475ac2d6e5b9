package inflight

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// Item is one record of a call on its way to the sink.
type Item struct {
	Call  *Call
	Index int
	Size  int // bytes on the wire, at most
}

// Base is the item of a job that has one embedded.
func (it *Item) Base() *Item { return it }

// Sink is what the adapters of remote streams have in common: calls of Append that
// are bounded by a buffer, and an end in order.
type Sink struct {
	// Name is the sink's in errors.
	Name   string
	Buffer *Buffer

	mu      sync.Mutex // guards the following
	closing bool
	appends sync.WaitGroup // calls of Append; Add under mu

	work  sync.WaitGroup // the queues and the probe
	abort context.CancelFunc
	once  sync.Once
	ended error // what Close came to
}

// NewSink makes the sink of an adapter whose buffer takes so many bytes.
func NewSink(name string, buffer int64) *Sink {
	return &Sink{Name: name, Buffer: NewBuffer(buffer), abort: func() {}}
}

// Append is an adapter's Append. job makes one of a record, whose item has its size, and says
// by which queue it goes; or it says why the record is refused.
func Append[J interface{ Base() *Item }, Q interface{ Put(jobs []J) bool }](
	ctx context.Context, s *Sink, queues []Q, records []stream.Record, patience time.Duration,
	job func(r *stream.Record) (j J, queue int, err error),
) []stream.Result {
	c := NewCall(records)
	if err := s.begin(ctx); err != nil {
		return c.abandon(err, err)
	}
	defer s.appends.Done()
	jobs, size := make([][]J, len(queues)), int64(0)
	for i := range records {
		j, queue, err := job(&records[i])
		if err != nil {
			c.Settle(i, stream.Result{Err: err})
			continue
		}
		it := j.Base()
		it.Call, it.Index = c, i
		size += int64(it.Size)
		jobs[queue] = append(jobs[queue], j)
	}
	if !s.Buffer.Reserve(size) {
		err := whittle.Errorf(whittle.ResourceExhausted, "the buffer before %s is full", s.Name)
		return c.abandon(err, err)
	}
	for i, some := range jobs {
		if len(some) == 0 || queues[i].Put(some) {
			continue
		}
		for _, j := range some {
			s.Settle(j.Base(), stream.Result{Err: whittle.Errorf(whittle.Unavailable, "%s does not respond", s.Name)})
		}
	}
	return c.Wait(ctx, s.Name, patience)
}

// begin lets a call of Append in.
func (s *Sink) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return stream.Ended(ctx, "append to "+s.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return whittle.Errorf(whittle.Unavailable, "the %s stream is closed", s.Name)
	}
	s.appends.Add(1)
	return nil
}

// Settle sets the result of a record, and frees its room.
func (s *Sink) Settle(it *Item, r stream.Result) {
	s.Buffer.Release(it.Size)
	it.Call.Settle(it.Index, r)
}

// Run starts what sends, and asks the sink every second whether it responds.
func (s *Sink) Run(ping func(context.Context) error, senders ...func(context.Context)) {
	ctx, abort := context.WithCancel(context.Background())
	s.abort = abort
	for _, send := range senders {
		s.work.Go(func() { send(ctx) })
	}
	s.work.Go(func() { s.Buffer.Probe(ctx, s.Name, ping) })
}

// Close waits for what is in flight until ctx ends. What is then still in flight
// may or may not be kept, as its Append says. release follows.
func Close[Q interface{ close() <-chan struct{} }](ctx context.Context, s *Sink, release func(), queues []Q) error {
	s.once.Do(func() {
		s.mu.Lock()
		s.closing = true
		s.Buffer.Close()
		s.mu.Unlock()
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			s.appends.Wait()
			var over []<-chan struct{}
			for _, q := range queues {
				over = append(over, q.close())
			}
			for _, done := range over {
				<-done
			}
		}()
		select {
		case <-drained:
		case <-ctx.Done():
			s.ended = whittle.Errorf(whittle.DeadlineExceeded, "close %s stream: records were still under way: %w", s.Name, ctx.Err())
		}
		s.abort()
		<-drained
		s.work.Wait()
		release()
	})
	return s.ended
}

// Queue holds the jobs that wait for one sender, which takes them in rounds. J is
// an adapter's record on its way.
type Queue[J any] struct {
	patience time.Duration
	begun    time.Time
	wake     notify.Signal // there may be something to do
	done     chan struct{} // closed when the queue has ended
	since    atomic.Int64  // when the round in flight began, in nanoseconds after begun; 0: none

	mu      sync.Mutex // guards the following
	waiting []J        // bounded by the buffer
	closing bool       // end when all is done
	ended   bool       // takes nothing any more
}

// NewQueue makes a queue that refuses jobs while a round has taken longer than its
// patience, because they would only fill the buffer.
func NewQueue[J any](patience time.Duration) *Queue[J] {
	return &Queue[J]{patience: patience, begun: time.Now(), wake: notify.New(), done: make(chan struct{})}
}

// Busy reports whether a round is in flight.
func (q *Queue[J]) Busy() bool { return q.since.Load() != 0 }

// Put adds jobs of one call, and reports whether it did: not where the sink has not responded
// for long.
func (q *Queue[J]) Put(jobs []J) bool {
	since := q.since.Load()
	stuck := since != 0 && int64(time.Since(q.begun))-since > int64(q.patience)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended || stuck {
		return false
	}
	q.waiting = append(q.waiting, jobs...)
	q.wake.Notify()
	return true
}

// close has the queue end when it is empty, which it says by the channel.
func (q *Queue[J]) close() <-chan struct{} {
	q.mu.Lock()
	q.closing = true
	q.mu.Unlock()
	q.wake.Notify()
	return q.done
}

// Run sends until the queue is closed and its last job is sent, or until ctx ends.
// take picks the next round out of those that wait, and what is left of them; round
// returns when each of its jobs is settled or kept to be taken again.
func (q *Queue[J]) Run(ctx context.Context, take func(waiting []J) (jobs, rest []J), round func(ctx context.Context, jobs []J)) {
	defer close(q.done)
	for {
		q.mu.Lock()
		jobs, rest := take(q.waiting)
		if q.waiting = rest; len(rest) == 0 {
			q.waiting = nil // releases the array that grew
		}
		q.ended = len(jobs) == 0 && (ctx.Err() != nil || q.closing && len(rest) == 0)
		ended := q.ended
		q.mu.Unlock()
		if ended {
			return
		}
		if len(jobs) == 0 {
			select {
			case <-q.wake:
			case <-ctx.Done():
			}
			continue
		}
		q.since.Store(max(1, int64(time.Since(q.begun))))
		round(ctx, jobs)
		q.since.Store(0)
	}
}
