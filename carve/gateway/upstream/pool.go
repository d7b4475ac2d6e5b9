package upstream

import (
	"container/list"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/notify"
)

// pool keeps connections to one instance that speaks plain HTTP/1.1. A request
// takes one for itself, works on it from its own goroutine, and puts it back after
// a clean end.
type pool struct {
	// address is that of the instance.
	address string
	dial    func(ctx context.Context) (net.Conn, error)
	// slots bounds the connections of all the upstream's pools: a request holds one
	// while it runs, and takes an idle connection before it dials.
	slots    *slots
	patience patience
	// running counts the requests that have or open a connection.
	running atomic.Int64

	mu     sync.Mutex // guards the following
	idle   []*conn    // the most recently used last
	closed bool
	reaper *time.Timer // armed while idle is not empty
}

// trusted is how long after its last use an idle connection may carry a request
// that can be sent only once. An upstream closes an idle connection whenever it
// likes, also while a request is on its way to it; one with a single busy
// thread closes it with the request unread, since it looks at its clock before
// it looks at its sockets. What was in use a moment ago is in no such danger:
// servers wait for seconds (Node and Apache httpd 5, gunicorn 2).
const trusted = time.Second

// reuse says which idle connections a request may take.
type reuse uint8

const (
	reuseNone    reuse = iota
	reuseTrusted       // those used within trusted
	reuseAny
)

func newPool(dial func(ctx context.Context) (net.Conn, error), slots *slots, patience patience) *pool {
	p := &pool{dial: dial, slots: slots, patience: patience}
	p.reaper = time.AfterFunc(time.Hour, p.reap)
	p.reaper.Stop()
	return p
}

// get gives a connection that nobody else uses: an idle one as far as may allows, else a
// new one. The caller has a slot.
func (p *pool) get(ctx context.Context, may reuse) (*conn, error) {
	p.running.Add(1)
	for c := p.pop(may); c != nil; c = p.pop(may) {
		if c.usable() {
			c.reused = true
			return c, nil
		}
		_ = c.net.Close() // the upstream had ended it already
	}
	nc, err := p.dial(ctx)
	if err != nil {
		p.running.Add(-1)
		return nil, err
	}
	return newConn(p, nc), nil
}

// pop takes the idle connection that was used last. Where even that one may not be used, the
// oldest makes room for the one that is dialled instead.
func (p *pool) pop(may reuse) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	switch {
	case last < 0 || may == reuseNone:
		return nil
	case may == reuseTrusted && time.Since(p.idle[last].idleSince) > trusted:
		_ = p.idle[0].net.Close() // idle: nothing is lost
		p.idle = slices.Delete(p.idle, 0, 1)
		return nil
	}
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c
}

// put takes a connection back, whether it can be used again or not.
func (p *pool) put(c *conn, usable bool) {
	if !usable || !p.keep(c) {
		_ = c.net.Close() // its result changes nothing
	}
	p.running.Add(-1)
}

func (p *pool) keep(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	c.idleSince = c.now
	if len(p.idle) == 0 {
		p.reaper.Reset(idleTimeout)
	}
	p.idle = append(p.idle, c)
	return true
}

