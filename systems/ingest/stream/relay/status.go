package relay

import (
	"log/slog"
	"sync"
	"time"
)

// Status is how a relay stands at a moment.
type Status struct {
	// Next is the log's next number, Drained the one below which the sink, the
	// dead letters or the counts below have all.
	Next, Drained uint64
	// Lag is how many records of the log are not settled; LagBytes about how
	// many bytes they have (what is not read yet is taken to be as long as what
	// was); LagAge how long ago the oldest was received. 0: none.
	Lag      uint64
	LagBytes int64
	LagAge   time.Duration
	// Records and Bytes are what the sink took per second, over the last ten.
	Records, Bytes float64
	// Sent, Dead, Corrupt and Missing count since the checkpoint was created: taken
	// by the sink, gone to the dead letters, not readable in the log, and gone
	// from the log before they were drained. Missing is 0 unless somebody else
	// trims the log.
	Sent, Dead, Corrupt, Missing uint64
	// Deduplicated counts since Open what was found at the sink's end and not sent
	// again, Resent what was sent again without knowing. Reordered counts
	// records that the sink kept although an earlier one of their key had
	// failed in the same call, which breaks a stream's contract.
	Deduplicated, Resent, Reordered uint64
	// Ready says that it is known what the sink already has: draining has begun.
	Ready bool
	// Unreadable says why the sink cannot be read. Empty: it can.
	Unreadable string
	// Waiting is how many of the 64 key queues wait for a retry.
	Waiting int
	// Troubles is what fails at the moment. Empty: nothing.
	Troubles []Trouble
}

// Status is for metrics and readiness. A sink that is down does not make the
// relay unready to take events: Capacity says what does.
func (r *Relay) Status() Status {
	s := r.drain.status(time.Now())
	s.Next = max(r.end.Load(), s.Drained)
	s.Lag = s.Next - s.Drained
	if records := r.read.records.Load(); records > 0 {
		mean := float64(r.read.bytes.Load()) / float64(records)
		s.LagBytes += int64(mean * float64(s.Next-min(s.Next, r.drain.offered())))
	}
	return s
}

func (d *drain) offered() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.win.next
}

func (d *drain) status(now time.Time) Status {
	s := Status{Ready: d.isReady()}
	s.Records, s.Bytes = d.rate.Rate(now)
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Waiting, s.Troubles = d.waiting(), d.trouble.list()
	s.Drained, s.LagBytes = d.win.low(), int64(d.win.bytes)
	if len(d.win.order) > 0 {
		s.LagAge = max(0, now.Sub(d.win.order[0].record.Time))
	}
	s.Sent, s.Dead, s.Corrupt, s.Missing = d.checkpoint.Sent, d.checkpoint.Dead, d.checkpoint.Corrupt, d.checkpoint.Missing
	s.Deduplicated, s.Resent, s.Reordered = d.tally.deduplicated, d.tally.resent, d.tally.reordered
	s.Unreadable = d.unreadable
	return s
}

// component is the part of the relay that fails.
type component int

const (
	atSink component = iota
	atDead
	atLog
	atCheckpoint
	atTrim
	components
)

var componentNames = [components]string{"sink", "dead letters", "log", "checkpoint", "trim"}

// troubles remembers which components fail at the moment, and logs changes.
type troubles struct {
	log *slog.Logger

	mu  sync.Mutex // guards the following
	now [components]Trouble
}

// Trouble is something that fails and is tried again.
type Trouble struct {
	// At is "sink", "dead letters", "log", "checkpoint" or "trim".
	At string
	// Err is what came last, Since when it came first without a success since.
	Err   error
	Since time.Time
	// Failures counts since then.
	Failures uint64
}

// troubleChange is a component that began to fail or recovered. Zero: neither.
type troubleChange struct {
	Trouble
	after time.Duration // since it began; where it ended
	over  bool
}

// failed counts a failure, worked ends the trouble with a place; say tells the
// operator what came of it, outside any lock that work waits for.
func (t *troubles) failed(at component, err error, now time.Time) troubleChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.now[at]
	s.Err = err
	s.Failures++
	if s.Failures > 1 {
		return troubleChange{}
	}
	s.At, s.Since = componentNames[at], now
	return troubleChange{Trouble: *s}
}

func (t *troubles) worked(at component, now time.Time) troubleChange {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.now[at]
	t.now[at] = Trouble{}
	return troubleChange{Trouble: was, after: now.Sub(was.Since), over: true}
}

func (t *troubles) say(n troubleChange) {
	switch {
	case n.Failures == 0:
	case n.over:
		t.log.Info("drain recovered", "at", n.At, "after", n.after, "failures", n.Failures)
	default:
		t.log.Warn("drain failed; it retries", "at", n.At, "err", n.Err)
	}
}

func (t *troubles) begin(at component, err error, now time.Time) { t.say(t.failed(at, err, now)) }

func (t *troubles) end(at component, now time.Time) { t.say(t.worked(at, now)) }

func (t *troubles) list() []Trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []Trouble
	for _, s := range t.now {
		if s.Failures > 0 {
			all = append(all, s)
		}
	}
	return all
}
