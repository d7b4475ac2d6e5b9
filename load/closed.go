package load

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"whittle/load/plan"
)

// userGroup is a plan's group of virtual users during a run.
type userGroup struct {
	*plan.Group
	index  int       // in the plan's list of groups
	until  time.Time // when its users stop; zero: when their loops are done
	quota  int64     // loops that all its users here run together, where Total is set
	active atomic.Int64
	taken  atomic.Int64 // loops that have begun, where their number is bounded
	wg     sync.WaitGroup
}

// start is when one user of a closed model begins.
type start struct {
	at     time.Duration
	group  *userGroup
	number int // within the group, from 0
}

// startUsers starts the users of a closed plan, stage by stage. It returns when the last
// has started, after all that groups wait for are done. False: ctx ended before.
func (s *execution) startUsers(ctx, cut context.Context) bool {
	var stages [][]*userGroup
	for _, stage := range []plan.Stage{plan.Setup, plan.Main, plan.Teardown} {
		var groups []*userGroup
		for _, c := range s.groups {
			if c.Stage == stage {
				groups = append(groups, c)
			}
		}
		if !s.plan.Serial {
			stages = append(stages, groups)
			continue
		}
		for i := range groups {
			stages = append(stages, groups[i:i+1])
		}
	}
	for i, groups := range stages {
		if !s.startGroups(ctx, cut, groups) {
			return false
		}
		for _, c := range groups {
			if i+1 < len(stages) && !s.awaitGroup(ctx, c) {
				return false
			}
		}
	}
	return true
}

// startGroups starts the users of groups that run concurrently.
func (s *execution) startGroups(ctx, cut context.Context, groups []*userGroup) bool {
	begin := s.now().Sub(s.began)
	var starts []start
	for _, c := range groups {
		if c.Duration > 0 {
			c.until = s.began.Add(begin + c.Delay + c.Duration)
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
	for i, st := range starts {
		if !s.options.Part.Takes(int64(i)) {
			continue
		}
		if !s.sleepUntil(ctx, st.at) {
			return false
		}
		s.startUser(cut, st)
	}
	return true
}

// startUser starts one user.
func (s *execution) startUser(cut context.Context, st start) {
	s.inFlight.Add(1)
	st.group.active.Add(1)
	st.group.wg.Add(1)
	u := s.newUser()
	u.identity = identity{index: s.options.Part.Number(s.users.Add(1) - 1 - s.firstUser), group: st.group, number: st.group.First + st.number}
	life := func() {
		defer st.group.wg.Done()
		u.runClosed(cut, st)
		st.group.active.Add(-1)
		s.inFlight.Add(-1)
		s.finished.Add(1)
	}
	if n := len(s.loops); n > 0 {
		s.loops[int(u.index)%n].postUser(u, life)
		return
	}
	s.wg.Go(life)
}

// awaitGroup waits until a group's users are done. False: ctx ended first.
func (s *execution) awaitGroup(ctx context.Context, c *userGroup) bool {
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

// runClosed runs a virtual user of a closed model from start to end.
func (u *user) runClosed(ctx context.Context, st start) {
	s, g := u.run, u.group
	u.due = s.began.Add(st.at)
	if g.Ramp == 0 {
		// Users who start all at once have no intended start time of their own.
		u.due = s.now()
	}
	u.shard.recordStart(s.now().Sub(u.due))
	u.pcg.Seed(s.seed, uint64(u.index))
	u.setUp()
	for u.loop = range g.LoopCount() {
		if u.TimeUp() || g.Total > 0 && g.taken.Add(1) > g.quota {
			break
		}
		before := u.requests
		if !u.iterate(ctx) {
			break
		}
		if u.requests == before && !u.PauseUntil(ctx, s.now().Add(idleLoop)) {
			break
		}
		switch {
		case g.Fresh && g.KeepsCookies:
			u.client.CloseConnections()
		case g.Fresh:
			u.client.Reset()
		}
	}
	if u.endedByError && ctx.Err() == nil {
		s.failed.Add(1)
	}
	u.client.Reset()
}

// idleLoop is the least time of an iteration that sends no request: a flow whose
// conditions are all false would otherwise keep a core busy.
const idleLoop = 10 * time.Millisecond

// iterate runs the flow once, and reports whether the user continues.
func (u *user) iterate(ctx context.Context) bool {
	u.begin()
	var steps []plan.Step
	if i := u.group.Scenario; i == plan.AnyScenario {
		steps = u.run.plan.Choose(u.scope.RNG).Steps
	} else {
		steps = u.run.plan.Scenarios[i].Steps
	}
	return u.RunSteps(ctx, steps) || ctx.Err() == nil && !u.endedByError && !u.done && !u.TimeUp()
}
