package relay

import (
	"context"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// outcome sorts the items of a call by their results.
type outcome struct {
	settled, rejected, failed []*item
	err                       error // the last failure
	reordered                 int   // successes behind a failure of the same key
}

func (o *outcome) fail(it *item, err error) {
	o.failed = append(o.failed, it)
	o.err = err
}

// classify reads the results by the contract of stream.Result. After a code
// that the contract does not name, it is not known whether the record was
// stored.
func (o *outcome) classify(items []*item, results []stream.Result) {
	var behind map[string]bool
	for i, it := range items {
		err := results[i].Err
		if err == nil {
			o.settled = append(o.settled, it)
			if it.record.Key != "" && behind[it.record.Key] {
				o.reordered++
			}
			continue
		}
		switch whittle.CodeOf(err) {
		case whittle.Invalid:
			it.rejection = err
			o.rejected = append(o.rejected, it)
			continue
		case whittle.ResourceExhausted, whittle.Unavailable:
		default:
			it.unknown = true
		}
		o.fail(it, err)
		if behind == nil {
			behind = map[string]bool{}
		}
		behind[it.record.Key] = true
	}
}

// apply settles items and decides who backs off, and how long: the whole worker
// when nothing succeeded, else the queues in which something failed. mu is
// held. It returns what to log after mu is released.
func (d *drain) apply(ctx context.Context, w int, at component, o *outcome) troubleChange {
	now := time.Now()
	var went, stuck [keyQueues]bool
	for _, it := range o.settled {
		went[it.queue] = true
	}
	for _, it := range o.rejected {
		went[it.queue] = true
	}
	for _, it := range o.failed {
		stuck[it.queue] = true
	}
	d.win.settle(o.settled)
	through := len(o.settled)+len(o.rejected) > 0
	if h := &d.backoffs[w]; !through && len(o.failed) > 0 {
		h.until = now.Add(d.limits.backoff(h.attempt))
		h.attempt++
	} else {
		*h = workerBackoff{}
	}
	for i := range keyQueues {
		l := &d.win.queues[i]
		if went[i] || len(l.queue) == 0 {
			l.attempt, l.until = 0, time.Time{}
		}
		if stuck[i] && through {
			l.until = now.Add(d.limits.backoff(l.attempt))
			l.attempt++
		}
	}
	if len(o.settled) > 0 {
		d.moved(len(o.settled))
	}
	// Trouble ends when nothing waits any more. A call that was given up because
	// the drain ends is none.
	switch {
	case len(o.failed) > 0 && ctx.Err() == nil:
		return d.trouble.failed(at, o.err, now)
	case len(o.failed) == 0 && len(o.settled) > 0 && d.waiting() == 0:
		return d.trouble.worked(at, now)
	}
	return troubleChange{}
}

// waiting is how many queues wait to be tried again. mu is held.
func (d *drain) waiting() int {
	n := 0
	for i := range keyQueues {
		l := &d.win.queues[i]
		if len(l.queue) > 0 && (l.attempt > 0 || d.backoffs[i%len(d.backoffs)].attempt > 0) {
			n++
		}
	}
	return n
}
