package relay

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Status is how a relay stands at a moment.
type Status struct {
	// Next is the log's next offset, Drained the one below which the sink, the
	// refused ones or Corrupt have all.
	Next, Drained uint64
	// Lag is how many records of the log are not settled; LagBytes about how
	// many bytes they have (what is not read yet is taken to be as long as what
	// was); LagAge how long ago the oldest was received. 0: none.
	Lag      uint64
	LagBytes int64
	LagAge   time.Duration
	// Records is what the sink took per second, over about the last ten.
	Records float64
	// Sent, Refused and Corrupt count since Open: taken by the sink, gone to the refused
	// ones, not readable in the log. Resent counts what was sent again without knowing
	// whether the sink had it.
	Sent, Refused, Corrupt, Resent uint64
	// Troubles are what fails at the moment: "sink", "refused", "log", "checkpoint", "trim".
	Troubles []string
}

// Status is for metrics and readiness. A sink that is down does not make the
// relay unready to take events: Capacity says what does.
func (r *Relay) Status() Status {
	now := time.Now()
	d := r.drain
	s := Status{Troubles: d.trouble.list()}
	s.Records, _ = d.rate.get(now)
	_, next, err := r.log.Bounds()
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Drained = d.lockedLow(); err != nil || next < s.Drained {
		next = s.Drained
	}
	s.Next, s.Lag, s.LagBytes = next, next-s.Drained, int64(d.bytes)
	for _, q := range d.queues {
		if len(q.items) > 0 {
			s.LagAge = max(s.LagAge, now.Sub(q.items[0].record.Time))
		}
	}
	if records := r.read.records.Load(); records > 0 && next > d.next {
		s.LagBytes += int64(float64(r.read.bytes.Load()) / float64(records) * float64(next-d.next))
	}
	s.Sent, s.Refused, s.Corrupt, s.Resent = d.counts.sent, d.counts.refused, d.counts.corrupt, d.counts.resent
	return s
}

// troubles remembers what fails at the moment, and logs when it begins and ends.
type troubles struct {
	log *slog.Logger

	mu    sync.Mutex // guards the following
	since map[string]time.Time
}

// note says whether something fails now. What is given up because the drain ends is no
// failure.
func (t *troubles) note(ctx context.Context, at string, err error, now time.Time) {
	if err != nil && ctx.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	since, failed := t.since[at]
	switch {
	case err == nil && failed:
		delete(t.since, at)
		t.log.Info("drain recovered", "at", at, "after", now.Sub(since))
	case err != nil && !failed:
		if t.since == nil {
			t.since = map[string]time.Time{}
		}
		t.since[at] = now
		t.log.Warn("drain failed; it retries", "at", at, "err", err)
	}
}

func (t *troubles) list() (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for at := range t.since {
		all = append(all, at)
	}
	return all
}
