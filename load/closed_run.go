package load

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"whittle/load/engine"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// userGroup is a plan's group of virtual users during a run.
type userGroup struct {
	*plan.Group
	index  int       // in the plan's list of groups
	until  time.Time // when its users stop; zero: when their loops are done
	active atomic.Int64
	wg     sync.WaitGroup
}

// start is when one user of a closed model begins.
type start struct {
	at     time.Duration
	group  *userGroup
	number int // within the group, from 0
}

// startUsers starts the users of a closed plan. It returns when the last has
// started: where groups run one after the other, after all but the last group are
// done. False: ctx ended before.
func (s *session) startUsers(ctx, cut context.Context, timer *engine.Timer) bool {
	all := make([]*userGroup, len(s.plan.Groups))
	for i := range all {
		all[i] = &userGroup{Group: &s.plan.Groups[i], index: i}
	}
	s.groups = all
	if !s.plan.Serial {
		return s.startGroups(ctx, cut, timer, all)
	}
	for i := range all {
		if !s.startGroups(ctx, cut, timer, all[i:i+1]) || !s.awaitGroup(ctx, all[i]) {
			return false
		}
	}
	return true
}

// startGroups starts the users of groups that run concurrently.
func (s *session) startGroups(ctx, cut context.Context, timer *engine.Timer, groups []*userGroup) bool {
	begin := s.now().Sub(s.start)
	var starts []start
	for _, c := range groups {
		if c.Duration > 0 {
			c.until = s.start.Add(begin + c.Delay + c.Duration)
		}
		for i := range c.Users {
			ramped := time.Duration(float64(c.Ramp) * float64(i) / float64(c.Users))
			if c.Duration > 0 && ramped >= c.Duration {
				break // its group is over before it would start
			}
			starts = append(starts, start{begin + c.Delay + ramped, c, i})
		}
	}
	slices.SortStableFunc(starts, func(a, b start) int { return cmp.Compare(a.at, b.at) })
	for _, st := range starts {
		if !timer.SleepUntil(ctx, s.options.Now, s.start.Add(st.at)) {
			return false
		}
		s.startUser(cut, st)
	}
	return true
}

// startUser starts one user.
func (s *session) startUser(cut context.Context, st start) {
	s.inFlight.Add(1)
	st.group.active.Add(1)
	st.group.wg.Add(1)
	w := newWorker(s, s.shards[s.workers%len(s.shards)])
	w.index = int64(s.workers)
	s.workers++
	life := func() {
		defer st.group.wg.Done()
		w.runClosedUser(cut, st)
		st.group.active.Add(-1)
		s.inFlight.Add(-1)
		s.finished.Add(1)
	}
	if n := len(s.loops); n > 0 {
		s.loops[int(w.index)%n].postUser(w, life)
		return
	}
	s.wg.Go(life)
}

