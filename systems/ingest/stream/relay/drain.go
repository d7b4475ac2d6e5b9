package relay

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"whittle/systems/ingest/stream"
)

// drain sends what is offered to it to a sink, in order by key and several
// calls at once, and keeps on disk where it stands.
type drain struct {
	sink, dead stream.Stream
	pace       Pace
	id         string
	looker     looker
	store      *positions
	rate       meter
	trouble    troubles
	values     packer // of the one that offers
	// digest makes the third part of an origin; nil: there is none, and a
	// record without room for its origin goes without.
	digest func(*stream.Record) string
	// halt ends the drain for good where a record is refused and there are no
	// dead letters; nil: there always are.
	halt func(error)
	// saved is called after each save with what was saved; nil: nobody is told.
	saved func(context.Context, place)

	ready  chan struct{}   // closed when it is known what the sink already has
	saveMe chan struct{}   // a save is due before its time; capacity 1
	room   chan struct{}   // there may be room in the window; capacity 1
	wake   []chan struct{} // there may be work, by worker; capacity 1 each
	tasks  sync.WaitGroup

	mu       sync.Mutex // guards the following
	win      window
	tail     *tail
	held     []hold            // by worker
	found    map[uint64]uint32 // number → checksum of what the sink had at the start
	foundTo  uint64            // the highest number in found
	unsaved  int               // settled and not on disk as such
	progress chan struct{}     // closed when low moves or a save is done; nil: nobody waits
	place    place             // counts as they are, the rest as last saved
	tally    tally
	blind    string // why the sink cannot be asked what it has; empty: it can
}

// hold is a worker's wait after calls in which nothing went through.
type hold struct {
	attempt int
	until   time.Time
}

// tally counts what happened since the start.
type tally struct {
	spared   uint64 // found at the sink's end, and not sent again
	repeated uint64 // sent again without knowing whether the sink has it
	passed   uint64 // orders by key that the sink broke within a call
}

func newDrain(sink, dead stream.Stream, p Pace, at place, store *positions, log *slog.Logger) *drain {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	d := &drain{
		sink: sink, dead: dead, pace: p, id: at.ID, place: at, store: store,
		looker:  looker{sink: sink, id: at.ID, limit: p.Lookback, quiet: p.Quiet},
		trouble: troubles{log: log},
		ready:   make(chan struct{}), saveMe: make(chan struct{}, 1), room: make(chan struct{}, 1),
		held: make([]hold, p.Inflight), tail: newTail(at.Ends),
	}
	d.win.next, d.win.last = at.Next, at.Last
	for range p.Inflight {
		d.wake = append(d.wake, make(chan struct{}, 1))
	}
	return d
}

func newPlace() place { return place{ID: newID(), Lanes: make([]uint64, lanes), Clean: true} }

func ring(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run learns what the sink has, drains until ctx ends, and returns when all
// that it started has ended.
func (d *drain) run(ctx context.Context) {
	if !d.prime(ctx) {
		return
	}
	for w := range d.pace.Inflight {
		d.tasks.Go(func() { d.work(ctx, w) })
	}
	d.keep(ctx)
	d.tasks.Wait()
}

// offer puts a record into the window, and waits while that is full. The
// record's memory is the caller's again. One goroutine offers.
func (d *drain) offer(ctx context.Context, seq uint64, e *stream.Entry) error {
	it := d.newItem(seq, e)
	return d.enter(ctx, it.size, func() { d.admit(it) })
}

// enter calls add with mu held, once there is room in the window for an item of
// so many bytes.
func (d *drain) enter(ctx context.Context, size int, add func()) error {
	for {
		d.mu.Lock()
		if d.win.open == 0 || d.win.open < d.pace.Window && d.win.span() < 2*d.pace.Window && d.win.bytes+size <= d.pace.WindowBytes {
			add()
			d.mu.Unlock()
			return nil
		}
		d.mu.Unlock()
		select {
		case <-d.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// admit is called with mu held. What is settled already is only counted past.
func (d *drain) admit(it *item) {
	sum, had := d.found[it.seq]
	switch {
	case it.seq < d.place.Lanes[it.lane]:
		it.settle()
	case had && sum == it.record.Sum:
		it.settle()
		d.tally.spared++
		d.place.Sent++
	}
	d.win.add(it)
	if it.settled {
		d.moved(0)
		return
	}
	ring(d.wake[it.lane%len(d.wake)])
}

// pass moves the window over a number that has no record to send, and waits
// while that is full.
func (d *drain) pass(ctx context.Context, seq uint64, at stream.Position, count func(*place)) error {
	return d.enter(ctx, 0, func() {
		count(&d.place)
		d.win.add(&item{seq: seq, at: at, settled: true})
		d.moved(1)
	})
}

// moved is called with mu held when n more items are settled.
func (d *drain) moved(n int) {
	d.unsaved += n
	if d.unsaved >= d.pace.Window/2 {
		ring(d.saveMe)
	}
	if d.found != nil && d.win.low() > d.foundTo {
		d.found = nil
	}
	ring(d.room)
	d.tell()
}

// tell is called with mu held.
func (d *drain) tell() {
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

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
