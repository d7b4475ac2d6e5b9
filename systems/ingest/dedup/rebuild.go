package dedup

import (
	"context"
	"fmt"
	"time"

	"whittle/systems/ingest/stream"
)

// Log is what a window is filled from: an embedded log.
type Log interface {
	// Bounds are the offset of the oldest record that is kept and the one behind the newest.
	Bounds() (first, next uint64, err error)
	// Walk hands out the records from an offset up to the end as of now.
	Walk(ctx context.Context, from uint64, visit func(*stream.Entry) error, corrupt func(*stream.CorruptError) error) error
}

// Rebuild adds the newest records of a log, as many as the window holds. It returns how many
// ids it added. It skips records without an id, expired ones and corrupt ones. tenant returns
// a record's tenant.
//
// What is expired is so next to the newest record: the time until now, in which
// nothing ran, counts for nothing, for the clock may be wrong. Nobody else may have
// the window yet.
func (w *Window) Rebuild(ctx context.Context, l Log, tenant func(*stream.Record) string, now time.Time) (learned int, err error) {
	first, next, err := l.Bounds()
	if err != nil {
		return 0, err
	}
	present, latest := w.second(now), uint32(0)
	err = l.Walk(ctx, max(first, next-min(uint64(w.entries), next)), func(e *stream.Entry) error {
		// A record is no older than those before it, and none is yet to come: a clock
		// that was wrong for a while has stamped some so.
		latest = min(max(second(e.Time), latest), present)
		if e.ID != "" && latest >= w.since(latest) {
			w.learn(Hash(tenant(&e.Record), e.ID), e.Position, latest)
			learned++
		}
		return nil
	}, func(*stream.CorruptError) error {
		w.corrupt++ // and the rest is learned
		return nil
	})
	if latest > 0 {
		w.behind = present - latest
	}
	if err != nil {
		return learned, fmt.Errorf("read the log: %w", err)
	}
	return learned, nil
}

// Corrupt is how many records Rebuild has met that could not be read: their ids are
// not known.
func (w *Window) Corrupt() uint64 { return w.corrupt }
