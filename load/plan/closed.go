package plan

import (
	"math"
	"time"

	"whittle"
	"whittle/load/expr"
)

// Closed describes users who each send their next request after the response to
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

// MaxClosed bounds the users of a closed model: each is a goroutine and a
// connection for the whole run.
const MaxClosed = 100_000

func (c *Closed) validate() error {
	switch {
	case c.Users < 1 || c.Users > MaxClosed:
		return whittle.Errorf(whittle.Invalid, "%d users are not within 1 and %d", c.Users, MaxClosed)
	case c.Ramp < 0 || c.Duration < 0 || c.Ramp > MaxDuration || c.Duration > MaxDuration:
		return whittle.Errorf(whittle.Invalid, "the time of %d users is not within 0 and %v", c.Users, MaxDuration)
	case c.Loops < 0 || c.Loops > MaxLoops:
		return whittle.Errorf(whittle.Invalid, "%d loops are not within 0 and %d", c.Loops, MaxLoops)
	}
	return nil
}

// Group is one set of users of a closed model and what they do.
type Group struct {
	Closed
	Name string
	// Delay is before the first user starts.
	Delay time.Duration
	// Scenario is the index of what they do; anyScenario: chosen by weight for
	// each loop.
	Scenario int
	// Fresh users, as it were, begin each loop: without connections or cookies.
	Fresh   bool
	OnError OnError
	// Setup gives each user's variables their first values.
	Setup []Assignment
}

const AnyScenario = -1

// Assignment fills a variable.
type Assignment struct {
	Slot  int
	Value expr.Template
}

// OnError is what a user of a closed model does after a failed request.
type OnError uint8

const (
	NextLoop  OnError = iota // begin the next loop
	NextStep                 // with the next step
	EndUser                  // this user stops
	EndRun                   // all users stop after their present request
	EndRunNow                // all requests are cut
)

// LoopCount is how often a user of the group goes through its flow.
func (g *Group) LoopCount() int64 {
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
	q.Phases, q.OpenGroup = nil, nil
	if p.OpenGroup != nil {
		g := *p.OpenGroup
		g.Closed = c
		q.Groups = []Group{g}
		return &q, nil
	}
	if len(p.Groups) == 0 {
		q.Groups = []Group{{Closed: c, Scenario: AnyScenario, Fresh: true}}
		return &q, nil
	}
	q.Groups = append([]Group(nil), p.Groups...)
	for i := range q.Groups {
		g := &q.Groups[i]
		g.Users, g.Ramp = c.Users, c.Ramp
		if c.Loops > 0 || c.Duration > 0 {
			g.Loops, g.Duration = c.Loops, c.Duration
		}
	}
	return &q, nil
}

// arrivals is what open arrivals take over from a closed plan's users: their
// variables and what follows an error. Nil where they have nothing of the kind.
func (p *Plan) arrivals() *Group {
	if len(p.Groups) == 0 || p.Groups[0].Scenario == AnyScenario {
		return p.OpenGroup
	}
	return &Group{Name: p.Groups[0].Name, Setup: p.Groups[0].Setup, OnError: p.Groups[0].OnError}
}

// Closed says that the plan is of the closed model.
func (p *Plan) Closed() bool { return len(p.Groups) > 0 }

// Length is how long the plan lets users arrive; 0 for a closed model.
func (p *Plan) Length() time.Duration { return TotalLength(p.Phases) }

// End is when the plan is over, since the start of the run: its last arrival's
// phase or its users' duration; 0 where only the responses can tell.
func (p *Plan) End() time.Duration {
	if len(p.Groups) == 0 {
		return TotalLength(p.Phases)
	}
	var end time.Duration
	for i := range p.Groups {
		g := &p.Groups[i]
		switch {
		case g.Duration == 0:
			return 0
		case p.Serial:
			end += g.Delay + g.Duration
		default:
			end = max(end, g.Delay+g.Duration)
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
	for i := range p.Groups {
		n += int64(p.Groups[i].Users)
	}
	return n
}
