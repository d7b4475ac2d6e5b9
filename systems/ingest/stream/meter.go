package stream

import (
	"math"
	"time"
)

// Meter is a rate a second, smoothed over about a time (0: a minute). Pure: it is given the
// times. With weight e^(-t/τ) of what was a time t ago, a steady rate r of lumps is read as
// r on average. Its user guards it.
type Meter struct {
	Over time.Duration
	per  float64 // at last
	last time.Time
}

func (m *Meter) over() float64 {
	if m.Over == 0 {
		return time.Minute.Seconds()
	}
	return m.Over.Seconds()
}

// Add counts so much more.
func (m *Meter) Add(n float64, now time.Time) {
	m.per = m.Rate(now) + n/m.over()
	m.last = now
}

// nothing is so little a second that it is none.
const nothing = 1e-6

// Rate is what there is a second.
func (m *Meter) Rate(now time.Time) float64 {
	if per := m.per * math.Exp(-max(0, now.Sub(m.last).Seconds())/m.over()); per > nothing {
		return per
	}
	return 0
}