// reap closes what has been idle too long: the oldest are first.
func (p *pool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	cut, limit := 0, time.Now().Add(-idleTimeout)
	for cut < len(p.idle) && p.idle[cut].idleSince.Before(limit) {
		_ = p.idle[cut].net.Close() // idle: nothing is lost
		cut++
	}
	p.idle = append(p.idle[:0:0], p.idle[cut:]...)
	if len(p.idle) > 0 {
		p.reaper.Reset(idleTimeout / 4)
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.reaper.Stop()
	for _, c := range p.idle {
		_ = c.net.Close() // idle: nothing is lost
	}
	p.idle = nil
}

// pace bounds how fast responses are read that no user waits for, all of them together.
// A candidate that floods every mirrored request would otherwise take the processors
// from users' requests. Work is counted as time: a byte as a nanosecond, and a
// stretch of content, such as a chunk of a few bytes, as pieceWork more. That is several
// times what it takes.
type pace struct {
	from time.Time
	due  atomic.Int64 // when the work so far would have been done, in ns from then on
}

const (
	pieceWork = 256 * time.Nanosecond
	// stretch is the work after which a reader looks whether it has to wait. Responses
	// that take less do not count.
	stretch = 64 << 10 * time.Nanosecond
	// ahead is how much sooner than due work may be done.
	ahead = time.Millisecond
)

var asides = pace{from: time.Now()}

// add counts work, and says how long whoever has done it must wait.
func (p *pace) add(at time.Time, work time.Duration) time.Duration {
	now := at.Sub(p.from)
	for {
		due := p.due.Load()
		next := max(due, int64(now)) + int64(work)
		if p.due.CompareAndSwap(due, next) {
			return time.Duration(next) - now - ahead
		}
	}
}

// paced counts a reader's work.
type paced struct {
	ctx   context.Context //nolint:containedctx // the call's
	pace  *pace
	work  time.Duration // that was not looked at yet
	waits time.Duration // in all
}

// did counts so many bytes in so many stretches, and waits where all are too fast. The
// error is errNoSpare where the call would end meanwhile: that is not the upstream's failure.
func (r *paced) did(bytes, stretches int) error {
	if r.work += time.Duration(bytes) + time.Duration(stretches)*pieceWork; r.work < stretch {
		return nil
	}
	now := time.Now()
	wait := r.pace.add(now, r.work)
	if r.work = 0; wait <= 0 {
		return nil
	}
	if end, ok := r.ctx.Deadline(); ok && end.Sub(now) <= wait {
		return errNoSpare
	}
	notify.Sleep(r.ctx, wait)
	r.waits += time.Since(now)
	return r.ctx.Err()
}

// slots bound how many requests are under way at one upstream, by whichever way they
// are sent. Users wait for a slot, in the order in which they came, and not for long.
// Requests that no user waits for (aside) never wait.
type slots struct {
	limit int
	// wait bounds a user's wait.
	wait time.Duration

	mu    sync.Mutex // guards the following
	taken int
	// shared says that requests share a connection (HTTP/2): there are slots for all.
	shared bool
	queue  list.List // of chan struct{}, each closed when its slot has come
	// revocable are those of the slots taken that may be revoked.
	revocable map[*revocable]struct{}
}

// acquire takes a slot for a user's request, or, with aside, for one that no user waits for.
func (s *slots) acquire(ctx context.Context, aside bool) error {
	s.mu.Lock()
	free := s.shared || s.taken < s.limit
	if aside {
		free = s.taken <= (s.limit-1)/2 // half of all are the users' own; an only one may be taken
	}
	if free {
		s.taken++
		s.mu.Unlock()
		return nil
	}
	if aside {
		s.mu.Unlock()
		return errNoSpare
	}
	ready := make(chan struct{})
	w := s.queue.PushBack(ready)
	s.mu.Unlock()
	t := time.NewTimer(s.wait)
	defer t.Stop()
	look := time.NewTicker(revokeEvery)
	defer look.Stop()
	for {
		select {
		case <-ready:
			return nil
		case <-look.C:
			s.revoke()
		case <-ctx.Done():
			return s.leave(w, ready, ctx.Err())
		case <-t.C:
			return s.leave(w, ready, errNoSlot)
		}
	}
}

// free is how many requests would not wait.
func (s *slots) free() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit - s.taken
}

// leave gives up waiting, unless the slot has come meanwhile.
func (s *slots) leave(w *list.Element, ready <-chan struct{}, why error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-ready:
		return nil
	default:
		s.queue.Remove(w)
		return why
	}
}

// wake gives a slot to who has waited longest; false: nobody waits. The caller holds mu.
func (s *slots) wake() bool {
	first := s.queue.Front()
	if first == nil {
		return false
	}
	close(s.queue.Remove(first).(chan struct{}))
	return true
}

// release gives a slot to whose turn it is, or back.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.wake() {
		s.taken--
	}
}

// share says that the upstream speaks HTTP/2.
func (s *slots) share() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared = true
	for s.wake() {
		s.taken++
	}
}

const (
	// defaultRead and defaultWrite stand in for an Upstream.ReadTimeout and
	// WriteTimeout of 0, defaultStream for a StreamTimeout of 0.
	defaultRead   = time.Minute
	defaultWrite  = time.Minute
	defaultStream = time.Hour
)

