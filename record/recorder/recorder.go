// Package recorder records users' exchanges as they happen: it queues them
// within bounds, redacts them, and appends them to a journal. A caller that
// offers an exchange never waits. A full queue sheds exchanges, a failing disk
// loses only what was to be written, and all of it is counted.
package recorder

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/record/capture"
	"whittle/record/journal"
	"whittle/record/redact"
)

// Options make a recorder. Dir and Redactor are required.
type Options struct {
	// Dir is the journal's folder.
	Dir     string
	Journal journal.Options
	// Redactor removes secrets before anything reaches the disk.
	Redactor *redact.Redactor
	// QueueBytes bounds the bytes of the waiting exchanges, Queue their number.
	// 0: 32 MiB and 4,096.
	QueueBytes int64
	Queue      int
	// Flush is the interval between two writes to the disk. 0: one second.
	Flush time.Duration
	// Log receives messages for an operator. Nil: discarded.
	Log *slog.Logger

	create func(dir string, o journal.Options) (sink, error)
}

// sink is the part of *journal.Writer that is used.
type sink interface {
	Append(e *capture.Entry) error
	Describe(about []byte) error
	Flush() error
	Lost() uint64
	Unpacked() int64
	Close() error
}

func (o Options) withDefaults() Options {
	o.QueueBytes = cmp.Or(max(o.QueueBytes, 0), 32<<20)
	o.Queue = cmp.Or(max(o.Queue, 0), 4096)
	o.Flush = cmp.Or(max(o.Flush, 0), time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.create == nil {
		o.create = func(dir string, jo journal.Options) (sink, error) { return journal.Create(dir, jo) }
	}
	return o
}

// Recorder records exchanges. It is safe for concurrent use.
type Recorder struct {
	o        Options
	redactor atomic.Pointer[redact.Redactor]
	// run makes connection numbers differ from those of an earlier run that
	// wrote into the same folder.
	run uint64

	queue  chan item
	held   atomic.Int64 // bytes that wait
	counts counts
	stop   chan struct{}
	done   chan error

	mu     sync.RWMutex // guards the following; read-locked while offering
	closed bool
}

// item is a queued exchange.
type item struct {
	x    *whittle.Exchange
	size int64
}

// Open opens the journal and starts the recorder. It fails as journal.Create
// does.
func Open(o Options) (*Recorder, error) {
	o = o.withDefaults()
	if o.Redactor == nil {
		return nil, whittle.Errorf(whittle.Internal, "recorder: a redactor is required")
	}
	to, err := o.create(o.Dir, o.Journal)
	if err != nil {
		return nil, err
	}
	r := &Recorder{
		o: o, run: uint64(rand.Uint32()>>1) << 32,
		queue: make(chan item, o.Queue), stop: make(chan struct{}), done: make(chan error, 1),
	}
	r.redactor.Store(o.Redactor)
	go func() { r.done <- r.write(to) }()
	return r, nil
}

// Redact changes the rules for exchanges that are written from now on.
func (r *Recorder) Redact(with *redact.Redactor) { r.redactor.Store(with) }

// Offer queues an exchange, which must not be changed any more. It returns
// false where the queue is full; the exchange then counts as shed.
func (r *Recorder) Offer(x *whittle.Exchange) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	it := item{x, sizeOf(x)}
	if r.closed || r.held.Add(it.size) > r.o.QueueBytes {
		if !r.closed {
			r.held.Add(-it.size)
		}
		r.counts.shed.Add(1)
		return false
	}
	select {
	case r.queue <- it:
		return true
	default:
		r.held.Add(-it.size)
		r.counts.shed.Add(1)
		return false
	}
}

// sizeOf estimates the memory of an exchange, in bytes.
func sizeOf(x *whittle.Exchange) int64 {
	const perExchange, perField = 1 << 10, 64
	a := responseOf(x)
	n := perExchange + len(x.Request.Target) + len(x.Request.Body) + len(a.Body)
	for _, h := range []whittle.Header{x.Request.Header, a.Header, a.Trailer} {
		for name, values := range h {
			n += perField + len(name)
			for _, v := range values {
				n += len(v)
			}
		}
	}
	return int64(n)
}

