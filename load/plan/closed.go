package plan

import (
	"math"
	"slices"
	"time"

	"whittle"
	"whittle/load/expr"
)

// Closed describes the users of a closed model: each sends its next request after
// the response to the previous one.
type Closed struct {
	// Users is how many there are at once.
	Users int
	// Ramp spreads their starts: user i of n, from 0, starts after Ramp·i/n.
	// 0: all at once.
	Ramp time.Duration
	// Loops is how often each user runs its flow. 0: until Duration is over, or
	// once where that is 0 too.
	Loops int64
	// Total is how many loops all of them run together. 0: Loops and Duration count.
	Total int64
	// Duration is when users stop, counted from their group's start; requests
	// under way are still completed. 0: when their loops are done.
	Duration time.Duration
}

// MaxClosed bounds the users of a closed model: each takes a goroutine or fiber,
// and a connection, for the whole run.
const MaxClosed = 100_000

func (c *Closed) validate() error {
	switch {
	case c.Users < 1 || c.Users > MaxClosed:
		return whittle.Errorf(whittle.Invalid, "%d users are not within 1 and %d", c.Users, MaxClosed)
	case c.Ramp < 0 || c.Duration < 0 || c.Ramp > MaxDuration || c.Duration > MaxDuration:
		return whittle.Errorf(whittle.Invalid, "the time of %d users is not within 0 and %v", c.Users, MaxDuration)
	case c.Total < 0 || c.Total > MaxLoops:
		return whittle.Errorf(whittle.Invalid, "%d requests in all are not within 0 and %d", c.Total, MaxLoops)
	case c.Total > 0 && c.Loops > 0:
		return whittle.Errorf(whittle.Invalid, "%d requests in all go not together with %d loops each", c.Total, c.Loops)
	case c.Loops < 0 || c.Loops > MaxLoops:
		return whittle.Errorf(whittle.Invalid, "%d loops are not within 0 and %d", c.Loops, MaxLoops)
	}
	return nil
}

// Group is one set of users of a closed model and what they do.
type Group struct {
	Closed
	Name string
	// First is the number of the first of its users, where they are a part of those that
	// the plan has in one group.
	First int
	// Delay is before the first user starts.
	Delay time.Duration
	// Scenario is the index of their scenario; AnyScenario: chosen by weight for
	// each loop.
	Scenario int
	// Fresh says that each loop begins without connections and cookies.
	Fresh bool
	// KeepsCookies says that a fresh loop has the cookies of the one before.
	KeepsCookies bool
	// Stage is when the group's users come: before all others, with them, or after them.
	Stage   Stage
	OnError OnError
	// Setup sets the initial values of each user's variables.
	Setup []Assignment
}

// Stage is a part of a run that begins when the one before it is over.
type Stage int8

const (
	Setup    Stage = -1 // before all others
	Main     Stage = 0  // the run itself
	Teardown Stage = 1  // after all others
)

// AnyScenario is a Scenario that is chosen by weight for each loop.
const AnyScenario = -1

// Assignment sets a variable.
type Assignment struct {
	Slot  int
	Value expr.Template
}

// OnError is what a user of a closed model does after a failed request.
type OnError uint8

const (
	NextLoop  OnError = iota // begin the next loop
	NextStep                 // continue with the next step
	EndUser                  // this user stops
	EndRun                   // all users stop after their current request
	EndRunNow                // all users stop and their requests are aborted
)

// LoopCount is how often a user of the group runs its flow.
func (g *Group) LoopCount() int64 {
	switch {
	case g.Loops > 0:
		return g.Loops
	case g.Duration > 0 || g.Total > 0:
		return math.MaxInt64
	}
	return 1
}

// WithUsers returns a plan of the closed model that sends the same requests. Each
// group of a closed plan gets c's users; zero Loops and Duration keep the plan's
// own. An open plan becomes one group, in which each loop runs what one virtual
// user of the open plan runs.
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
		if g.Stage != Main {
			continue
		}
		g.Users, g.Ramp = c.Users, c.Ramp
		if c.Loops > 0 || c.Duration > 0 {
			g.Loops, g.Duration = c.Loops, c.Duration
		}
	}
	return &q, nil
}

// StagesAside returns a plan whose groups before and after the others are flows that
// run once before and after the run: of open arrivals, and of a run in blocks.
func (p *Plan) StagesAside() *Plan {
	if !slices.ContainsFunc(p.Groups, func(g Group) bool { return g.Stage != Main }) {
		return p
	}
	q := *p
	q.Groups, q.Scenarios = nil, slices.Clone(p.Scenarios)
	for _, g := range p.Groups {
		if g.Stage == Main {
			q.Groups = append(q.Groups, g)
			continue
		}
		flow := q.Scenarios[g.Scenario].Steps
		q.Weight -= q.Scenarios[g.Scenario].Weight
		q.Scenarios[g.Scenario].Weight = 0
		if g.Stage == Setup {
			q.Before = append(slices.Clip(q.Before), flow...)
		} else {
			q.After = append(slices.Clip(q.After), flow...)
		}
	}
	return &q
}

// Closed reports whether the plan is of the closed model.
func (p *Plan) Closed() bool { return len(p.Groups) > 0 }

// Length is how long users arrive; 0 for a closed model.
func (p *Plan) Length() time.Duration { return TotalLength(p.Phases) }

// End is when the plan is over, since the start of the run: its last arrival's
// phase or its users' duration; 0 where it depends on the responses.
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
		case p.Serial || g.Stage != Main:
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
