package relay

import (
	"context"
	"errors"
	"time"
)

// prime learns what the sink already has of what comes, for as long as it
// takes, and has the place on disk before the first record is sent. It reports
// false when ctx ended before.
func (d *drain) prime(ctx context.Context) bool {
	silent := 0
	for attempt := 0; ; attempt++ {
		at, err := atSink, d.learn(ctx, silent)
		if err == nil {
			d.trouble.end(atSink, time.Now())
			at, err = atPosition, d.save(false)
		}
		if err == nil {
			close(d.ready)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if errors.Is(err, errSilent) {
			silent++
		}
		d.trouble.begin(at, err, time.Now())
		if !sleep(ctx, d.pace.backoff(attempt)) {
			return false
		}
	}
}

// learn reads the sink from where an earlier run may have sent something that
// it did not save, or, where there is no such thing, only asks for its ends. It
// was tried so many times already with a sink that stayed silent.
func (d *drain) learn(ctx context.Context, silent int) error {
	d.mu.Lock()
	clean, ends, low := d.place.Clean, d.place.Ends, d.place.Next
	d.mu.Unlock()
	var found map[uint64]uint32
	var err error
	if !clean {
		found, err = d.looker.look(ctx, ends, func(seq uint64) bool { return seq >= low })
	}
	var blind string
	switch {
	case errors.Is(err, errBlind):
		blind = err.Error()
		d.trouble.log.Warn("what the sink has of the last records is not known: they may arrive twice", "error", err)
	case errors.Is(err, errTooFar), errors.Is(err, errSilent) && silent >= silentLooks:
		d.trouble.log.Warn("what the sink has could not be read to its end: records may arrive twice", "error", err)
	case err != nil:
		return err
	}
	if clean || err != nil {
		if ends, err = d.looker.ends(ctx); errors.Is(err, errBlind) {
			blind = err.Error()
		} else if err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blind, d.tail = blind, newTail(ends)
	d.recall(found)
	return nil
}

// recall settles what was found and is in the window already, and keeps the
// rest for what will be offered. mu is held.
func (d *drain) recall(found map[uint64]uint32) {
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
	d.tally.spared += uint64(len(had))
	d.place.Sent += uint64(len(had))
	d.win.settle(had)
	d.moved(len(had))
}

// keep saves the place now and then until ctx ends.
func (d *drain) keep(ctx context.Context) {
	tick := time.NewTicker(d.pace.Save)
	defer tick.Stop()
	for attempt := 0; ; {
		select {
		case <-tick.C:
		case <-d.saveMe:
		case <-ctx.Done():
			return
		}
		d.mu.Lock()
		idle := d.unsaved == 0 && d.win.low() == d.place.Next
		d.mu.Unlock()
		if !idle {
			if err := d.save(false); err != nil {
				d.trouble.begin(atPosition, err, time.Now())
				if !sleep(ctx, d.pace.backoff(attempt)) {
					return
				}
				attempt++
				ring(d.saveMe)
				continue
			}
			attempt = 0
			d.trouble.end(atPosition, time.Now())
		}
		if d.saved != nil {
			d.mu.Lock()
			p := d.place
			d.mu.Unlock()
			d.saved(ctx, p)
		}
	}
}

// save writes the place. It is called by one goroutine at a time. The last
// save of a run, once the workers have ended, says whether anything beyond the
// place was sent.
func (d *drain) save(last bool) error {
	d.mu.Lock()
	p := d.place
	p.Next, p.Last, p.Lanes = d.win.low(), d.win.last, d.win.settledTo()
	for i, n := range d.place.Lanes {
		p.Lanes[i] = max(p.Lanes[i], n)
	}
	if d.found != nil {
		p.Ends = d.place.Ends // a second crash must find what this one found
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
	d.place.Next, d.place.Last, d.place.Lanes, d.place.Ends, d.place.Clean = p.Next, p.Last, p.Lanes, p.Ends, p.Clean
	d.unsaved -= covered
	d.tell()
	for _, c := range d.wake {
		ring(c)
	}
	return nil
}

func (d *drain) isReady() bool {
	select {
	case <-d.ready:
		return true
	default:
		return false
	}
}
