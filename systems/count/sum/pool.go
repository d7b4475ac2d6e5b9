// Package sum draws random numbers and adds them up, in one bounded pool of
// workers for the whole process. Each worker has its own generator.
package sum

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"runtime"
	"sync"

	"whittle"
	"whittle/internal/label"
)

// Options says how a pool works. The zero value is fit for service.
type Options struct {
	// Workers is how many draw at once. 0: as many as GOMAXPROCS.
	Workers int
	// MaxActive is how many requests may be under way or waiting; one more is
	// refused with ResourceExhausted. 0: 1024.
	MaxActive int
	// Chunk is how many draws are made for one request before the next has its
	// turn, and how many may still be made after a request was given up. 0:
	// 65536, about 30 µs.
	Chunk int
	// Seed returns the starting state of each worker, 0 to Workers−1. Nil: from
	// the operating system's generator. Tests set it to have no luck in them.
	Seed func(worker int) Seed
}

// Pool draws for many requests at once. Requests take turns chunk by chunk, so
// that a small one finishes next to a large one. It is safe for concurrent use
// and must be closed.
type Pool struct {
	maxActive int
	chunk     int
	workers   sync.WaitGroup

	mu sync.Mutex // guards the following
	// work is signalled when queue or closed change.
	work *sync.Cond
	// queue are the *tasks with draws not yet handed out, the next in front.
	queue  list.List
	active int
	drawn  uint64
	closed bool
}

// task is one request. Pool.mu guards all of it; done is closed under it.
type task struct {
	unassigned int // draws not yet handed to a worker
	pending    int // draws handed out and not yet added up
	sum        int64
	position   *list.Element // the place in Pool.queue while unassigned > 0
	// done is closed when all was added up, or when the pool was closed first.
	done chan struct{}
	// abandoned says that nobody waits for done any more.
	abandoned bool
	// wear labels a worker's goroutine with the request that it draws for.
	wear func()
}

func (t *task) complete() bool { return t.unassigned == 0 && t.pending == 0 }

// New starts the workers.
func New(o Options) *Pool {
	o.Workers = cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	o.MaxActive = cmp.Or(max(o.MaxActive, 0), 1024)
	o.Chunk = cmp.Or(max(o.Chunk, 0), 1<<16)
	if o.Seed == nil {
		o.Seed = systemSeed
	}
	p := &Pool{maxActive: o.MaxActive, chunk: o.Chunk}
	p.work = sync.NewCond(&p.mu)
	for i := range o.Workers {
		p.workers.Go(func() { p.run(newGenerator(o.Seed(i))) })
	}
	return p
}

// Count makes times draws and gives their sum, 0 to 100·times. Errors are
// *whittle.Error: Invalid below 0, ResourceExhausted when MaxActive requests
// are under way, Canceled and DeadlineExceeded with ctx (or the code of its
// cause, where that is a coded error), Unavailable once the pool is closed.
func (p *Pool) Count(ctx context.Context, times int32) (int64, error) {
	if times < 0 {
		return 0, whittle.Errorf(whittle.Invalid, "times is %d, it must be 0 to 2147483647", times).WithField("times")
	}
	if ctx.Err() != nil {
		return 0, endOf(ctx)
	}
	if times == 0 {
		return 0, nil
	}
	t := &task{unassigned: int(times), done: make(chan struct{}), wear: label.Wear(ctx)}
	if err := p.enqueue(t); err != nil {
		return 0, err
	}
	select {
	case <-t.done:
	case <-ctx.Done():
	}
	return p.dequeue(ctx, t)
}

// enqueue gives t its first turn.
func (p *Pool) enqueue(t *task) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed()
	}
	if p.active >= p.maxActive {
		return whittle.Errorf(whittle.ResourceExhausted, "%d requests are already under way", p.active).
			WithHint("try again in a moment")
	}
	p.active++
	t.position = p.queue.PushBack(t)
	p.work.Signal()
	return nil
}

// dequeue takes t out, finished or not, and says what became of it.
func (p *Pool) dequeue(ctx context.Context, t *task) (int64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active--
	if t.complete() {
		return t.sum, nil
	}
	t.abandoned = true
	if t.unassigned > 0 {
		p.queue.Remove(t.position)
		t.unassigned = 0
	}
	if p.closed && ctx.Err() == nil {
		return 0, errClosed()
	}
	return 0, endOf(ctx)
}

// run is one worker.
func (p *Pool) run(g *generator) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for p.queue.Len() == 0 && !p.closed {
			p.work.Wait()
		}
		if p.closed {
			return
		}
		t, n := p.take()
		p.mu.Unlock()
		t.wear()
		s := g.draw(n)
		p.mu.Lock()
		p.drawn += uint64(n)
		t.sum += int64(s)
		t.pending -= n
		if t.complete() && !t.abandoned {
			close(t.done)
		}
	}
}

// take hands out the next chunk; the caller holds mu and queue is not empty.
func (p *Pool) take() (*task, int) {
	t := p.queue.Front().Value.(*task)
	n := min(t.unassigned, p.chunk)
	t.unassigned -= n
	t.pending += n
	if t.unassigned == 0 {
		p.queue.Remove(t.position)
	} else {
		p.queue.MoveToBack(t.position)
		p.work.Signal()
	}
	return t, n
}

// Load says how many requests are under way and how many draws were made since
// the start, those for requests that were given up included.
func (p *Pool) Load() (active int, drawn uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active, p.drawn
}

// Close ends the workers after their present chunk and waits for them.
// Requests that still had draws to hand out end with Unavailable. A second
// Close only waits.
func (p *Pool) Close() {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		for e := p.queue.Front(); e != nil; e = e.Next() {
			close(e.Value.(*task).done)
		}
	}
	p.work.Broadcast()
	p.mu.Unlock()
	p.workers.Wait()
}

func errClosed() error { return whittle.Errorf(whittle.Unavailable, "the service is closing down") }

// endOf turns a context's end into a coded error.
func endOf(ctx context.Context) error {
	cause := context.Cause(ctx)
	code := whittle.CodeOf(cause)
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		code = whittle.DeadlineExceeded
	case errors.Is(cause, context.Canceled):
		code = whittle.Canceled
	}
	return whittle.Errorf(code, "count ended early: %w", cause)
}