// patience is for how long an upstream may do nothing in the middle of an
// exchange.
type patience struct {
	// read bounds the wait for the next bytes of a response's body, stream that of an
	// event stream or gRPC response, write the wait until the upstream takes the next
	// bytes of a request's body.
	read, write, stream time.Duration
}

func patienceOf(spec *whittle.Upstream) patience {
	return patience{read: above0(spec.ReadTimeout, defaultRead), write: above0(spec.WriteTimeout, defaultWrite), stream: above0(spec.StreamTimeout, defaultStream)}
}

// silence is how long a response with such a Content-Type may be silent.
func (p *patience) silence(contentType string) time.Duration {
	for _, streaming := range []string{"text/event-stream", "application/grpc"} {
		if len(contentType) >= len(streaming) && strings.EqualFold(contentType[:len(streaming)], streaming) {
			return p.stream
		}
	}
	return p.read
}

// lease is a slot that a request through net/http holds, at an instance.
type lease struct {
	slots *slots
	at    *instance
}

func (l *lease) end() {
	l.at.running.Add(-1)
	l.slots.release()
}

// attempts are the instances that a request could not be sent to.
type attempts struct {
	failed []*instance
	since  time.Time // when the first one failed
}

// choose picks the instance for a request: of two that are drawn at random the one
// with fewer requests under way. With two instances that is the less busy one. With
// more it comes close to it, and one that has just begun, or that fails fast and so
// never has much under way, gets at most twice its part: the least busy of all would
// get everything.
//
// Requests that no user waits for (aside) go to ejected instances too: ejection spares
// users, and must not hide the server's faults from the comparison.
func (u *Upstream) choose(ctx context.Context, tries *attempts, aside bool) (*instance, error) {
	g := u.group.Load()
	if len(g.all) == 1 {
		return g.all[0], nil
	}
	for len(g.all) == 0 {
		if g.why != nil {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: g.why}
		}
		select {
		case <-g.replaced:
			g = u.group.Load()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	among := g.ready
	if aside {
		among = g.sound
	}
	if len(tries.failed) > 0 {
		if among = tries.others(among); len(among) == 0 {
			among = tries.others(g.all)
		}
		if len(among) == 0 {
			among = g.all // they have changed meanwhile
		}
	}
	return lessBusy(among), nil
}

// lessBusy draws two, and gives the one with less under way.
func lessBusy(among []*instance) *instance {
	at := rand.IntN(len(among))
	a := among[at]
	if len(among) == 1 {
		return a
	}
	b := among[(at+1+rand.IntN(len(among)-1))%len(among)]
	if b.load() < a.load() {
		return b
	}
	return a
}

// further reports whether a request that failed at i may be sent to another
// instance: no connection came about, so that nothing was sent, or the request may be
// sent again; there is one that was not tried, and the upstream's timeout has not
// passed since the first attempt failed.
func (a *attempts) further(ctx context.Context, u *Upstream, i *instance, err error, again bool) bool {
	again = again && u.repeats && Classify(err) == whittle.FailedReset
	if !isDial(err) && !again || ctx.Err() != nil {
		return false
	}
	now := time.Now()
	if len(a.failed) == 0 {
		a.since = now
	}
	a.failed = append(a.failed, i)
	if now.Sub(a.since) >= u.timeout || len(a.others(u.group.Load().all)) == 0 {
		return false
	}
	u.elsewhere.Add(1)
	return true
}

// others are those of all that were not tried.
func (a *attempts) others(all []*instance) []*instance {
	return slices.DeleteFunc(slices.Clone(all), func(i *instance) bool { return slices.Contains(a.failed, i) })
}

// saw takes in how a request ended at i: with a status, or an error before there was
// one. A client that has gone says nothing of the instance.
func (u *Upstream) saw(ctx context.Context, i *instance, status int, err error) {
	limit := u.spec.Ejection.Consecutive
	if limit <= 0 || len(u.group.Load().all) == 1 {
		return
	}
	switch {
	case errors.Is(err, errIdleTooLong): // it was not asked
	case err != nil && errors.Is(ctx.Err(), context.Canceled) && !isTimeout(context.Cause(ctx)):
	case err != nil || status >= http.StatusInternalServerError:
		if int(i.failed.Add(1)) == limit {
			u.eject(i, status, err)
		}
	case i.failed.Load() != 0:
		i.failed.Store(0)
	}
}
