package load

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"whittle/load/plan"
)

// lane is an event loop with virtual users on it: plain HTTP/1.1 is sent and
// received by the loop's own thread, without a deadline's timer, a wake-up of a
// goroutine or a hand-over between threads for each request. What a lane cannot
// do without blocking (TLS, name look-ups) is done away from it.
//
// Everything but the mailbox belongs to the lane's goroutine and its fibers, of
// which one at a time runs.
type lane struct {
	session *session
	shard   *shard
	poll    *poller
	running *fiber
	fibers  []*fiber // all that were made
	idle    []*fiber // those without a job, most recently used last
	workers []*worker
	live    int // fibers with a job
	away    int // of them, those that are away
	times   times
	soon    []*fiber // to be woken before the next wait
	socks   socks
	pools   map[*endpoint]*lanePool
	share   int // connections per endpoint of this lane's pools; 0: no pool
	names   map[*endpoint]*resolved

	// Arrivals: of n lanes each takes every nth.
	pacer   *plan.Pacer
	upTo    plan.Arrival
	more    bool
	turn, n int
	paced   func() // called when the last arrival has started or will not
	halted  bool
	cut     bool

	mu sync.Mutex
	// The following is guarded by mu.
	mail    []func()
	closing bool // to end when all jobs are done
	gone    bool // it has ended
}

// newLanes makes the lanes of a session: none where nothing could be sent over
// them, where users have several requests under way at once, or where
// connections outlive the session.
func newLanes(s *session) ([]*lane, error) {
	plain := false
	for _, q := range s.prepared {
		plain = plain || q.endpoint == nil || q.endpoint.plain()
	}
	if !plain || s.options.block != nil || s.plan.Parallel() {
		return nil, nil
	}
	n := min(lanesOf(s.plan), len(s.shards))
	if s.dialer.pool > 0 {
		n = min(n, s.dialer.pool)
	}
	var lanes []*lane
	for i := range n {
		p, err := newPoller()
		if err != nil {
			for _, l := range lanes {
				l.poll.close()
			}
			return nil, err
		}
		l := &lane{
			session: s, shard: s.shards[i], poll: p, turn: i, n: n,
			pools: map[*endpoint]*lanePool{}, names: map[*endpoint]*resolved{}, paced: func() {},
		}
		if s.dialer.pool > 0 {
			l.share = (s.dialer.pool + n - 1 - i) / n
		}
		lanes = append(lanes, l)
	}
	return lanes, nil
}

// follow gives the lane its part of the arrivals.
func (l *lane) follow(paced func()) {
	s := l.session
	l.paced = paced
	l.pacer = plan.NewPacer(s.plan.Phases, rand.New(rand.NewPCG(s.seed, pacerStream)))
	for range l.turn {
		l.pacer.Next()
	}
	l.upTo, l.more = l.pacer.Next()
	if l.more = l.more && !l.halted; !l.more {
		paced()
	}
}

// post lets the lane do something, soon, unless it has ended. Any goroutine may.
func (l *lane) post(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return
	}
	l.mail = append(l.mail, do)
	l.poll.ring()
}

// finish lets the lane end when all jobs are done.
func (l *lane) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	l.poll.ring()
}

// run is the lane's goroutine. ctx is for what the users have under way.
func (l *lane) run(ctx context.Context) {
	for {
		l.deliver()
		now := l.session.now()
		l.start(ctx, now)
		l.expire(now)
		l.hurry()
		if l.done() {
			break
		}
		events, err := l.poll.wait(l.session.now(), l.nextWake())
		if err != nil {
			panic(err) // the descriptors are our own: a mistake here, not a condition
		}
		for i := range events {
			switch e := &events[i]; e.Fd {
			case aboutClock:
				l.poll.rang()
			case aboutBell:
			default:
				l.socks.event(l, e)
			}
		}
		l.hurry()
	}
	for _, f := range l.fibers {
		f.next() // without a job it returns
	}
	l.closeIdle()
	l.mu.Lock()
	l.gone = true
	l.poll.close()
	l.mu.Unlock()
}

