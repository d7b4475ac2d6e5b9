package gateway

import (
	"context"
	"sync"
)

// queue runs jobs alongside the users' requests, a bounded number at once, with a
// bounded number waiting. Its workers are started when there is work and end
// when there is none, so a quiet route costs nothing.
type queue[J any] struct {
	// work does one job; ctx ends when the queue is closed for good.
	work func(ctx context.Context, j J)
	// abandon is called for each job that a closing queue gives up: those that
	// wait, and those under way when the time to close ran out.
	abandon func(J)

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

// offer is what a queue said to a job.
type offer uint8

const (
	accepted offer = iota
	full
	closed
)

func newQueue[J any](work func(context.Context, J), abandon func(J)) *queue[J] {
	q := &queue[J]{work: work, abandon: abandon, running: map[int]J{}, idle: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q
}

// offer hands a job over unless workers are busy and wait others are waiting.
// It never blocks. The bounds come with each job, since a reload may change
// them while the queue goes on.
func (q *queue[J]) offer(j J, workers, wait int) offer {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		return closed
	case len(q.running) < max(workers, 1):
		id := q.serial
		q.serial++
		q.running[id] = j
		go q.drain(id, j)
		return accepted
	case q.count >= wait:
		return full
	}
	if q.count == len(q.waiting) {
		q.grow(wait)
	}
	q.waiting[(q.head+q.count)%len(q.waiting)] = j
	q.count++
	return accepted
}

// grow makes the ring larger, up to its bound. The caller holds mu.
func (q *queue[J]) grow(bound int) {
	ring := make([]J, min(max(2*len(q.waiting), 16), bound))
	for i := range q.count {
		ring[i] = q.waiting[(q.head+i)%len(q.waiting)]
	}
	q.waiting, q.head = ring, 0
}

// drain does jobs until none is waiting.
func (q *queue[J]) drain(id int, j J) {
	for more := true; more; j, more = q.next(id) {
		q.work(q.ctx, j)
	}
}

// next takes the job that has waited longest, or ends the worker.
func (q *queue[J]) next(id int) (j J, more bool) {
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

// busy reports whether any job is under way.
func (q *queue[J]) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.running) > 0
}

// close takes no more jobs and waits for those it has. When ctx ends first, the
// jobs that wait are given up, those under way are canceled and given up, and
// the workers are waited for until after ends; then its error says that a
// worker is stuck.
func (q *queue[J]) close(ctx, after context.Context) error {
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
	for _, j := range q.giveUp() {
		q.abandon(j)
	}
	select {
	case <-q.idle:
		return nil
	case <-after.Done():
		return after.Err()
	}
}

// giveUp empties the ring and lists it with the jobs under way.
func (q *queue[J]) giveUp() []J {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := make([]J, 0, q.count+len(q.running))
	for _, j := range q.running {
		jobs = append(jobs, j)
	}
	for i := range q.count {
		jobs = append(jobs, q.waiting[(q.head+i)%len(q.waiting)])
	}
	q.waiting, q.head, q.count = nil, 0, 0
	return jobs
}
