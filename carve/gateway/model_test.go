package gateway

import (
	"fmt"
	"maps"
	"time"

	"whittle"
	"whittle/carve/rollout"
)

// model is what the gateway and control must come to together, written apart from
// them: one share, one ledger, no locks, no goroutines, no generations.
type model struct {
	phase        whittle.Phase
	share        whittle.Share // as decided
	held, byHand bool
	since        time.Time
	// shift counts the decisions for a share of 0. tripped says that the gateway has
	// tripped in this one, notified that a notice of it has arrived, known that control
	// has read it.
	shift                    int
	tripped, notified, known bool
	// rise is the share that waits for the disk; 0: none.
	rise      whittle.Share
	riseSince time.Time
	dirty     bool
	retryAt   time.Time

	// verdict is the word that control has read, asked the one that it last asked the
	// rollout with; unread says that there may be another one.
	verdict, asked whittle.State
	unread         bool
	refused        bool
	refusedEpoch   int
	epoch          int
	seen           int // by the judge
	begun          time.Time

	total int64
	fates map[string]int64
}

const (
	modelHold  = 10 * time.Second
	modelLeast = 20
)

var modelSteps = []whittle.Share{100, 2500, whittle.All}

// inForce is what users get.
func (m *model) inForce() whittle.Share {
	if m.tripped {
		return 0
	}
	return m.share
}

func (m *model) copied() model {
	c := *m
	c.fates = maps.Clone(m.fates)
	return c
}

func (m *model) next() (share whittle.Share, more bool) {
	for _, s := range modelSteps {
		if s > m.share {
			return s, true
		}
	}
	return m.share, false
}

// read takes in what has arrived.
func (m *model) read(word whittle.State) {
	if m.unread {
		m.verdict, m.unread = word, false
	}
	if m.notified && m.share > 0 {
		m.known = true
	}
	m.notified = false
}

func (m *model) remember(word whittle.State) {
	same := m.refused && m.refusedEpoch == m.epoch
	switch {
	case word == whittle.Different && !same:
		m.refused, m.refusedEpoch = true, m.epoch
	case word == whittle.Equivalent && same:
		m.refused = false
	}
}

// zero is a decision for the monolith.
func (m *model) zero(phase whittle.Phase, byHand bool, now time.Time) {
	m.phase, m.share, m.since, m.byHand, m.dirty, m.rise = phase, 0, now, byHand, true, 0
	m.shift++
	m.tripped, m.notified, m.known = false, false, false
}

// step is what whittle does by itself.
func (m *model) step(word whittle.State, breached, rises bool, now time.Time) {
	m.read(word)
	m.asked = m.verdict
	m.remember(m.verdict)
	if m.since.IsZero() {
		m.since = now
	}
	if m.share > 0 && (m.known || breached || m.verdict == whittle.Different) {
		m.zero(whittle.PhaseRolledBack, false, now)
		return
	}
	share, more := m.next()
	switch {
	case m.held, m.phase == whittle.PhaseOff, m.phase == whittle.PhaseLive, m.phase == whittle.PhaseRolledBack:
	case m.phase == whittle.PhaseShift && now.Sub(m.since) < modelHold:
	case !more:
		m.phase, m.since, m.dirty, m.rise = whittle.PhaseLive, now, true, 0
	case m.verdict == whittle.Equivalent && rises && m.rise == 0 && !now.Before(m.retryAt):
		m.propose(share, now)
	}
}

func (m *model) propose(share whittle.Share, now time.Time) {
	m.rise, m.riseSince, m.dirty = share, now, true
}

// record is what a save writes: the rise is in it.
func (m *model) record() model {
	c := m.copied()
	if c.rise > 0 {
		c.share, c.phase, c.since, c.byHand, c.rise = c.rise, whittle.PhaseShift, c.riseSince, false, 0
	}
	return c
}

