package load

import (
	"context"
	"math/rand/v2"
	"time"

	"whittle/load/engine"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/wire"
)

// user runs one virtual user after another and reuses its buffers. Where each has
// connections of its own, they are closed when it ends. It is the plan.User that a
// plan's actions and functions see.
type user struct {
	run    *execution
	shard  *shard
	client *wire.Client
	pcg    rand.PCG
	scope  expr.Scope
	// arrivals brings the next virtual user to a goroutine that waits for one; nil
	// on an event loop and in the closed model.
	arrivals chan plan.Arrival
	// fiber is set where the user runs on an event loop.
	fiber *engine.Fiber
	// unrecorded requests are those of the flows before and after a run: no
	// callback sees them.
	unrecorded bool

	// seen is the request under way, or the last one.
	seen observation

	identity
}

// identity is what belongs to the present virtual user alone.
type identity struct {
	index int64     // in the run, from 0
	due   time.Time // when its next request is due
	// group is nil where the plan has no groups; number is the user's in it.
	group  *userGroup
	number int

	loop         int64       // of its flow, from 0
	requests     int64       // so far
	sent         time.Time   // when the last of them was sent
	failed       bool        // the last of them failed
	failures     int64       // samples that failed
	endedByError bool        // an error ends the user
	done         bool        // the user has nothing more to do
	state        map[any]any // what the plan's actions and functions store for it
}

// newUser makes a user that records in one of the recorder's shards.
func (s *execution) newUser() *user {
	s.mu.Lock()
	i := s.made
	s.made++
	s.mu.Unlock()
	return s.newUserOf(s.recorder.shard(i))
}

func (s *execution) newUserOf(sh *shard) *user {
	u := &user{run: s, shard: sh, client: s.network.NewClient()}
	u.scope = expr.Scope{RNG: rand.New(&u.pcg), Values: make([]expr.Value, s.plan.Slots), User: u}
	return u
}

// useFiber makes the user run on an event loop; nil: on a goroutine.
func (u *user) useFiber(f *engine.Fiber, pools *wire.LoopPools) {
	u.fiber = f
	u.client.UseFiber(f, pools)
}

// runArrival runs one virtual user of open arrivals from start to end.
func (u *user) runArrival(ctx context.Context, a plan.Arrival) {
	s := u.run
	due := s.began.Add(a.At)
	u.shard.recordStart(s.now().Sub(due))
	u.identity = identity{index: s.options.Part.Number(s.users.Add(1) - 1), due: due, group: s.openGroup}
	u.number = int(u.index)
	u.pcg.Seed(s.seed, uint64(u.index))
	u.setUp()
	u.begin()
	if !u.RunSteps(ctx, s.plan.Choose(u.scope.RNG).Steps) && ctx.Err() == nil {
		s.failed.Add(1)
	}
	u.client.Reset()
	s.inFlight.Add(-1)
	s.finished.Add(1)
}

// setUp sets the initial values of the group's variables. They are the same for
// all users, random values included.
func (u *user) setUp() {
	if u.group == nil {
		return
	}
	clear(u.scope.Values)
	if len(u.group.Setup) == 0 {
		return
	}
	own := u.scope.RNG
	u.scope.RNG = rand.New(rand.NewPCG(u.run.seed, setupStream))
	for _, a := range u.group.Setup {
		u.scope.Values[a.Slot] = expr.TextValue(string(a.Value.Render(nil, &u.scope)))
	}
	u.scope.RNG = own
}

// setupStream is a random stream apart from those of users, which are numbered.
const setupStream = 1<<63 + 1

// begin sets the variables and headers that a user has before its flow.
func (u *user) begin() {
	s := u.run
	if u.group == nil || u.group.Scenario == plan.AnyScenario {
		clear(u.scope.Values) // what the previous user captured
	}
	// What the flow before the run left is there, under the user's own.
	copy(u.scope.Values, s.base)
	u.assignRows()
	for i := range s.plan.Variables {
		s.plan.Variables[i].Fill(&u.scope)
	}
	u.client.Headers = u.client.Headers[:0]
	if f := s.options.Headers; f != nil {
		u.client.Headers = f(u.client.Headers, u.index)
	}
}

// assignRows assigns rows of the CSV files to the virtual user. A user of a group
// gets new ones in each loop: the rows after those assigned last.
func (u *user) assignRows() {
	if len(u.run.plan.Payloads) == 0 {
		return
	}
	turn := u.index
	if u.group != nil {
		turn = u.run.options.Part.Number(u.run.shared.rowRounds.Add(1) - 1)
	}
	for i := range u.run.plan.Payloads {
		p := &u.run.plan.Payloads[i]
		at := int(turn % int64(len(p.Rows)))
		if !p.Sequence {
			at = u.scope.RNG.IntN(len(p.Rows))
		}
		for k, slot := range p.Slots {
			u.scope.Values[slot] = p.Rows[at][k]
		}
	}
}

// PauseUntil waits until the user's next step is due. False: the user's time was
// over before.
func (u *user) PauseUntil(ctx context.Context, due time.Time) bool {
	u.due = due
	if u.group == nil {
		return u.sleepUntil(ctx, due, false)
	}
	wake := due
	if until := u.group.until; !until.IsZero() && until.Before(due) {
		wake = until
	}
	if u.sleepUntil(ctx, wake, true); ctx.Err() != nil || u.TimeUp() {
		return false
	}
	u.shard.recordLateWake(u.run.now().Sub(due))
	return true
}

// TimeUp reports whether a user of a group stops before its next step. Users without
// one stop only at the end of their flow.
func (u *user) TimeUp() bool {
	if u.group == nil {
		return false
	}
	select {
	case <-u.run.end.halted:
		u.run.end.early.Store(true)
		return true
	default:
	}
	until := u.group.until
	return !until.IsZero() && !u.run.now().Before(until)
}

// sleepUntil waits until a time. False: the run was aborted before or, where halts
// is set, halted.
func (u *user) sleepUntil(ctx context.Context, until time.Time, halts bool) bool {
	if u.fiber != nil {
		return u.fiber.SleepUntil(ctx, until, halts)
	}
	d := until.Sub(u.run.now())
	if d <= 0 {
		return ctx.Err() == nil
	}
	var halted <-chan struct{}
	if halts {
		halted = u.run.end.halted
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-halted:
	case <-ctx.Done():
	}
	return false
}
