package relay

import (
	"context"
	"errors"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

const readBatch = 256

// feed offers the log's records to the drain, in order, until ctx ends.
func (r *Relay) feed(ctx context.Context) {
	r.drain.mu.Lock()
	next := r.drain.win.next
	r.drain.mu.Unlock()
	for attempt := 0; ctx.Err() == nil; attempt++ {
		from := next
		err := r.pump(ctx, &next)
		if ctx.Err() != nil {
			return
		}
		if next > from {
			attempt = 0
		}
		r.drain.trouble.begin(atLog, err, time.Now())
		notify.Sleep(ctx, r.o.backoff(attempt))
	}
}

// pump reads from *next on until something fails.
func (r *Relay) pump(ctx context.Context, next *uint64) (err error) {
	reader, err := r.log.Read(ctx, r.at(*next))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	entries := make([]stream.Entry, readBatch)
	for {
		n, err := reader.Next(ctx, entries)
		for i := range entries[:n] {
			if err := r.feedOne(ctx, &entries[i], next); err != nil {
				return err
			}
		}
		if err == nil {
			r.drain.trouble.end(atLog, time.Now())
			continue
		}
		bad, corrupt := errors.AsType[*stream.CorruptError](err)
		if !corrupt {
			return err
		}
		if err := r.feedCorrupt(ctx, bad, next); err != nil {
			return err
		}
	}
}

func (r *Relay) feedOne(ctx context.Context, e *stream.Entry, next *uint64) error {
	seq, err := number(e.Position)
	switch {
	case err != nil:
		return err
	case seq < *next:
		return nil
	case seq > *next:
		r.drain.gap(*next, seq)
	}
	if !e.Intact() {
		return r.feedCorrupt(ctx, &stream.CorruptError{Position: e.Position, Reason: "the checksum does not match"}, next)
	}
	r.raise(seq + 1)
	r.read.records.Add(1)
	r.read.bytes.Add(uint64(stream.EncodedLen(&e.Record)))
	if err := r.drain.offer(ctx, seq, e); err != nil {
		return err
	}
	*next = seq + 1
	return nil
}

// feedCorrupt reports what cannot be read, and goes on behind it.
func (r *Relay) feedCorrupt(ctx context.Context, bad *stream.CorruptError, next *uint64) error {
	seq, err := number(bad.Position)
	if err != nil || seq < *next {
		return whittle.Errorf(whittle.Internal, "read log: no way past: %w", bad)
	}
	if seq > *next {
		r.drain.gap(*next, seq)
	}
	r.drain.trouble.log.Error("skipped a corrupt record of the log", "err", bad)
	err = r.drain.pass(ctx, seq, bad.Position, func(p *checkpoint) {
		if seq >= p.CorruptTo {
			p.Corrupt++
			p.CorruptTo = seq + 1
		}
	})
	if err != nil {
		return err
	}
	*next = seq + 1
	return nil
}

// gap says that the numbers from first to next (exclusive) are not in the log.
func (d *drain) gap(first, next uint64) {
	d.mu.Lock()
	if first >= d.checkpoint.MissingTo {
		d.checkpoint.Missing += next - first
		d.checkpoint.MissingTo = next
	}
	d.mu.Unlock()
	d.trouble.log.Error("records were removed from the log before they were drained", "from", first, "to", next)
}
