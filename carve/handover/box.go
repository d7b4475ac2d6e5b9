package handover

import (
	"sync"
	"time"

	"whittle"
)

const (
	// maxOutcomes bounds the outcomes that wait, as control's own mailbox does.
	maxOutcomes = 8192
	// maxRecorded bounds the bytes of exchanges that wait to be recorded.
	maxRecorded = 16 << 20
)

// trip is a breaker's word.
type trip struct {
	Route, Reason string
	Generation    uint64
}

// Batch is what a gateway has to tell.
type Batch struct {
	Outcomes  []whittle.Outcome
	Trips     []trip
	Exchanges []*whittle.Exchange
	Ended     []Ended
	Reports   map[string][]whittle.Counts
	// Permits are how many users' requests the process that was replaced may still have
	// exposed, by candidate: those of a fleet. Nil: none is in force there, or it is a version
	// that says so once.
	Permits map[string]int
	// Paces are what the breakers know of the routes' candidates.
	Paces map[string]pace
}

// pace is how slow a candidate's slowest good response was lately.
type pace struct {
	Candidate string
	Slowest   time.Duration
}

// Ended is the last report of a gateway that has ended.
type Ended struct {
	Route string
	Last  whittle.Counts
}

// box holds what a gateway has to tell while nobody takes it. Its lock is held for an
// append and for an exchange of slices, never longer.
type box struct {
	mu sync.Mutex // guards the following
	Batch
	trips    map[string]trip // the last one of each route
	recorded int
}

func (b *box) outcome(o whittle.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.Outcomes) < maxOutcomes {
		b.Outcomes = append(b.Outcomes, o)
	}
}

func (b *box) trip(t trip) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trips == nil {
		b.trips = map[string]trip{}
	}
	if t.Generation > b.trips[t.Route].Generation {
		b.trips[t.Route] = t
	}
}

func (b *box) end(e Ended) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Ended = append(b.Ended, e) // one a route and process
}

func (b *box) exchange(x *whittle.Exchange) bool {
	const header = 4 << 10 // about what its fields take
	size := header + len(x.Request.Body) + len(x.Monolith.Body) + len(x.Candidate.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.recorded+size > maxRecorded {
		return false
	}
	b.recorded += size
	b.Exchanges = append(b.Exchanges, x)
	return true
}

// take empties the box.
func (b *box) take() Batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.Batch
	for _, t := range b.trips {
		out.Trips = append(out.Trips, t)
	}
	b.Batch, b.trips, b.recorded = Batch{}, nil, 0
	return out
}

func (b *Batch) empty() bool { return len(b.Outcomes)+len(b.Trips)+len(b.Exchanges)+len(b.Ended) == 0 }
