package relay

import (
	"cmp"
	"log/slog"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Options are a relay's. Zero fields have the defaults that are named there.
type Options struct {
	// Dir is the folder of the checkpoint; it is created where it is missing. Needed.
	Dir string
	// Refused takes the records that the sink calls Invalid, with one header more
	// (ReasonHeader). Needed.
	Refused stream.Stream
	// Keep leaves drained records in the log until its own retention drops them, or until
	// it is short of room. Otherwise they go at once.
	Keep bool
	// Low is below how many bytes of free room the log counts as short of it, so
	// that drained records leave, the oldest first. It is at least two of the log's
	// segments and what comes in between two saves: a log frees room by whole segments, and
	// refuses nothing until the last byte of the last one is used (0: 256 MiB).
	Low int64
	// Batch and BatchBytes bound one call of the sink's Append, in records (0:
	// 2,000) and encoded bytes (0: 4 MiB). One record always goes.
	Batch, BatchBytes int
	// Inflight is how many calls may be in flight at once (0: 16). The records of one key
	// are never in two of them.
	Inflight int
	// Window and WindowBytes bound what has been read and is not settled yet,
	// in records (0: 65,536) and bytes (0: 64 MiB). Twice Window bounds how far the drain
	// goes beyond what the saved checkpoint covers: what may come to the sink again after
	// a crash.
	Window, WindowBytes int
	// Timeout bounds one call of the sink (0: one minute). It is longer than the
	// sink's own patience, so that the sink itself says what became of a record.
	Timeout time.Duration
	// Save is how often the checkpoint is written, at most, while Window is not
	// reached (0: one second).
	Save time.Duration
	// BackoffMin and BackoffMax bound the wait after a failure: uniformly drawn
	// below BackoffMin·2^n and BackoffMax (0: 100 ms and 30 s).
	BackoffMin, BackoffMax time.Duration
	// Log gets what an operator should know. Nil: nobody.
	Log *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Refused == nil:
		return o, whittle.Errorf(whittle.Invalid, "open relay: no stream for what the sink refuses")
	case min(o.Low, int64(o.Batch), int64(o.BatchBytes), int64(o.Inflight), int64(o.Window), int64(o.WindowBytes)) < 0,
		min(o.Timeout, o.Save, o.BackoffMin, o.BackoffMax) < 0:
		return o, whittle.Errorf(whittle.Invalid, "open relay: a bound is below 0")
	}
	o.Low = cmp.Or(o.Low, 256<<20)
	o.Batch = cmp.Or(o.Batch, 2000)
	o.BatchBytes = cmp.Or(o.BatchBytes, 4<<20)
	o.Inflight = cmp.Or(o.Inflight, 16)
	o.Window = cmp.Or(o.Window, 1<<16)
	o.WindowBytes = cmp.Or(o.WindowBytes, 64<<20)
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.Save = cmp.Or(o.Save, time.Second)
	o.BackoffMin = cmp.Or(o.BackoffMin, 100*time.Millisecond)
	o.BackoffMax = cmp.Or(o.BackoffMax, 30*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o, nil
}
