package relay

import (
	"context"
	"errors"
	"slices"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// work is a worker's loop: take what is due, send it, apply the results.
func (d *drain) work(ctx context.Context, w int) {
	var batch []*item
	var records []stream.Record
	for ctx.Err() == nil {
		var until time.Time
		batch, until = d.due(w, batch[:0])
		if len(batch) == 0 {
			d.idle(ctx, w, until)
			continue
		}
		var fit, doubtful, poisoned []*item
		for _, it := range batch {
			switch {
			case it.rejection != nil:
				poisoned = append(poisoned, it)
			case it.unknown:
				doubtful = append(doubtful, it)
			default:
				fit = append(fit, it)
			}
		}
		switch {
		case len(doubtful) > 0:
			// Nothing of these queues may go before it is known what went.
			d.resolve(ctx, w, doubtful)
		case len(fit) > 0:
			records = d.send(ctx, w, fit, records[:0])
		}
		d.appendDead(ctx, w, poisoned)
		clear(batch)
		clear(records)
	}
}

// due returns what worker w may send now, or the time at which to check again;
// zero: none.
func (d *drain) due(w int, batch []*item) ([]*item, time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unsaved >= d.limits.Window {
		d.saveNow.Notify()
		return batch, time.Time{}
	}
	now := time.Now()
	if d.backoffs[w].until.After(now) {
		return batch, d.backoffs[w].until
	}
	return d.win.take(w, len(d.backoffs), now, d.limits.Batch, d.limits.BatchBytes, batch)
}

func (d *drain) idle(ctx context.Context, w int, until time.Time) {
	var timer <-chan time.Time
	if !until.IsZero() {
		t := time.NewTimer(time.Until(until))
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-d.wake[w]:
	case <-timer:
	case <-ctx.Done():
	}
}

// send appends items to the sink and applies the results.
func (d *drain) send(ctx context.Context, w int, items []*item, records []stream.Record) []stream.Record {
	d.mu.Lock()
	for _, it := range items {
		d.tail.sent(it)
		records = append(records, it.record)
	}
	d.mu.Unlock()
	results := appendWithin(ctx, d.sink, records, d.limits.Timeout)
	var o outcome
	d.mu.Lock()
	o.classify(items, results)
	for i, it := range items {
		if results[i].Err == nil {
			d.tail.acknowledged(results[i].Position)
			d.rate.Add(time.Now(), 1, it.size)
		}
		if it.unknown && (!it.marked || d.unreadable != "") {
			it.unknown = false
			d.tally.resent++
		}
	}
	d.checkpoint.Sent += uint64(len(o.settled))
	d.tally.reordered += uint64(o.reordered)
	news := d.apply(ctx, w, atSink, &o)
	d.mu.Unlock()
	d.trouble.say(news)
	d.appendDead(ctx, w, o.rejected)
	return records
}

// appendWithin returns one result a record, whatever the stream did.
func appendWithin(ctx context.Context, s stream.Stream, records []stream.Record, limit time.Duration) []stream.Result {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	results := s.Append(ctx, records)
	if len(results) == len(records) {
		return results
	}
	err := whittle.Errorf(whittle.Internal, "append: %d results for %d records", len(results), len(records))
	return slices.Repeat([]stream.Result{{Err: err}}, len(records))
}

// appendDead appends items to the dead letters. An item that is stored there is
// settled.
func (d *drain) appendDead(ctx context.Context, w int, items []*item) {
	if len(items) == 0 {
		return
	}
	if d.dead == nil {
		it := items[0]
		d.stopForGood(whittle.Errorf(whittle.Invalid, "the target refuses the record at %s/%s: %w", it.at.Partition, it.at.Offset, it.rejection).
			WithHint("give a log for what the target refuses (--refused DIR)"))
		return
	}
	letters := make([]stream.Record, len(items))
	for i, it := range items {
		letters[i] = d.deadLetter(it)
	}
	results := appendWithin(ctx, d.dead, letters, d.limits.Timeout)
	var o outcome
	for i, it := range items {
		if err := results[i].Err; err != nil {
			o.fail(it, err)
			continue
		}
		o.settled = append(o.settled, it)
		d.trouble.log.Warn("appended a record to the dead letters",
			"partition", it.at.Partition, "offset", it.at.Offset, "id", it.record.ID, "reason", it.rejection)
	}
	d.finishCall(ctx, w, &o)
}

func (d *drain) finishCall(ctx context.Context, w int, o *outcome) {
	d.mu.Lock()
	d.checkpoint.Dead += uint64(len(o.settled))
	news := d.apply(ctx, w, atDead, o)
	d.mu.Unlock()
	d.trouble.say(news)
}

// resolve scans the sink for the items whose outcome is not known.
func (d *drain) resolve(ctx context.Context, w int, items []*item) {
	wanted := make(map[uint64]bool, len(items))
	for _, it := range items {
		wanted[it.seq] = true
	}
	d.mu.Lock()
	ends := d.tail.oldest(items)
	d.mu.Unlock()
	found, err := d.scanner.scan(ctx, ends, func(seq uint64) bool { return wanted[seq] })
	blind := errors.Is(err, errUnreadable)
	var o outcome
	d.mu.Lock()
	if blind {
		d.unreadable = err.Error()
	}
	for _, it := range items {
		sum, had := found[it.seq]
		switch {
		case had && sum == it.record.Sum:
			o.settled = append(o.settled, it)
		case err == nil:
			it.unknown = false
		case blind, errors.Is(err, errTooFar), errors.Is(err, stream.ErrNothingRead) && it.silent >= maxSilentScans:
			it.unknown, it.silent = false, 0
			d.tally.resent++
		default:
			if errors.Is(err, stream.ErrNothingRead) {
				it.silent++
			}
			o.fail(it, err)
		}
	}
	d.checkpoint.Sent += uint64(len(o.settled))
	d.tally.deduplicated += uint64(len(o.settled))
	news := d.apply(ctx, w, atSink, &o)
	d.mu.Unlock()
	d.trouble.say(news)
}
