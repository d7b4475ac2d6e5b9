package relay

import (
	"cmp"
	"log/slog"
	"math/rand/v2"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Limits bounds a drain: what it holds in memory, what it sends at once, and how
// it waits. Zero fields have the defaults that are named there.
type Limits struct {
	// Batch and BatchBytes bound one call of the sink's Append, in records (0:
	// 2,000) and encoded bytes (0: 4 MiB). One record always goes.
	Batch, BatchBytes int
	// Inflight is how many calls may be in flight at once (0: 8, at most 64).
	// The records of one key are never in two of them.
	Inflight int
	// Window and WindowBytes bound what has been read and is not settled yet,
	// in records (0: 65,536) and bytes (0: 64 MiB). Window also bounds how many
	// records are settled without the checkpoint being on disk, and twice Window
	// how many are read from the oldest one on that is not settled.
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
	// Lookback bounds how many of the sink's records are read to find out what
	// it already has (0: 2,000,000).
	Lookback int
	// IdleTimeout is how long a sink that does not report its end must be silent to be
	// taken as read to the end, and one that reports it must be until another
	// reader is tried (0: 10 seconds).
	IdleTimeout time.Duration

	random func() float64 // in [0, 1); tests replace it
}

// Options are a relay's.
type Options struct {
	Limits
	// Dir is the folder of the checkpoint; it is created where it is missing. Needed.
	Dir string
	// Dead takes the records that the sink calls Invalid, as letters: see
	// ReadDeadLetter. Needed.
	Dead stream.Stream
	// Keep is how long a drained record stays in the log, for those who still
	// read it (a window of ids). It gives way where the log is short of room. 0:
	// it goes at once. Negative: the relay trims nothing by itself.
	Keep time.Duration
	// Low is below how many bytes of free room the log counts as short of it, so
	// that drained records leave however young they are, the oldest first. It is
	// at least two of the log's segments and what comes in between two saves: a
	// log frees room by whole segments, and refuses nothing until the last
	// byte of the last one is used (0: 256 MiB).
	Low int64
	// NoHeaders says that the sink keeps no headers: nothing says there which
	// record is which. None gets its origin, and after an outcome that is not
	// known and after a crash records are sent again without looking.
	NoHeaders bool
	// Log gets what an operator should know. Nil: nobody.
	Log *slog.Logger
}

const maxInflight = keyQueues

func (p Limits) withDefaults() (Limits, error) {
	for _, n := range []int{p.Batch, p.BatchBytes, p.Inflight, p.Window, p.WindowBytes, p.Lookback} {
		if n < 0 {
			return p, whittle.Errorf(whittle.Invalid, "a bound of the relay's pace is below 0")
		}
	}
	for _, d := range []time.Duration{p.Timeout, p.Save, p.BackoffMin, p.BackoffMax, p.IdleTimeout} {
		if d < 0 {
			return p, whittle.Errorf(whittle.Invalid, "a duration of the relay's pace is below 0")
		}
	}
	if p.Inflight > maxInflight {
		return p, whittle.Errorf(whittle.Invalid, "%d calls in flight; %d are the limit", p.Inflight, maxInflight)
	}
	p.Batch = cmp.Or(p.Batch, 2000)
	p.BatchBytes = cmp.Or(p.BatchBytes, 4<<20)
	p.Inflight = cmp.Or(p.Inflight, 8)
	p.Window = cmp.Or(p.Window, 1<<16)
	p.WindowBytes = cmp.Or(p.WindowBytes, 64<<20)
	p.Timeout = cmp.Or(p.Timeout, time.Minute)
	p.Save = cmp.Or(p.Save, time.Second)
	p.BackoffMin = cmp.Or(p.BackoffMin, 100*time.Millisecond)
	p.BackoffMax = cmp.Or(p.BackoffMax, 30*time.Second)
	p.Lookback = cmp.Or(p.Lookback, 2_000_000)
	p.IdleTimeout = cmp.Or(p.IdleTimeout, 10*time.Second)
	if p.random == nil {
		p.random = rand.Float64
	}
	return p, nil
}

func (p *Limits) backoff(n int) time.Duration {
	return stream.Backoff(n, p.BackoffMin, p.BackoffMax, p.random())
}
