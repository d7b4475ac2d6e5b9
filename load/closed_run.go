package load

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// crowd is a group of users under way.
type crowd struct {
	*plan.Group
	index  int       // in the plan's list of groups
	until  time.Time // when its users stop; zero: when their loops are done
	active atomic.Int64
	wg     sync.WaitGroup
}

// start is when one user of a closed model begins.
type start struct {
	at     time.Duration
	crowd  *crowd
	number int // within the crowd, from 0
}

// gather lets the users of a closed plan come; false says that ctx ended it
// early. It returns when the last has started: where groups follow each other,
// after all groups but the last are done.
func (s *session) gather(ctx, cut context.Context, timer *napper) bool {
	all := make([]*crowd, len(s.plan.Groups))
	for i := range all {
		all[i] = &crowd{Group: &s.plan.Groups[i], index: i}
	}
	s.crowds = all
	if !s.plan.Serial {
		return s.admit(ctx, cut, timer, all)
	}
	for i := range all {
		if !s.admit(ctx, cut, timer, all[i:i+1]) || !s.await(ctx, all[i]) {
			return false
		}
	}
	return true
}

// admit starts the users of crowds that run side by side.
func (s *session) admit(ctx, cut context.Context, timer *napper, crowds []*crowd) bool {
	begin := s.now().Sub(s.start)
	var starts []start
	for _, c := range crowds {
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
		if !timer.sleepUntil(ctx, s.options.Now, s.start.Add(st.at)) {
			return false
		}
		s.enter(cut, st)
	}
	return true
}

// enter starts one user.
func (s *session) enter(cut context.Context, st start) {
	s.inFlight.Add(1)
	st.crowd.active.Add(1)
	st.crowd.wg.Add(1)
	w := newWorker(s, s.shards[s.workers%len(s.shards)])
	w.index = int64(s.workers)
	s.workers++
	life := func() {
		defer st.crowd.wg.Done()
		w.stay(cut, st)
		st.crowd.active.Add(-1)
		s.inFlight.Add(-1)
		s.finished.Add(1)
	}
	if n := len(s.lanes); n > 0 {
		s.lanes[int(w.index)%n].host(w, life)
		return
	}
	s.wg.Go(life)
}

// await waits until a crowd's users are done; false says that ctx ended first.
func (s *session) await(ctx context.Context, c *crowd) bool {
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

// member is what a worker knows of itself within a crowd.
type member struct {
	crowd  *crowd
	number int       // from 0
	asked  int64     // requests so far
	sent   time.Time // when the last of them was sent
	failed bool      // the last of them did
	leave  bool      // an error ends the user
	done   bool      // the user has nothing more to do
	run    *session
	own    map[any]any // what its plan's steps keep for it
}

// stay is the whole life of a user of a closed model.
func (w *worker) stay(ctx context.Context, st start) {
	m := w.join(st.crowd, st.number)
	w.due = w.run.start.Add(st.at)
	if m.crowd.Ramp == 0 {
		// Users who come at once have no times of their own to be late for.
		w.due = w.run.now()
	}
	w.shard.begun(w.run.now().Sub(w.due))
	w.run.users.Add(1)
	w.pcg.Seed(w.run.seed, uint64(w.index))
	w.prepare()
	for range m.crowd.LoopsOf() {
		if w.timeUp() {
			break
		}
		before := m.asked
		if !w.once(ctx) {
			break
		}
		if m.asked == before && !w.rest(ctx, w.run.now().Add(idleLoop)) {
			break
		}
		if m.crowd.Fresh {
			w.forget()
		}
	}
	if m.leave && ctx.Err() == nil {
		w.run.failed.Add(1)
	}
	w.forget()
}

// join makes the worker's user one of a crowd.
func (w *worker) join(c *crowd, number int) *member {
	m := &member{crowd: c, number: number, run: w.run}
	w.member, w.scope.User = m, m
	return m
}

// prepare gives the user the first values of its group's variables: for all
// users the same, whatever is random in them.
func (w *worker) prepare() {
	g := w.member.crowd.Group
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

// arrived makes a user of open arrivals one of its group, where the plan has
// one.
func (w *worker) arrived() {
	if g := w.run.plan.Arriving; g != nil {
		clear(w.scope.Values)
		w.join(w.run.crowds[0], int(w.index))
		w.prepare()
	}
}

// setupStream is apart from the numbers of users, which are streams too.
const setupStream = 1<<63 + 1

// idleLoop is how long a loop takes at least in which nothing is asked: one
// whose conditions are all false would else keep a core busy.
const idleLoop = 10 * time.Millisecond

// once goes through the flow, and reports whether the user goes on.
func (w *worker) once(ctx context.Context) bool {
	m := w.member
	w.dress()
	flow := w.run.plan.Scenarios
	if m.crowd.Scenario != plan.AnyScenario {
		flow = flow[m.crowd.Scenario:]
	}
	sc := &flow[0]
	if m.crowd.Scenario == plan.AnyScenario {
		sc = w.run.plan.Choose(w.scope.RNG)
	}
	return w.steps(ctx, sc.Steps) || ctx.Err() == nil && !m.leave && !m.done && !w.timeUp()
}

// timeUp reports whether a user of a closed model is to stop before its next
// step. Others stop where their flow does.
func (w *worker) timeUp() bool {
	if w.member == nil {
		return false
	}
	select {
	case <-w.run.halted:
		w.run.halting.Store(true)
		return true
	default:
	}
	until := w.member.crowd.until
	return !until.IsZero() && !w.run.now().Before(until)
}

// rest waits for the time at which the user's next step is due; false says
// that the user's time was over before.
func (w *worker) rest(ctx context.Context, due time.Time) bool {
	w.due = due
	m := w.member
	if m == nil {
		return w.pause(ctx, due, false)
	}
	wake := due
	if until := m.crowd.until; !until.IsZero() && until.Before(due) {
		wake = until
	}
	w.pause(ctx, wake, true)
	if ctx.Err() != nil || w.timeUp() {
		return false
	}
	w.shard.woken(w.run.now().Sub(due))
	return true
}

// answered says what a request's end means for its user: whether the next step
// follows.
func (w *worker) answered(o *observed) bool {
	m := w.member
	if m == nil {
		return o.failure == "" || o.failure == report.ErrorServer
	}
	m.failed = o.failure != ""
	if !m.failed {
		return true
	}
	switch m.crowd.OnError {
	case plan.CarryOn:
		return true
	case plan.EndUser:
		m.leave = true
	case plan.EndRun:
		w.run.halting.Store(true)
		w.run.halt()
	case plan.EndRunNow:
		w.run.halting.Store(true)
		w.run.halt()
		w.run.cut()
	}
	return false
}

// measured takes down the user's pace with a request.
func (m *member) measured(o *observed) {
	o.crowd = m.crowd.index + 1 // of open arrivals: 0
	if m.asked > 0 {
		o.gap = o.sent.Sub(m.sent)
	}
	m.asked++
	m.sent = o.sent
}