// saved is how a save ends.
func (m *model) saved(ok bool, word whittle.State, now time.Time) {
	rise := m.rise
	if m.rise = 0; !ok {
		m.dirty, m.retryAt = m.dirty || rise > 0, now.Add(time.Second)
		return
	}
	m.dirty, m.retryAt = false, time.Time{}
	if rise == 0 {
		return
	}
	m.read(word)
	m.asked = m.verdict
	switch {
	case m.verdict == whittle.Different, m.share > 0 && m.known:
		m.dirty = true
	case m.share > 0 && m.tripped:
		m.dirty, m.retryAt = true, now.Add(time.Second)
	default:
		m.share, m.phase, m.since, m.byHand = rise, whittle.PhaseShift, m.riseSince, false
	}
}

// order reports whether an order is carried out.
func (m *model) order(o rollout.Order, stale bool, word whittle.State, now time.Time) bool {
	lowers := o.Kind == rollout.Rollback || o.Kind == rollout.Off || o.Kind == rollout.Hold
	if !lowers {
		m.read(word)
		m.asked = m.verdict
	}
	if stale && !lowers || m.rise > 0 && o.Kind == rollout.Promote {
		return false
	}
	before := m.copied()
	if m.since.IsZero() {
		m.since = now
	}
	m.remember(m.asked)
	if !m.carry(o, now) {
		*m = before
		return false
	}
	return true
}

func (m *model) carry(o rollout.Order, now time.Time) bool {
	off := m.phase == whittle.PhaseOff
	switch o.Kind {
	case rollout.Promote:
		return m.promote(o.Force, now)
	case rollout.Hold:
		if off {
			return false
		}
		m.held, m.dirty, m.rise = true, true, 0
	case rollout.Resume:
		if !m.held {
			return false
		}
		m.held, m.dirty, m.rise = false, true, 0
	case rollout.Rollback:
		if off {
			return false
		}
		m.zero(whittle.PhaseRolledBack, true, now)
	case rollout.Off:
		if off {
			return false // nothing to do
		}
		m.zero(whittle.PhaseOff, false, now)
		m.held = false
	case rollout.Reset:
		m.zero(whittle.PhaseShadow, false, now)
		m.held = false
	case rollout.Approve:
		return false // the route has no gates
	}
	return true
}

func (m *model) promote(force bool, now time.Time) bool {
	share, more := m.next()
	switch {
	case m.phase == whittle.PhaseOff:
		m.zero(whittle.PhaseShadow, false, now)
		return true
	case m.phase == whittle.PhaseLive, m.verdict == whittle.Different, m.known:
		return false
	case !more:
		m.phase, m.since, m.dirty, m.byHand = whittle.PhaseLive, now, true, false
		return true
	case m.verdict != whittle.Equivalent:
		if !force || m.refused && m.refusedEpoch == m.epoch && m.seen < modelLeast {
			return false
		}
	}
	m.propose(share, now)
	return true
}

// afresh is another judge.
func (m *model) afresh(word whittle.State, now time.Time) {
	m.seen, m.begun, m.verdict, m.asked, m.unread = 0, now, word, "", false
}

// settle counts a request.
func (m *model) settle(f whittle.Fate, reason string) {
	m.fates[fmt.Sprint(f, " ", reason)]++
}

func (m *model) settled() (n int64) {
	for _, k := range m.fates {
		n += k
	}
	return n
}

// differs says how a ledger differs from the model's, or "".
func (m *model) differs(l *whittle.Ledger) string {
	got := map[string]int64{}
	note := func(f whittle.Fate, reason string, n int64) {
		if n != 0 {
			got[fmt.Sprint(f, " ", reason)] = n
		}
	}
	note(whittle.FateCompared, "", l.Compared)
	note(whittle.FateFailed, "", l.Failed)
	note(whittle.FateShed, "", l.Shed)
	for reason, n := range l.Skipped {
		note(whittle.FateSkipped, reason, n)
	}
	if !maps.Equal(got, m.fates) || l.Total != m.total || l.Pending != m.total-m.settled() || l.Total != l.Sum() {
		return fmt.Sprintf("ledger %+v, the model has %d: %v", *l, m.total, m.fates)
	}
	return ""
}
