package stream

import (
	"math"
	"testing"
	"time"

	"whittle/internal/fatal"
)

func TestMeter(t *testing.T) {
	var m Meter
	now := time.Unix(0, 0)
	fatal.Same(t, m.Rate(now), 0, "a rate of nothing")
	var sum float64
	const rate, every = 1e6, 10 * time.Second
	for range 100 {
		now = now.Add(every)
		m.Add(rate*every.Seconds(), now)
	}
	for range 10 {
		now = now.Add(every / 10)
		sum += m.Rate(now)
	}
	if got := sum / 10; math.Abs(got-rate) > rate/20 {
		t.Errorf("a steady %v is read as %v", rate, got)
	}
	fatal.Same(t, m.Rate(now.Add(time.Hour)), 0, "an hour later")
	if got := m.Rate(now.Add(-time.Hour)); math.IsInf(got, 0) || got > 2*rate {
		t.Errorf("a clock that goes back makes it %v", got)
	}
}
