package relay

import (
	"context"
	"errors"
	"time"

	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// initialize finds out what the sink already has, for as long as it takes, and
// saves the checkpoint before the first record is sent. It returns false when
// ctx ended first.
func (d *drain) initialize(ctx context.Context) bool {
	silent := 0
	for attempt := 0; ; attempt++ {
		at, err := atSink, d.scanSink(ctx, silent)
		if err == nil {
			d.trouble.end(atSink, time.Now())
			at, err = atCheckpoint, d.save(false)
		}
		if err == nil {
			close(d.ready)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if errors.Is(err, stream.ErrNothingRead) {
			silent++
		}
		d.trouble.begin(at, err, time.Now())
		if err := d.saveEnd(); err != nil {
			d.trouble.begin(atCheckpoint, err, time.Now())
		}
		if !notify.Sleep(ctx, d.limits.backoff(attempt)) {
			return false
		}
	}
}

// saveEnd saves how far the log goes, and nothing else that was not saved, before anything
// is sent: a sink may be down for long.
func (d *drain) saveEnd() error {
	d.mu.Lock()
	p := d.checkpoint
	end := d.lockedEnd()
	d.mu.Unlock()
	if end == p.End {
		return nil
	}
	p.End = end
	if err := d.store.save(&p); err != nil {
		return err
	}
	d.mu.Lock()
	d.checkpoint.End = end
	d.mu.Unlock()
	return nil
}

// scanSink reads the sink from where an earlier run may have sent records
// without saving its checkpoint. After a clean end it only asks for the sink's
// ends. silent is how many scans have read nothing so far.
func (d *drain) scanSink(ctx context.Context, silent int) error {
	d.mu.Lock()
	clean, ends, low := d.checkpoint.Clean, d.checkpoint.Ends, d.checkpoint.Next
	d.mu.Unlock()
	var found map[uint64]uint32
	var err error
	if !clean {
		found, err = d.scanner.scan(ctx, ends, func(seq uint64) bool { return seq >= low })
	}
	var blind string
	switch {
	case errors.Is(err, errUnreadable):
		blind = err.Error()
		d.trouble.log.Warn("cannot tell which of the last records the sink has; they may arrive twice", "err", err)
	case errors.Is(err, errTooFar), errors.Is(err, stream.ErrNothingRead) && silent >= maxSilentScans:
		d.trouble.log.Warn("sink could not be read to its end; records may arrive twice", "err", err)
	case err != nil:
		return err
	}
	if clean || err != nil {
		if ends, err = d.scanner.ends(ctx); errors.Is(err, errUnreadable) {
			blind = err.Error()
		} else if err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unreadable, d.tail = blind, newTail(ends)
	d.applyFound(found)
	return nil
}

// applyFound settles what was found and is in the window already, and keeps the
// rest for what will be offered. mu is held.
func (d *drain) applyFound(found map[uint64]uint32) {
	if len(found) == 0 {
		return
	}
	d.found = found
	for seq := range found {
		d.foundTo = max(d.foundTo, seq)
	}
	var had []*item
	for _, it := range d.win.order {
		if sum, ok := found[it.seq]; ok && !it.settled && sum == it.record.Sum {
			had = append(had, it)
		}
	}
	d.tally.deduplicated += uint64(len(had))
	d.checkpoint.Sent += uint64(len(had))
	d.win.settle(had)
	d.moved(len(had))
}

// saveLoop saves the checkpoint now and then, until ctx ends.
func (d *drain) saveLoop(ctx context.Context) {
	tick := time.NewTicker(d.limits.Save)
	defer tick.Stop()
	for attempt := 0; ; {
		select {
		case <-tick.C:
		case <-d.saveNow:
		case <-ctx.Done():
			return
		}
		d.mu.Lock()
		idle := d.unsaved == 0 && d.win.low() == d.checkpoint.Next && d.lockedEnd() == d.checkpoint.End
		d.mu.Unlock()
		if !idle {
			if err := d.save(false); err != nil {
				d.trouble.begin(atCheckpoint, err, time.Now())
				if !notify.Sleep(ctx, d.limits.backoff(attempt)) {
					return
				}
				attempt++
				d.saveNow.Notify()
				continue
			}
			attempt = 0
			d.trouble.end(atCheckpoint, time.Now())
		}
		if d.saved != nil {
			d.mu.Lock()
			p := d.checkpoint
			d.mu.Unlock()
			d.saved(ctx, p)
		}
	}
}

// save writes the checkpoint. It is called by one goroutine at a time. The last
// save of a run, once the workers have ended, records whether anything beyond
// the checkpoint was sent.
func (d *drain) save(last bool) error {
	d.mu.Lock()
	p := d.checkpoint
	p.Next, p.Last, p.Fingerprint, p.End, p.Queues = d.win.low(), d.win.last, d.win.fingerprint, d.lockedEnd(), d.win.settledTo()
	for i, n := range d.checkpoint.Queues {
		p.Queues[i] = max(p.Queues[i], n)
	}
	if d.found != nil {
		p.Ends = d.checkpoint.Ends // a second crash must find what this one found
	} else {
		d.tail.rotate()
		p.Ends = d.tail.base()
	}
	p.Clean = last && d.found == nil && !d.tail.outstanding()
	covered := d.unsaved
	d.mu.Unlock()

	if err := d.store.save(&p); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.checkpoint.Next, d.checkpoint.Last, d.checkpoint.Fingerprint, d.checkpoint.End = p.Next, p.Last, p.Fingerprint, p.End
	d.checkpoint.Queues, d.checkpoint.Ends, d.checkpoint.Clean = p.Queues, p.Ends, p.Clean
	d.unsaved -= covered
	d.notifyProgress()
	for _, c := range d.wake {
		c.Notify()
	}
	return nil
}

// lockedEnd is how far the log has been known to go. mu is held.
func (d *drain) lockedEnd() uint64 {
	if d.end == nil {
		return d.checkpoint.End
	}
	return max(d.checkpoint.End, d.end())
}

func (d *drain) isReady() bool {
	select {
	case <-d.ready:
		return true
	default:
		return false
	}
}
