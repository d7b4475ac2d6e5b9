// Package mirror bounds the work that is done on the side of the users' requests:
// a queue of mirrored requests that is never waited for, a shedder that stops
// mirroring when the monolith becomes slower by it, and a budget for asking both
// sides again about a difference.
package mirror

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"whittle/internal/socket"
)

// Queue runs jobs alongside the users' requests, a bounded number at once, with a
// bounded number waiting. Its workers are started when there is work and end
// soon after there is none, so an idle route costs nothing. A worker that rests is
// woken by a socket.Bell, so that no thread is woken for work that nobody waits for.
type Queue[J any] struct {
	// work does one job; ctx ends when the queue is closed for good.
	work func(ctx context.Context, j J)
	// abandon is called for each job that a closing queue gives up: those that
	// wait, and those under way when the time to close ran out. Such a job has begun,
	// and its worker still uses it.
	abandon func(j J, begun bool)

	ctx    context.Context //nolint:containedctx // the queue's own life, not a call's
	cancel context.CancelFunc

	// rest is how long a worker without work stays; 0: it ends at once.
	rest time.Duration

	mu sync.Mutex // guards the following
	// workers are all that have not ended, resting those that wait for work.
	workers int
	resting []*worker[J]
	waiting []J
	// running has the jobs under way, by worker.
	running map[*worker[J]]J
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
// abandon for each that it gives up. A worker stays for rest without work.
func NewQueue[J any](rest time.Duration, work func(context.Context, J), abandon func(j J, begun bool)) *Queue[J] {
	q := &Queue[J]{rest: rest, work: work, abandon: abandon, running: map[*worker[J]]J{}, idle: make(chan struct{})}
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
		q.start(j)
		return Accepted
	case len(q.waiting) >= wait:
		return Full
	}
	q.waiting = append(q.waiting, j)
	return Accepted
}

// worker runs jobs on a goroutine of its own.
type worker[J any] struct {
	bell  *socket.Bell
	until time.Time // when it ends if it has rested all the while
	rests bool      // it is among the resting; guarded by the queue's mu
}

// start has a worker run a job. The caller holds mu.
func (q *Queue[J]) start(j J) {
	n := len(q.resting)
	if n == 0 {
		w := &worker[J]{}
		q.workers++
		q.running[w] = j
		go q.serve(w, j)
		return
	}
	w := q.resting[n-1]
	q.resting[n-1] = nil
	q.resting = q.resting[:n-1]
	q.running[w], w.rests = j, false
	w.bell.Ring()
}

// bells bounds the descriptors that resting workers of all queues hold. Further
// workers end when they have no work.
var bells = make(chan struct{}, 256)

// serve is a worker's life, with its first job.
func (q *Queue[J]) serve(w *worker[J], j J) {
	q.drain(w, j)
	if q.rest > 0 {
		q.attendBell(w)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.workers--
	q.endIfDone()
}

// attendBell has a worker run the jobs that it is given, until it has rested for its time.
func (q *Queue[J]) attendBell(w *worker[J]) {
	select {
	case bells <- struct{}{}:
		defer func() { <-bells }()
	default:
		return
	}
	var err error
	if w.bell, err = socket.NewBell(); err != nil {
		return // without one, it ends at once
	}
	defer w.bell.Close()
	for q.attend(w) && q.stays(w) {
		_ = w.bell.Attend(func() (more bool) { return q.attend(w) }) // its time is over, or the queue's
	}
}

// drain runs a worker's job, and others until the queue is empty.
func (q *Queue[J]) drain(w *worker[J], j J) {
	for more := true; more; j, more = q.next(w) {
		q.work(q.ctx, j)
	}
}

// stays reports whether a worker is to wait for its bell. It is not once it has rested
// for its time.
func (q *Queue[J]) stays(w *worker[J]) bool {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	_, has := q.running[w]
	switch {
	case has: // its bell has rung
	case !w.rests:
		q.lieDown(w)
		q.keepUp(w, now)
	case !now.Before(w.until):
		q.resting = slices.DeleteFunc(q.resting, func(o *worker[J]) bool { return o == w })
		return false
	}
	return true
}

// keepUp has a worker stay for its time from now on.
func (q *Queue[J]) keepUp(w *worker[J], now time.Time) {
	w.until = now.Add(q.rest)
	_ = w.bell.SetDeadline(w.until) // the bell is open
}

// lieDown has a worker rest. The caller holds mu.
func (q *Queue[J]) lieDown(w *worker[J]) {
	w.rests = true
	q.resting = append(q.resting, w)
}

// attend runs the job that a worker was given, if it was. False: it is to end.
func (q *Queue[J]) attend(w *worker[J]) (more bool) {
	for {
		q.mu.Lock()
		j, has := q.running[w]
		closed := q.closed
		q.mu.Unlock()
		if !has {
			return !closed
		}
		q.drain(w, j)
		if now := time.Now(); w.until.Sub(now) < q.rest/2 {
			q.keepUp(w, now)
		}
		q.mu.Lock()
		q.lieDown(w)
		q.mu.Unlock()
	}
}

// endIfDone tells Close that no worker is left. The caller holds mu.
func (q *Queue[J]) endIfDone() {
	if q.closed && q.workers == 0 {
		close(q.idle)
	}
}

// next takes the job that has waited longest, or ends a worker's work.
func (q *Queue[J]) next(w *worker[J]) (j J, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		delete(q.running, w)
		return j, false
	}
	var none J
	j, q.waiting[0] = q.waiting[0], none
	q.waiting = q.waiting[1:]
	q.running[w] = j
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
		for _, w := range q.resting {
			w.rests = false
			w.bell.Ring()
		}
		q.resting = nil
		q.endIfDone()
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

// giveUp lists the jobs under way and those that wait, which wait no more.
func (q *Queue[J]) giveUp() (begun, waiting []J) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, q.waiting = q.waiting, nil
	return slices.Collect(maps.Values(q.running)), waiting
}
