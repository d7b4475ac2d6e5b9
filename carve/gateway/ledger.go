package gateway

import (
	"sync"
	"sync/atomic"

	"whittle"
)

// skipNames gives the reasons that the gateway and the judge are known to use a
// counter each, found without a lock.
var skipNames = [...]string{
	whittle.SkipNotSafe, whittle.SkipSampled, whittle.SkipTooLarge, whittle.SkipStreaming,
	whittle.SkipCanceled, whittle.SkipServed, whittle.SkipOff, whittle.SkipUntranslated,
	whittle.SkipInterrupted, whittle.SkipStale, whittle.SkipMonolith, whittle.SkipUnread,
	whittle.SkipEncoded,
}

// maxOtherReasons bounds the reasons that Observe may make up.
const maxOtherReasons = 32

// otherReasons is where reasons beyond that bound are counted.
const otherReasons = "other"

// ledger counts what became of each request. Pending is not a counter of its
// own but what has been opened and not yet settled, so Total = Sum holds in
// every snapshot and not only at rest.
type ledger struct {
	opened   atomic.Int64
	compared atomic.Int64
	failed   atomic.Int64
	shed     atomic.Int64
	skipped  [len(skipNames)]atomic.Int64

	mu     sync.Mutex // guards the following
	others map[string]int64
}

// ledgerEntry is one request's place in the ledger. It moves from the user's
// goroutine to the queue and on to a worker; the first to settle it wins, so a
// shutdown may settle what a worker still holds.
type ledgerEntry struct {
	ledger  *ledger
	settled atomic.Bool
}

// open begins the account of one request.
func (l *ledger) open(t *ledgerEntry) {
	t.ledger = l
	l.opened.Add(1)
}

func (t *ledgerEntry) first() bool { return t.settled.CompareAndSwap(false, true) }

func (t *ledgerEntry) compared() {
	if t.first() {
		t.ledger.compared.Add(1)
	}
}

func (t *ledgerEntry) failed() {
	if t.first() {
		t.ledger.failed.Add(1)
	}
}

func (t *ledgerEntry) shed() {
	if t.first() {
		t.ledger.shed.Add(1)
	}
}

func (t *ledgerEntry) skip(reason string) {
	if t.first() {
		t.ledger.skip(reason, 1)
	}
}

func (l *ledger) skip(reason string, n int64) {
	for i, name := range skipNames {
		if name == reason {
			l.skipped[i].Add(n)
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.others == nil {
		l.others = map[string]int64{}
	}
	if _, known := l.others[reason]; !known && len(l.others) >= maxOtherReasons {
		reason = otherReasons
	}
	l.others[reason] += n
}

// snapshot reads what is settled before what is opened: settled counts only
// rise and never pass opened, so Pending cannot come out negative.
func (l *ledger) snapshot() whittle.Ledger {
	s := whittle.Ledger{
		Compared: l.compared.Load(),
		Failed:   l.failed.Load(),
		Shed:     l.shed.Load(),
		Skipped:  map[string]int64{},
	}
	for i, name := range skipNames {
		if n := l.skipped[i].Load(); n > 0 {
			s.Skipped[name] = n
		}
	}
	l.mu.Lock()
	for reason, n := range l.others {
		s.Skipped[reason] += n
	}
	l.mu.Unlock()
	settled := s.Sum()
	s.Total = l.opened.Load()
	s.Pending = s.Total - settled
	return s
}

// restore adds what an earlier process had counted. What was pending then was
// interrupted by its end. Counts below zero, which only a damaged record could
// hold, are left out.
func (l *ledger) restore(s whittle.Ledger) {
	add := func(c *atomic.Int64, n int64) {
		if n > 0 {
			l.opened.Add(n)
			c.Add(n)
		}
	}
	add(&l.compared, s.Compared)
	add(&l.failed, s.Failed)
	add(&l.shed, s.Shed)
	for reason, n := range s.Skipped {
		if n > 0 {
			l.opened.Add(n)
			l.skip(reason, n)
		}
	}
	if s.Pending > 0 {
		l.opened.Add(s.Pending)
		l.skip(whittle.SkipInterrupted, s.Pending)
	}
}
