package load

import (
	"math"
	"time"

	"whittle"
	"whittle/load/report"
)

// Closed describes users who each send their next request after the answer to
// the one before.
type Closed struct {
	// Users is how many there are at once.
	Users int
	// Ramp spreads their starts: user i of n, from 0, starts after Ramp·i/n.
	// 0: all at once.
	Ramp time.Duration
	// Loops is how often each user goes through its flow. 0: until Duration is
	// over, or once where that is 0 too.
	Loops int64
	// Duration is when users stop, counted from their group's start; what they
	// are waiting for then is still waited for. 0: when their loops are done.
	Duration time.Duration
}

// maxClosed bounds the users of a closed model: each is a goroutine and a
// connection for the whole run.
const maxClosed = 100_000

func (c *Closed) validate() error {
	switch {
	case c.Users < 1 || c.Users > maxClosed:
		return whittle.Errorf(whittle.Invalid, "%d users are not within 1 and %d", c.Users, maxClosed)
	case c.Ramp < 0 || c.Duration < 0 || c.Ramp > maxDuration || c.Duration > maxDuration:
		return whittle.Errorf(whittle.Invalid, "the time of %d users is not within 0 and %v", c.Users, maxDuration)
	case c.Loops < 0 || c.Loops > maxLoops:
		return whittle.Errorf(whittle.Invalid, "%d loops are not within 0 and %d", c.Loops, maxLoops)
	}
	return nil
}

// group is one set of users of a closed model and what they do.
type group struct {
	Closed
	name string
	// delay is before the first user starts.
	delay time.Duration
	// scenario is the index of what they do; anyScenario: chosen by weight for
	// each loop.
	scenario int
	// fresh users, as it were, begin each loop: without connections or cookies.
	fresh   bool
	onError onError
	// setup gives each user's variables their first values.
	setup []assignment
}

const anyScenario = -1

// assignment fills a variable.
type assignment struct {
	slot  int
	value template
}

// onError is what a user of a closed model does after a failed request.
type onError uint8

const (
	nextLoop  onError = iota // begin the next loop
	carryOn                  // with the next step
	endUser                  // this user stops
	endRun                   // all users stop after their present request
	endRunNow                // all requests are cut
)

// loopsOf is how often a user of the group goes through its flow.
func (g *group) loopsOf() int64 {
	switch {
	case g.Loops > 0:
		return g.Loops
	case g.Duration > 0:
		return math.MaxInt64
	}
	return 1
}

// WithUsers returns a plan in which closed users send the same requests: those
// of a closed plan in the numbers given here, where zero Loops and Duration
// keep the plan's own; those of an open plan as one group, in which each loop
// is what one virtual user does. A plan of several groups keeps only their
// flows' settings: each group gets all the users.
func (p *Plan) WithUsers(c Closed) (*Plan, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	q := *p
	q.Phases, q.arriving = nil, nil
	if p.arriving != nil {
		g := *p.arriving
		g.Closed = c
		q.groups = []group{g}
		return &q, nil
	}
	if len(p.groups) == 0 {
		q.groups = []group{{Closed: c, scenario: anyScenario, fresh: true}}
		return &q, nil
	}
	q.groups = append([]group(nil), p.groups...)
	for i := range q.groups {
		g := &q.groups[i]
		g.Users, g.Ramp = c.Users, c.Ramp
		if c.Loops > 0 || c.Duration > 0 {
			g.Loops, g.Duration = c.Loops, c.Duration
		}
	}
	return &q, nil
}

// arrivals is what open arrivals take over from a closed plan's users: their
// variables and what follows an error. Nil where they have nothing of the kind.
func (p *Plan) arrivals() *group {
	if len(p.groups) == 0 || p.groups[0].scenario == anyScenario {
		return p.arriving
	}
	return &group{name: p.groups[0].name, setup: p.groups[0].setup, onError: p.groups[0].onError}
}

// Model says which of the two models the plan is of.
func (p *Plan) Model() string {
	if len(p.groups) > 0 {
		return report.ModelClosed
	}
	return report.ModelOpen
}

// Length is how long the plan lets users arrive; 0 for a closed model.
func (p *Plan) Length() time.Duration { return planEnd(p.Phases) }

// end is when the plan is over, since the start of the run: its last arrival's
// phase or its users' duration; 0 where only the answers can tell.
func (p *Plan) end() time.Duration {
	if len(p.groups) == 0 {
		return planEnd(p.Phases)
	}
	var end time.Duration
	for i := range p.groups {
		g := &p.groups[i]
		switch {
		case g.Duration == 0:
			return 0
		case p.serial:
			end += g.delay + g.Duration
		default:
			end = max(end, g.delay+g.Duration)
		}
	}
	return end
}

// Planned is how many virtual users the plan has.
func (p *Plan) Planned() int64 {
	var n int64
	for i := range p.Phases {
		n += p.Phases[i].Planned()
	}
	for i := range p.groups {
		n += int64(p.groups[i].Users)
	}
	return n
}
