// Package sum draws random numbers and adds them up, on a bounded number of cores for
// the whole process. Each has its own generator.
package sum

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"whittle"
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
	// Seed returns the starting state of each generator, 0 to Workers−1. Nil: from
	// the operating system's generator. Tests set it to have no luck in them.
	Seed func(worker int) Seed
}

// Pool draws for many requests at once. Requests take turns chunk by chunk, so
// that a small one finishes next to a large one. It is safe for concurrent use
// and must be closed.
type Pool struct {
	maxActive int64
	chunk     int64
	// generators are those that nobody draws from. Who waits for one gets it in turn.
	generators chan *generator
	closed     chan struct{}
	close      sync.Once
	active     atomic.Int64
	drawn      atomic.Uint64
}

// New makes a pool.
func New(o Options) *Pool {
	o.Workers = cmp.Or(max(o.Workers, 0), runtime.GOMAXPROCS(0))
	o.MaxActive = cmp.Or(max(o.MaxActive, 0), 1024)
	o.Chunk = cmp.Or(max(o.Chunk, 0), 1<<16)
	if o.Seed == nil {
		o.Seed = systemSeed
	}
	p := &Pool{maxActive: int64(o.MaxActive), chunk: int64(o.Chunk), generators: make(chan *generator, o.Workers), closed: make(chan struct{})}
	for i := range o.Workers {
		p.generators <- newGenerator(o.Seed(i))
	}
	return p
}

// Count makes times draws and gives their sum, 0 to 100·times. Errors are
// *whittle.Error: Invalid below 0, ResourceExhausted when MaxActive requests
// are under way, Canceled and DeadlineExceeded with ctx (or the code of its
// cause, where that is a coded error), Unavailable once the pool is closed.
func (p *Pool) Count(ctx context.Context, times int32) (int64, error) {
	switch {
	case times < 0:
		return 0, whittle.Errorf(whittle.Invalid, "times is %d, it must be 0 to 2147483647", times).WithField("times")
	case ctx.Err() != nil:
		return 0, endOf(ctx)
	case times == 0:
		return 0, nil
	}
	defer p.active.Add(-1)
	if n := p.active.Add(1); n > p.maxActive {
		return 0, whittle.Errorf(whittle.ResourceExhausted, "%d requests are already under way", n-1).
			WithHint("try again in a moment")
	}
	t := &task{pool: p, ctx: ctx}
	t.left.Store(int64(times))
	var others sync.WaitGroup
	for range min(int64(cap(p.generators)), (int64(times)-1)/p.chunk+1) - 1 {
		others.Go(t.draw)
	}
	t.draw()
	others.Wait()
	switch {
	case t.drawn.Load() == int64(times):
		return t.sum.Load(), nil
	case ctx.Err() != nil:
		return 0, endOf(ctx)
	}
	return 0, whittle.Errorf(whittle.Unavailable, "the service is closing down")
}

// task is one request.
type task struct {
	pool             *Pool
	ctx              context.Context //nolint:containedctx // the request's, which several goroutines draw for
	left, drawn, sum atomic.Int64
}

// draw makes draws, chunk by chunk, until none is left, the request ends or the pool does.
func (t *task) draw() {
	p := t.pool
	for t.left.Load() > 0 && t.ctx.Err() == nil {
		select {
		case g := <-p.generators:
			if n := min(p.chunk, t.left.Add(-p.chunk)+p.chunk); n > 0 {
				t.sum.Add(int64(g.draw(int(n))))
				t.drawn.Add(n)
				p.drawn.Add(uint64(n))
			}
			p.generators <- g
		case <-t.ctx.Done():
		case <-p.closed:
			return
		}
	}
}

// Load says how many requests are under way and how many draws were made since
// the start, those for requests that were given up included.
func (p *Pool) Load() (active int, drawn uint64) { return int(p.active.Load()), p.drawn.Load() }

// Close ends the drawing after the present chunks and waits for them. Requests that
// are not done end with Unavailable. A second Close only waits.
func (p *Pool) Close() {
	p.close.Do(func() {
		close(p.closed)
		for range cap(p.generators) {
			<-p.generators
		}
	})
}

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
