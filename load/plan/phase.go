package plan

import (
	"math"
	"time"
)

// Phase is one span of arrivals. Exactly one of Rate, Count and Pause gives it
// its kind; a Ramp makes a Rate rise or fall.
type Phase struct {
	Name     string
	Duration time.Duration
	// Rate is arrivals per second; with Ramp set, that of the first second.
	Rate float64
	// Ramp says that the rate changes second by second up to RampTo.
	Ramp   bool
	RampTo float64
	// Count spreads that many arrivals evenly over the duration, where HasCount
	// is set.
	Count    int
	HasCount bool
	// Poisson draws exponential gaps instead of equal ones, for a Rate without
	// Ramp.
	Poisson bool
	// MaxUsers bounds the virtual users under way at once; arrivals above it are
	// skipped and counted. 0: only the run's own bound.
	MaxUsers int
}

// Constant is a phase of so many arrivals per second, evenly spaced.
func Constant(rate float64, d time.Duration) Phase { return Phase{Rate: rate, Duration: d} }

// Planned is how many virtual users arrive; for a Poisson phase, the expected
// number.
func (p *Phase) Planned() int64 {
	switch {
	case p.HasCount:
		return int64(p.Count)
	case p.Ramp:
		var n int64
		for t := range p.steps() {
			n += p.step(t)
		}
		return n
	}
	// The epsilon makes up for rounding in floating point: 0.29 s at 100/s are 29
	// arrivals, not 28.
	return int64(math.Floor(p.Rate*p.Duration.Seconds() + 1e-9))
}

// Length is the time the phase takes: a ramp's is rounded up to whole seconds.
func (p *Phase) Length() time.Duration {
	if p.Ramp {
		return time.Duration(p.steps()) * time.Second
	}
	return p.Duration
}

// steps is the number of one-second steps of a ramp.
func (p *Phase) steps() int64 {
	return max(int64((p.Duration+time.Second-1)/time.Second), 1)
}

// step is the arrivals in a ramp's second t, from 0: Artillery's arithmetic,
// rate + (rampTo − rate) / (duration − 1) · t, floored; a ramp of one second
// takes the floored mean of its two ends.
func (p *Phase) step(t int64) int64 {
	n := p.steps()
	if n == 1 {
		return int64(math.Floor((p.Rate + p.RampTo) / 2))
	}
	raw := (p.RampTo-p.Rate)/float64(n-1)*float64(t) + p.Rate
	// The epsilon makes up for rounding that depends on the order of the sum.
	return max(int64(math.Floor(raw+1e-9)), 0)
}
