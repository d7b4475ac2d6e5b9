package plan

import (
	"math"
	"math/rand/v2"
	"time"
)

// Arrival is the intended start of one virtual user.
type Arrival struct {
	// At is since the start of the run.
	At time.Duration
	// Phase is the index of the phase it belongs to.
	Phase int
}

// Pacer turns phases into arrivals, in order. It does not use a clock: the same
// phases and the same random source give the same arrivals.
type Pacer struct {
	phases []Phase
	rng    *rand.Rand
	phase  int           // index of the phase being paced
	start  time.Duration // its start
	done   int64         // its arrivals so far
	// step and inStep count the seconds of a ramp, and arrivals within one.
	step, inStep int64
	next         time.Duration // of a Poisson phase: the next arrival since start
}

// NewPacer starts at the first phase. Only Poisson phases use the random source,
// which may be nil where there are none.
func NewPacer(phases []Phase, rng *rand.Rand) *Pacer { return &Pacer{phases: phases, rng: rng} }

// Next returns the next arrival, or false after the last.
func (p *Pacer) Next() (Arrival, bool) {
	for p.phase < len(p.phases) {
		if at, ok := p.nextInPhase(&p.phases[p.phase]); ok {
			return Arrival{p.start + at, p.phase}, true
		}
		p.start += p.phases[p.phase].Length()
		p.phase++
		p.done, p.step, p.inStep, p.next = 0, 0, 0, 0
	}
	return Arrival{}, false
}

// nextInPhase returns the next arrival of a phase, since the phase's start.
func (p *Pacer) nextInPhase(ph *Phase) (time.Duration, bool) {
	switch {
	case ph.Ramp:
		return p.ramped(ph)
	case ph.Poisson && !ph.HasCount:
		return p.poisson(ph)
	}
	n := ph.Planned()
	if p.done >= n {
		return 0, false
	}
	i := p.done
	p.done++
	if ph.HasCount {
		return time.Duration(float64(ph.Duration) * float64(i) / float64(n)), true
	}
	return time.Duration(float64(i) / ph.Rate * float64(time.Second)), true
}

func (p *Pacer) ramped(ph *Phase) (time.Duration, bool) {
	for ; p.step < ph.steps(); p.step, p.inStep = p.step+1, 0 {
		n := ph.step(p.step)
		if p.inStep < n {
			at := time.Duration(p.step)*time.Second + time.Duration(p.inStep)*time.Second/time.Duration(n)
			p.inStep++
			return at, true
		}
	}
	return 0, false
}

func (p *Pacer) poisson(ph *Phase) (time.Duration, bool) {
	if ph.Rate <= 0 {
		return 0, false
	}
	gap := p.rng.ExpFloat64() / ph.Rate * float64(time.Second)
	// A gap beyond any run would overflow the sum.
	p.next += time.Duration(math.Min(gap, float64(time.Hour)*24*365))
	return p.next, p.next < ph.Duration
}

// TotalLength is when the last phase is over, since the start of the run.
func TotalLength(phases []Phase) time.Duration {
	var sum time.Duration
	for i := range phases {
		sum += phases[i].Length()
	}
	return sum
}