// deliver does what was posted.
func (l *lane) deliver() {
	l.mu.Lock()
	mail := l.mail
	l.mail = nil
	l.mu.Unlock()
	for _, do := range mail {
		do()
	}
}

// done says that nothing is left to do, and nothing will come.
func (l *lane) done() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing && l.live == 0 && !l.more && len(l.mail) == 0
}

// burst bounds the arrivals that start before answers are looked at again.
const burst = 16

// start lets the users come who are due.
func (l *lane) start(ctx context.Context, now time.Time) {
	for range burst {
		if !l.more || l.session.start.Add(l.upTo.At).After(now) {
			return
		}
		a := l.upTo
		for range l.n {
			if l.upTo, l.more = l.pacer.Next(); !l.more {
				break
			}
		}
		if l.session.admitted(a) {
			l.enter(func(f *fiber, w *worker) {
				w.user(ctx, a)
				l.session.inFlight.Add(-1)
				l.session.finished.Add(1)
			})
		}
		if !l.more {
			l.paced()
		}
	}
}

// enter gives a job to a fiber with a worker, and runs it until it first waits.
func (l *lane) enter(job func(*fiber, *worker)) {
	var w *worker
	if n := len(l.workers); n > 0 {
		w = l.workers[n-1]
		l.workers = l.workers[:n-1]
	} else {
		w = newWorker(l.session, l.shard)
	}
	l.carry(func(f *fiber) {
		w.fiber = f
		job(f, w)
		w.fiber = nil
		l.workers = append(l.workers, w)
	})
}

// carry runs a job on a fiber until it first waits.
func (l *lane) carry(job func(*fiber)) {
	var f *fiber
	if n := len(l.idle); n > 0 {
		f = l.idle[n-1]
		l.idle = l.idle[:n-1]
	} else {
		f = newFiber(l)
		l.fibers = append(l.fibers, f)
	}
	l.live++
	f.job = job
	l.into(f)
}

// host lets a user live on the lane. Any goroutine may ask for it.
func (l *lane) host(w *worker, life func()) {
	l.post(func() {
		l.carry(func(f *fiber) {
			w.fiber = f
			life()
		})
	})
}

// rest takes a fiber back whose job is done.
func (l *lane) rest(f *fiber) {
	l.live--
	l.idle = append(l.idle, f)
}

// resume wakes a fiber that waits, or is away.
func (l *lane) resume(f *fiber, why cause) {
	l.times.remove(f)
	f.waiting, f.why = false, why
	l.into(f)
}

func (l *lane) into(f *fiber) {
	l.running = f
	f.next()
	l.running = nil
}

// expire wakes the fibers whose time has come.
func (l *lane) expire(now time.Time) {
	for len(l.times) > 0 && !l.times[0].until.After(now) {
		l.resume(l.times[0], causeTime)
	}
}

// hurry wakes the fibers that were given what they waited for.
func (l *lane) hurry() {
	for len(l.soon) > 0 {
		f := l.soon[0]
		l.soon = l.soon[1:]
		l.resume(f, causeReady)
	}
}

// nextWake is when something is due next; zero: nothing is.
func (l *lane) nextWake() time.Time {
	var at time.Time
	if len(l.times) > 0 {
		at = l.times[0].until
	}
	if l.more {
		if next := l.session.start.Add(l.upTo.At); at.IsZero() || next.Before(at) {
			at = next
		}
	}
	return at
}

// halt takes no further arrivals, and wakes those who heed it.
func (l *lane) halt() {
	l.halted = true
	if l.more {
		l.more = false
		l.paced()
	}
	l.wakeAll(causeHalt, func(f *fiber) bool { return f.halts })
}

// end cuts off whatever is under way.
func (l *lane) end() {
	l.halt()
	l.cut = true
	l.wakeAll(causeEnd, func(*fiber) bool { return true })
}

func (l *lane) wakeAll(why cause, which func(*fiber) bool) {
	for _, f := range l.fibers {
		if f.waiting && which(f) {
			l.resume(f, why)
		}
	}
}
