package relay

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// drain sends records to a sink, in order by key and with several calls in
// flight, and saves a checkpoint of how far it has come.
type drain struct {
	sink, dead stream.Stream
	limits     Limits
	id         string
	scanner    sinkScanner
	store      *checkpointStore
	rate       stream.Meter
	trouble    troubles
	values     packer // of the one that offers
	// digest makes the third part of an origin; nil: there is none, and a
	// record without room for its origin goes without.
	digest func(*stream.Record) string
	// stopForGood ends the drain for good where a record is refused and there are no
	// dead letters; nil: there always are.
	stopForGood func(error)
	// end is the number behind the last record that the log is known to have; nil: the
	// source has an end of its own.
	end func() uint64
	// saved is called after each save with what was saved; nil: nobody is notified.
	saved func(context.Context, checkpoint)

	ready      chan struct{}   // closed when it is known what the sink already has
	saveNow    notify.Signal   // a save is due before its time
	spaceFreed notify.Signal   // there may be room in the window
	wake       []notify.Signal // there may be work, by worker
	tasks      sync.WaitGroup

	mu         sync.Mutex // guards the following
	win        window
	tail       *tail
	backoffs   []workerBackoff   // by worker
	found      map[uint64]uint32 // number → checksum of what the sink had at the start
	foundTo    uint64            // the highest number in found
	unsaved    int               // settled and not on disk as such
	progress   chan struct{}     // closed when low moves or a save is done; nil: nobody waits
	checkpoint checkpoint        // counts as they are, the rest as last saved
	tally      tally
	unreadable string // why the sink cannot be asked what it has; empty: it can
}

// workerBackoff is a worker's wait after calls in which nothing went through.
type workerBackoff struct {
	attempt int
	until   time.Time
}

// tally counts what happened since the start.
type tally struct {
	deduplicated uint64 // found at the sink's end, and not sent again
	resent       uint64 // sent again without knowing whether the sink has it
	reordered    uint64 // orders by key that the sink broke within a call
}

func newDrain(sink, dead stream.Stream, p Limits, at checkpoint, store *checkpointStore, log *slog.Logger) *drain {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	d := &drain{
		sink: sink, dead: dead, limits: p, id: at.ID, checkpoint: at, store: store,
		scanner: sinkScanner{sink: sink, id: at.ID, limit: p.Lookback, idleTimeout: p.IdleTimeout},
		trouble: troubles{log: log},
		ready:   make(chan struct{}), saveNow: notify.New(), spaceFreed: notify.New(),
		backoffs: make([]workerBackoff, p.Inflight), tail: newTail(at.Ends),
	}
	d.win.next, d.win.last, d.win.fingerprint = at.Next, at.Last, at.Fingerprint
	for range p.Inflight {
		d.wake = append(d.wake, notify.New())
	}
	return d
}

func newCheckpoint() checkpoint {
	return checkpoint{ID: newID(), Queues: make([]uint64, keyQueues), Clean: true}
}

// run learns what the sink has, drains until ctx ends, and returns when all
// that it started has ended.
func (d *drain) run(ctx context.Context) {
	if !d.initialize(ctx) {
		return
	}
	for w := range d.limits.Inflight {
		d.tasks.Go(func() { d.work(ctx, w) })
	}
	d.saveLoop(ctx)
	d.tasks.Wait()
}

// offer adds a record to the window, and waits while that is full. The record's
// memory belongs to the caller again when offer returns. Only one goroutine
// offers.
func (d *drain) offer(ctx context.Context, seq uint64, e *stream.Entry) error {
	it := d.newItem(seq, e)
	return d.enter(ctx, it.size, func() { d.lockedAdd(it) })
}

// enter calls add with mu held, once there is room in the window for an item of
// so many bytes.
func (d *drain) enter(ctx context.Context, size int, add func()) error {
	for {
		d.mu.Lock()
		if d.win.open == 0 || d.win.open < d.limits.Window && d.win.span() < 2*d.limits.Window && d.win.bytes+size <= d.limits.WindowBytes {
			add()
			d.mu.Unlock()
			return nil
		}
		d.mu.Unlock()
		select {
		case <-d.spaceFreed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lockedAdd adds an item. mu is held. An item that is settled already is only
// counted.
func (d *drain) lockedAdd(it *item) {
	sum, had := d.found[it.seq]
	switch {
	case it.seq < d.checkpoint.Queues[it.queue]:
		it.settle()
	case had && sum == it.record.Sum:
		it.settle()
		d.tally.deduplicated++
		d.checkpoint.Sent++
	}
	d.win.add(it)
	if it.settled {
		d.moved(0)
		return
	}
	d.wake[it.queue%len(d.wake)].Notify()
}

// pass moves the window past a number that has no record to send, and waits
// while that is full.
func (d *drain) pass(ctx context.Context, seq uint64, at stream.Position, count func(*checkpoint)) error {
	return d.enter(ctx, 0, func() {
		count(&d.checkpoint)
		d.win.add(&item{seq: seq, at: at, settled: true})
		d.moved(1)
	})
}

// moved is called with mu held when n more items are settled.
func (d *drain) moved(n int) {
	d.unsaved += n
	if d.unsaved >= d.limits.Window/2 {
		d.saveNow.Notify()
	}
	if d.found != nil && d.win.low() > d.foundTo {
		d.found = nil
	}
	d.spaceFreed.Notify()
	d.notifyProgress()
}

// notifyProgress notifies those that wait for progress. mu is held.
func (d *drain) notifyProgress() {
	if d.progress != nil {
		close(d.progress)
		d.progress = nil
	}
}

// until waits until done, which is called with mu held, holds.
func (d *drain) until(ctx context.Context, done func() bool) error {
	for {
		d.mu.Lock()
		if done() {
			d.mu.Unlock()
			return nil
		}
		if d.progress == nil {
			d.progress = make(chan struct{})
		}
		progress := d.progress
		d.mu.Unlock()
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