// awaitGroup waits until a group's users are done. False: ctx ended first.
func (s *session) awaitGroup(ctx context.Context, c *userGroup) bool {
	done := make(chan struct{})
	s.wg.Go(func() {
		c.wg.Wait()
		close(done)
	})
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// groupUser is the state of a virtual user that belongs to a group.
type groupUser struct {
	group        *userGroup
	number       int       // from 0
	requests     int64     // requests so far
	sent         time.Time // when the last of them was sent
	failed       bool      // the last of them failed
	endedByError bool      // an error ends the user
	done         bool      // the user has nothing more to do
	run          *session
	state        map[any]any // what the plan's actions and functions store for it
}

// runClosedUser runs a virtual user of a closed model from start to end.
func (w *worker) runClosedUser(ctx context.Context, st start) {
	m := w.joinGroup(st.group, st.number)
	w.due = w.run.start.Add(st.at)
	if m.group.Ramp == 0 {
		// Users who start all at once have no intended start time of their own.
		w.due = w.run.now()
	}
	w.shard.recordStart(w.run.now().Sub(w.due))
	w.run.users.Add(1)
	w.pcg.Seed(w.run.seed, uint64(w.index))
	w.setUp()
	for range m.group.LoopCount() {
		if w.timeUp() {
			break
		}
		before := m.requests
		if !w.iterate(ctx) {
			break
		}
		if m.requests == before && !w.pauseUntil(ctx, w.run.now().Add(idleLoop)) {
			break
		}
		if m.group.Fresh {
			w.client.Reset()
		}
	}
	if m.endedByError && ctx.Err() == nil {
		w.run.failed.Add(1)
	}
	w.client.Reset()
}

// joinGroup makes the worker's user a member of a group.
func (w *worker) joinGroup(c *userGroup, number int) *groupUser {
	m := &groupUser{group: c, number: number, run: w.run}
	w.groupUser, w.scope.User = m, m
	return m
}

// setUp sets the initial values of the group's variables. They are the same for
// all users, random values included.
func (w *worker) setUp() {
	g := w.groupUser.group.Group
	if len(g.Setup) == 0 {
		return
	}
	own := w.scope.RNG
	w.scope.RNG = rand.New(rand.NewPCG(w.run.seed, setupStream))
	for _, a := range g.Setup {
		w.scope.Values[a.Slot] = expr.TextValue(string(a.Value.Render(nil, &w.scope)))
	}
	w.scope.RNG = own
}

// joinArrivingGroup makes a user of open arrivals a member of the plan's group for
// them, where the plan has one.
func (w *worker) joinArrivingGroup() {
	if g := w.run.plan.OpenGroup; g != nil {
		clear(w.scope.Values)
		w.joinGroup(w.run.groups[0], int(w.index))
		w.setUp()
	}
}

// setupStream is a random stream apart from those of users, which are numbered.
const setupStream = 1<<63 + 1

// idleLoop is the least time of an iteration that sends no request: a flow whose
// conditions are all false would otherwise keep a core busy.
const idleLoop = 10 * time.Millisecond

// iterate runs the flow once, and reports whether the user continues.
func (w *worker) iterate(ctx context.Context) bool {
	m := w.groupUser
	w.initUser()
	flow := w.run.plan.Scenarios
	if m.group.Scenario != plan.AnyScenario {
		flow = flow[m.group.Scenario:]
	}
	sc := &flow[0]
	if m.group.Scenario == plan.AnyScenario {
		sc = w.run.plan.Choose(w.scope.RNG)
	}
	return w.runSteps(ctx, sc.Steps) || ctx.Err() == nil && !m.endedByError && !m.done && !w.timeUp()
}

// timeUp reports whether a user of a closed model stops before its next step.
// Users of open arrivals stop only at the end of their flow.
func (w *worker) timeUp() bool {
	if w.groupUser == nil {
		return false
	}
	select {
	case <-w.run.halted:
		w.run.stoppedEarly.Store(true)
		return true
	default:
	}
	until := w.groupUser.group.until
	return !until.IsZero() && !w.run.now().Before(until)
}

// pauseUntil waits until the user's next step is due. False: the user's time was
// over before.
func (w *worker) pauseUntil(ctx context.Context, due time.Time) bool {
	w.due = due
	m := w.groupUser
	if m == nil {
		return w.sleepUntil(ctx, due, false)
	}
	wake := due
	if until := m.group.until; !until.IsZero() && until.Before(due) {
		wake = until
	}
	w.sleepUntil(ctx, wake, true)
	if ctx.Err() != nil || w.timeUp() {
		return false
	}
	w.shard.recordLateWake(w.run.now().Sub(due))
	return true
}

// continues reports whether a user goes on to its next step after a request.
func (w *worker) continues(o *observation) bool {
	m := w.groupUser
	if m == nil {
		return o.failure == "" || o.failure == report.ErrorServer
	}
	m.failed = o.failure != ""
	if !m.failed {
		return true
	}
	switch m.group.OnError {
	case plan.NextStep:
		return true
	case plan.EndUser:
		m.endedByError = true
	case plan.EndRun:
		w.run.stoppedEarly.Store(true)
		w.run.halt()
	case plan.EndRunNow:
		w.run.stoppedEarly.Store(true)
		w.run.halt()
		w.run.abort()
	}
	return false
}

// observePace records the time since the user's previous request.
func (m *groupUser) observePace(o *observation) {
	o.group = m.group.index + 1 // of open arrivals: 0
	if m.requests > 0 {
		o.gap = o.Sent.Sub(m.sent)
	}
	m.requests++
	m.sent = o.Sent
}
