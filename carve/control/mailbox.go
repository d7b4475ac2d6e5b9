package control

import (
	"cmp"
	"sync"

	"whittle"
)

// maxOutcomes bounds the outcomes between two ticks: at 100 ms, 80,000 requests
// a second on one route.
const maxOutcomes = 8192

// mailbox hands users' outcomes from their own goroutines to the route's loop.
// Its lock is held for an append and for an exchange of buffers, never longer.
type mailbox struct {
	mu       sync.Mutex // guards the following
	outcomes []whittle.Outcome
	dropped  int64
	tripped  trip // the breaker's last one since the last take
}

// trip is a trip of the circuit breaker. The zero value is none.
type trip struct {
	// generation is that of the position under which it tripped.
	generation uint64
	reason     string
}

func (m *mailbox) put(o whittle.Outcome) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.outcomes) >= maxOutcomes {
		m.dropped++
		return
	}
	m.outcomes = append(m.outcomes, o)
}

func (m *mailbox) trip(t trip) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.generation <= m.tripped.generation {
		return
	}
	t.reason = cmp.Or(t.reason, "no reason was given")
	m.tripped = t
}

// take empties the box into spare, which the box uses from then on, and gives
// what was in it.
func (m *mailbox) take(spare []whittle.Outcome) (outcomes []whittle.Outcome, tripped trip) {
	m.mu.Lock()
	defer m.mu.Unlock()
	outcomes, tripped = m.outcomes, m.tripped
	m.outcomes, m.tripped = spare[:0], trip{}
	return outcomes, tripped
}

func (m *mailbox) droppedSoFar() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dropped
}