func responseOf(x *whittle.Exchange) *whittle.Response {
	if x.Served == whittle.Candidate {
		return &x.Candidate
	}
	return &x.Monolith
}

// Close refuses further exchanges, writes those that wait, and closes the
// journal.
func (r *Recorder) Close() error {
	r.mu.Lock()
	was := r.closed
	r.closed = true
	r.mu.Unlock()
	if was {
		return nil
	}
	close(r.stop)
	return <-r.done
}

// write is the recorder's goroutine, which alone uses the journal.
func (r *Recorder) write(to sink) error {
	w := writing{r: r, to: to}
	tick := time.NewTicker(r.o.Flush)
	defer tick.Stop()
	for {
		select {
		case it := <-r.queue:
			w.keep(it)
		case <-tick.C:
			w.settle(to.Flush())
		case <-r.stop:
			for len(r.queue) > 0 { // nobody offers any more
				w.keep(<-r.queue)
			}
			err := to.Close()
			w.settle(err)
			return err
		}
	}
}

// writing is that goroutine's state.
type writing struct {
	r  *Recorder
	to sink
	// by is the redactor of the last exchange; the journal describes its rules.
	by *redact.Redactor
	// pending counts what was appended since the last write.
	pending int
	// lost counts what the journal has lost so far; failing says that the last
	// write failed, which is logged once.
	lost    uint64
	failing bool
}

// keep redacts one exchange and appends it.
func (w *writing) keep(it item) {
	r := w.r
	defer r.held.Add(-it.size)
	by := r.redactor.Load()
	e, err := r.entry(it.x, by)
	if err != nil {
		r.counts.dropped.Add(1)
		r.o.Log.Error("an exchange was not recorded", "err", err)
		return
	}
	if by != w.by {
		w.by = by
		if err := w.to.Describe(by.Describe().JSON()); err != nil {
			w.settle(err)
		}
	}
	if err = w.to.Append(e); errors.Is(err, capture.ErrEntry) {
		r.counts.dropped.Add(1)
		return
	}
	w.pending++
	r.counts.appended.Add(1)
	r.counts.bytes.Store(w.to.Unpacked())
	if e.Request.Truncated || e.Response.Truncated {
		r.counts.bodiless.Add(1)
	}
	if e.Response.Failure != whittle.NoFailure {
		r.counts.failed.Add(1)
	}
	if err != nil {
		w.settle(err)
	}
}

// entry is the redacted entry of an exchange. Where the redactor panics,
// nothing is written.
func (r *Recorder) entry(x *whittle.Exchange, by *redact.Redactor) (e *capture.Entry, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("redacting panicked: %v\n%s", p, debug.Stack())
		}
	}()
	e = &capture.Entry{Route: x.Route, At: x.At, Served: x.Served, Request: x.Request, Response: *responseOf(x)}
	if x.Conn != 0 {
		e.Conn = r.run | x.Conn&(1<<32-1)
	}
	by.Request(&e.Request)
	by.Response(&e.Response)
	fit(&e.Request.Body, &e.Request.Truncated)
	fit(&e.Response.Body, &e.Response.Truncated)
	return e, nil
}

// fit removes a body that is larger than the log accepts, perhaps because it
// was decompressed; the exchange is recorded without it.
func fit(body *[]byte, truncated *bool) {
	if len(*body) > capture.MaxBody {
		*body, *truncated = nil, true
	}
}

// settle counts the outcome of a write.
func (w *writing) settle(err error) {
	lost := w.to.Lost()
	w.r.counts.lost.Add(int64(lost - w.lost))
	w.lost = lost
	if err != nil {
		w.r.counts.failures.Add(1)
	}
	proof := err != nil || w.pending > 0 // writing nothing proves nothing
	w.pending = 0
	if !proof || (err != nil) == w.failing {
		return
	}
	w.failing = err != nil
	if w.failing {
		w.r.o.Log.Error("exchanges cannot be recorded; users are not touched", "dir", w.r.o.Dir, "err", err)
	} else {
		w.r.o.Log.Info("exchanges are recorded again", "dir", w.r.o.Dir)
	}
}
