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
	// Batch bounds one call of the sink's Append, in records (0: 2,000).
	Batch int
	// Inflight is how many calls may be in flight at once (0: 16). The records of one key
	// are never in two of them.
	Inflight int
	// Window bounds what has been read and is not settled yet, in records (0: 65,536).
	// Twice Window bounds how far the drain
	// goes beyond what the saved checkpoint covers: what may come to the sink again after
	// a crash.
	Window int
	// Timeout bounds one call of the sink (0: one minute). It is longer than the
	// sink's own patience, so that the sink itself says what became of a record.
	Timeout time.Duration
	// Save is how often the checkpoint is written, at most, while Window is not
	// reached (0: one second).
	Save time.Duration
	// BackoffMax bounds the wait after a failure: uniformly drawn below backoffMin·2^n and
	// BackoffMax (0: 30 s).
	BackoffMax time.Duration
	// Log gets what an operator should know. Nil: nobody.
	Log *slog.Logger
}

const (
	batchBytes  = 4 << 20  // of encoded records in one call; one record always goes
	windowBytes = 64 << 20 // of what has been read and is not settled yet
	backoffMin  = 100 * time.Millisecond
)

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Refused == nil:
		return o, whittle.Errorf(whittle.Invalid, "open relay: no stream for what the sink refuses")
	case min(o.Low, int64(o.Batch), int64(o.Inflight), int64(o.Window)) < 0,
		min(o.Timeout, o.Save, o.BackoffMax) < 0:
		return o, whittle.Errorf(whittle.Invalid, "open relay: a bound is below 0")
	}
	o.Low = cmp.Or(o.Low, 256<<20)
	o.Batch = cmp.Or(o.Batch, 2000)
	o.Inflight = cmp.Or(o.Inflight, 16)
	o.Window = cmp.Or(o.Window, 1<<16)
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	o.Save = cmp.Or(o.Save, time.Second)
	o.BackoffMax = cmp.Or(o.BackoffMax, 30*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o, nil
}
