package embedded

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// intake is the queue of appends: a batch that is filled while the one before
// it is written. Appends that do not fit wait in their caller's goroutine.
type intake struct {
	limit int
	wake  notify.Signal // the committer should look

	refused atomic.Pointer[whittle.Error] // why nothing is taken; nil: it is. Changed under mu

	mu     sync.Mutex // guards the following
	open   *batch
	closed bool
	want   int           // the committer waits for so many appends; 0: it does not
	space  chan struct{} // closed when there is room again or no hope of it; nil: nobody waits
}

// run is a part of one call: records that follow each other in the call and in
// one batch.
type run struct {
	result   *commitResult
	wait     *commitWait
	from, to int // indexes of the call's records
	slot     int // where the first of them is in the batch
}

// put adds records from an index on whose result has no error yet, until the
// open batch is full. space is what to wait for then; nil: all are in.
func (in *intake) put(ctx context.Context, records []stream.Record, results []stream.Result, from int, runs []run) (_ []run, next int, space <-chan struct{}, err *whittle.Error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if err := in.refused.Load(); err != nil {
		return runs, from, nil, err
	}
	b := in.open
	before := b.count
	i := from
	for ; i < len(records); i++ {
		if results[i].Err != nil {
			continue
		}
		if !b.fits(stream.EncodedLen(&records[i]), in.limit) {
			break
		}
		slot := b.add(&records[i])
		if n := len(runs); n > 0 && runs[n-1].result == b.result && runs[n-1].to == i {
			runs[n-1].to = i + 1
		} else {
			runs = append(runs, run{b.result, b.result.waitOf(ctx), i, i + 1, slot})
		}
	}
	if b.count > before {
		b.appends++
	}
	full := i < len(records)
	if before == 0 || full || in.want > 0 && b.appends >= in.want {
		in.wake.Notify()
	}
	if full {
		if in.space == nil {
			in.space = make(chan struct{})
		}
		return runs, i, in.space, nil
	}
	return runs, i, nil, nil
}

func (in *intake) lockedNotifySpace() {
	if in.space != nil {
		close(in.space)
		in.space = nil
	}
}

// take waits for a batch that is not empty, delays it as the pacer says, and
// replaces it with idle. It returns nil when the intake is closed and empty.
func (in *intake) take(idle *batch, p *commitPacer, timer *time.Timer) *batch {
	in.mu.Lock()
	defer in.mu.Unlock()
	budget, want := p.delay(in.open.appends)
	for in.open.count == 0 {
		if in.closed {
			return nil
		}
		in.lockedWait(nil)
	}
	if budget > 0 {
		timer.Reset(budget)
		in.want = want
		for in.open.appends < want && in.space == nil && !in.closed && in.lockedWait(timer.C) {
		}
		timer.Stop()
		in.want = 0
	}
	b := in.open
	in.open = idle
	in.lockedNotifySpace()
	return b
}

// lockedWait waits for a notification, which it reports, or for time.
func (in *intake) lockedWait(time <-chan time.Time) bool {
	in.mu.Unlock()
	defer in.mu.Lock()
	select {
	case <-in.wake:
		return true
	case <-time:
		return false
	}
}

// refuse accepts nothing more and fails the appends in the open batch. They
// were certainly not stored.
func (in *intake) refuse(err *whittle.Error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.refused.Store(err)
	}
	if in.open.count > 0 {
		in.open.result.err = err
		in.open.result.settle()
		in.open.reset()
	}
	in.lockedNotifySpace()
}

// accept takes appends again.
func (in *intake) accept() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.closed {
		in.refused.Store(nil)
	}
}

// close accepts nothing more; appends in the open batch are still committed.
func (in *intake) close(err *whittle.Error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	in.refused.Store(err)
	in.wake.Notify()
	in.lockedNotifySpace()
}

// refusal is the reason why appends are refused; nil: they are accepted.
func (in *intake) refusal() *whittle.Error { return in.refused.Load() }
