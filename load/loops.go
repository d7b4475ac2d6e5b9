package load

import (
	"context"
	"math"
	"time"

	"whittle/load/engine"
	"whittle/load/plan"
	"whittle/load/wire"
)

// userLoop is an event loop with the virtual users that run on it. All of it but
// loop belongs to the loop's goroutine.
type userLoop struct {
	*engine.Loop
	run   *execution
	shard *shard
	pools *wire.LoopPools
	free  []*user // most recently used last

	// Arrivals: the loop starts those of its part, as arrive says.
	arrive   func(*user, plan.Arrival)
	arrivals func() (plan.Arrival, bool)
	next     plan.Arrival
	arriving bool
	dense    bool // the next arrival comes close behind the one before
	part     plan.Part
}

// newUserLoops makes the event loops of a run. It makes none where no request is
// plain HTTP/1.1, where users call scripts, which may wait, or where the task says so.
func newUserLoops(s *execution) ([]*userLoop, error) {
	if !s.mayLoop || !engine.Available || !s.network.Plain() || s.plan.Scripted {
		return nil, nil
	}
	n, pool := min(loopsFor(s.plan, s.options.Part), len(s.recorder.shards)), s.network.Pool()
	if pool > 0 {
		n = min(n, pool)
	}
	var loops []*userLoop
	for i := range n {
		e, err := engine.New(s.options.Now)
		if err != nil {
			for _, l := range loops {
				l.Close()
			}
			return nil, err
		}
		loops = append(loops, &userLoop{
			Loop: e, run: s, shard: s.recorder.shard(i), pools: s.network.NewLoopPools(e, (pool+n-1-i)/n), part: s.options.Part.Split(i, n),
		})
	}
	return loops, nil
}

// serve is the loop's goroutine.
func (l *userLoop) serve() {
	l.Run()
	l.pools.CloseIdle()
}

// takeArrivals starts the loop's share of the arrivals, whose requests go on until
// ctx ends. done is called once none is left.
func (l *userLoop) takeArrivals(ctx context.Context, done func()) {
	l.arrive = func(u *user, a plan.Arrival) { u.runArrival(ctx, a) }
	l.arrivals = l.part.Arrivals(l.run.pacer().Next)
	l.next, l.arriving = l.arrivals()
	l.Follow(l, done)
}

// Due is when the loop's next user arrives; zero: none is left.
func (l *userLoop) Due() time.Time {
	if !l.arriving {
		return time.Time{}
	}
	return l.run.began.Add(l.next.At)
}

// Arrivals that are so close to each other may be as late as patience, so that one wake-up
// starts several: at more than 5,000 a second on one loop.
const (
	denseGap = 200 * time.Microsecond
	patience = 180 * time.Microsecond
)

// Patience is how much later than due the next user may start.
func (l *userLoop) Patience() time.Duration {
	if l.dense {
		return patience
	}
	return 0
}

// Start starts the user that is due.
func (l *userLoop) Start() {
	a := l.next
	l.next, l.arriving = l.arrivals()
	l.dense = l.next.At-a.At < denseGap
	if !l.run.admit(a) {
		return
	}
	u := l.takeUser()
	l.Spawn(func(f *engine.Fiber) {
		u.useFiber(f, l.pools)
		l.arrive(u, a)
		u.useFiber(nil, nil)
		l.free = append(l.free, u)
	})
}

func (l *userLoop) takeUser() *user {
	if n := len(l.free); n > 0 {
		u := l.free[n-1]
		l.free = l.free[:n-1]
		return u
	}
	return l.run.newUserOf(l.shard)
}

// postUser runs a virtual user on the loop. Any goroutine may call it.
func (l *userLoop) postUser(u *user, life func()) {
	l.Post(func() {
		l.Spawn(func(f *engine.Fiber) {
			u.useFiber(f, l.pools)
			life()
		})
	})
}

// The load of one event loop before another is started. A busy loop finds several
// responses at each wake-up, so each costs less.
const (
	loopRequestRate = 15_000 // requests per second
	loopUsers       = 64     // of a closed model
)

// loopsFor is how many event loops the load of a part of the plan needs, given enough
// cores.
func loopsFor(p *plan.Plan, part plan.Part) int {
	reads := false
	p.Walk(func(s *plan.Step) { reads = reads || s.Request != nil && s.Request.ReadsBody() })
	if reads {
		// The CPU time for reading bodies is not known beforehand.
		return math.MaxInt
	}
	users := 0
	for i := range p.Groups {
		users += p.Groups[i].Users
	}
	peak := 0.0
	for i := range p.Phases {
		ph := &p.Phases[i]
		rate := max(ph.Rate, ph.RampTo)
		if ph.HasCount && ph.Duration > 0 {
			rate = float64(ph.Count) / ph.Duration.Seconds()
		}
		peak = max(peak, rate)
	}
	perUser := 0.0
	for i := range p.Scenarios {
		perUser = max(perUser, requestsOf(p.Scenarios[i].Steps))
	}
	of := max(part.Of, 1)
	return 1 + users/of/loopUsers + int(min(peak/float64(of)*perUser/loopRequestRate, math.MaxInt32))
}

// requestsOf estimates how many requests a flow sends.
func requestsOf(steps []plan.Step) float64 {
	n := 0.0
	for i := range steps {
		switch s := &steps[i]; {
		case s.Request != nil:
			n++
		case s.Loop != nil:
			n += requestsOf(s.Loop.Steps) * float64(max(s.Loop.Count, int64(len(s.Loop.Over)), 1))
		case s.Action != nil:
			n += requestsOf(s.Action.Inner())
		}
	}
	return n
}
