package stream

import (
	"sync"
	"time"
)

// Meter measures what a sink takes per second, over the last ten. The zero value has
// measured nothing. Its methods may be called from many goroutines at once.
type Meter struct {
	mu      sync.Mutex // guards the following
	began   time.Time  // the first time that was given, from which seconds are counted: of a clock that nobody sets
	from    int64      // the first second with something in it since there was a whole span without
	last    int64      // the last second with something in it
	seconds [meterSpan]struct {
		at      int64
		records int
		bytes   int
	}
}

const meterSpan = 10

// Add counts what was taken.
func (m *Meter) Add(now time.Time, records, bytes int) {
	if records == 0 && bytes == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.began.IsZero() {
		m.began = now
	}
	at := m.second(now)
	if at-m.last >= meterSpan {
		m.from = at
	}
	m.last = max(m.last, at)
	s := &m.seconds[at%meterSpan]
	if s.at != at {
		s.at, s.records, s.bytes = at, 0, 0
	}
	s.records += records
	s.bytes += bytes
}

// Rate is what went per second, over ten seconds or what there is of them: what comes after
// ten seconds with nothing is measured by itself. 0: nothing.
func (m *Meter) Rate(now time.Time) (records, bytes float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.began.IsZero() {
		return 0, 0
	}
	at := m.second(now)
	for _, s := range m.seconds {
		if at-s.at < meterSpan {
			records += float64(s.records)
			bytes += float64(s.bytes)
		}
	}
	over := float64(max(1, min(at-m.from+1, meterSpan)))
	return records / over, bytes / over
}

func (m *Meter) second(now time.Time) int64 { return max(0, int64(now.Sub(m.began)/time.Second)) }
