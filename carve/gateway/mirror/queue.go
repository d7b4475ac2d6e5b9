// Package mirror bounds the work that is done on the side of the users' requests:
// a queue of mirrored requests that is never waited for, a shedder that stops
// mirroring when the monolith becomes slower by it, and a budget for asking both
// sides again about a difference.
package mirror

import (
	"context"
	"sync"
)

// Queue runs jobs alongside the users' requests, a bounded number at once, with a
// bounded number waiting. Its workers are started when there is work and end
// when there is none, so an idle route costs nothing.
type Queue[J any] struct {
	// work does one job; ctx ends when the queue is closed for good.
	work func(ctx context.Context, j J)
	// abandon is called for each job that a closing queue gives up: those that
	// wait, and those under way when the time to close ran out. Such a job has begun,
	// and its worker still uses it.
	abandon func(j J, begun bool)

	ctx    context.Context //nolint:containedctx // the queue's own life, not a call's
	cancel context.CancelFunc

	mu sync.Mutex // guards the following
	// waiting is a ring: count jobs from head on.
	waiting     []J
	head, count int
	// running has the jobs under way, by worker.
	running map[int]J
	serial  int
	closed  bool
	// idle is closed when a closed queue's last worker has ended.
	idle chan struct{}
}

// Offered is what a queue said to a job.
type Offered uint8

const (
	// Accepted: the job will be done or abandoned.
	Accepted Offered = iota
	// Full: as many jobs are waiting as may.
	Full
	// Closed: the queue takes no more jobs.
	Closed
)

// NewQueue makes a queue; its workers call work for each job, and Close calls
// abandon for each that it gives up.
func NewQueue[J any](work func(context.Context, J), abandon func(j J, begun bool)) *Queue[J] {
	q := &Queue[J]{work: work, abandon: abandon, running: map[int]J{}, idle: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// Offer hands a job over unless workers are busy and wait others are waiting.
// It never blocks. The bounds come with each job, since a reload may change
// them while the queue goes on.
func (q *Queue[J]) Offer(j J, workers, wait int) Offered {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return Closed
	case len(q.running) < max(workers, 1):
		id := q.serial
		q.serial++
		q.running[id] = j
		go q.drain(id, j)
		return Accepted
	case q.count >= wait:
		return Full
	}
	if q.count == len(q.waiting) {
		q.grow(wait)
	}
	q.waiting[(q.head+q.count)%len(q.waiting)] = j
	q.count++
	return Accepted
}

// grow makes the ring larger, up to its bound. The caller holds mu.
func (q *Queue[J]) grow(bound int) {
	ring := make([]J, min(max(2*len(q.waiting), 16), bound))
	for i := range q.count {
		ring[i] = q.waiting[(q.head+i)%len(q.waiting)]
	}
	q.waiting, q.head = ring, 0
}

// drain runs jobs until none is waiting.
func (q *Queue[J]) drain(id int, j J) {
	for more := true; more; j, more = q.next(id) {
		q.work(q.ctx, j)
	}
}

// next takes the job that has waited longest, or ends the worker.
func (q *Queue[J]) next(id int) (j J, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == 0 {
		delete(q.running, id)
		if q.closed && len(q.running) == 0 {
			close(q.idle)
		}
		return j, false
	}
	var none J
	j = q.waiting[q.head]
	q.waiting[q.head] = none
	q.head = (q.head + 1) % len(q.waiting)
	q.count--
	q.running[id] = j
	return j, true
}

// Busy reports whether any job is under way.
func (q *Queue[J]) Busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.running) > 0
}

// Close takes no more jobs and waits for those it has. When ctx ends first, the
// jobs that wait are given up, those under way are canceled and given up, and
// the workers are waited for until after ends; then its error says that a
// worker is stuck.
func (q *Queue[J]) Close(ctx, after context.Context) error {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		if len(q.running) == 0 {
			close(q.idle)
		}
	}
	q.mu.Unlock()
	defer q.cancel()
	select {
	case <-q.idle:
		return nil
	case <-ctx.Done():
	}
	q.cancel()
	begun, waiting := q.giveUp()
	for _, j := range begun {
		q.abandon(j, true)
	}
	for _, j := range waiting {
		q.abandon(j, false)
	}
	select {
	case <-q.idle:
		return nil
	case <-after.Done():
		return after.Err()
	}
}

// giveUp lists the jobs under way, and empties the ring.
func (q *Queue[J]) giveUp() (begun, waiting []J) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.running {
		begun = append(begun, j)
	}
	for i := range q.count {
		waiting = append(waiting, q.waiting[(q.head+i)%len(q.waiting)])
	}
	q.waiting, q.head, q.count = nil, 0, 0
	return begun, waiting
}
