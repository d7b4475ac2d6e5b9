package upstream

import (
	"container/list"
	"context"
	"net"
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

// revocable is a slot whose exchange waits for its client again and again. While others
// wait for a slot it may be revoked: from the client that is waited for longest.
type revocable struct {
	// cut has the exchange end: its client is waited for no longer. It is called
	// with the slots locked, so that it must not wait for them.
	cut func()
	// waited is how long the client has been waited for in all; 0 while it is not.
	waited func() time.Duration

	cutAt time.Time // guarded by the slots' mu
}

const (
	// leniency is how long a client may be waited for while others wait for the slot.
	leniency = time.Second
	// revokeEvery is how often who waits for a slot looks for one to be revoked.
	revokeEvery = 50 * time.Millisecond
)

// allowRevoking makes a slot one that may be revoked.
func (s *slots) allowRevoking(r *revocable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revocable == nil {
		s.revocable = map[*revocable]struct{}{}
	}
	s.revocable[r] = struct{}{}
}

func (s *slots) forbidRevoking(r *revocable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.revocable, r)
}

// revoke takes a slot back from the client that was waited for longest, if there is
// one that was for too long. The slot is free when its exchange has ended.
func (s *slots) revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var slowest *revocable
	longest := leniency
	now := time.Now()
	for r := range s.revocable {
		if w := r.waited(); w >= longest && now.Sub(r.cutAt) >= leniency {
			slowest, longest = r, w
		}
	}
	if slowest != nil {
		slowest.cutAt = now
		slowest.cut()
	}
}

// Wait counts the time in which a client is waited for. It is safe for concurrent
// use, and the zero value has begun nothing.
type Wait struct {
	total atomic.Int64 // ended waits, ns
	since atomic.Int64 // when the present one began, Unix ns; 0: there is none
}

// Begin begins to wait.
func (w *Wait) Begin(now time.Time) { w.since.Store(now.UnixNano()) }

// End ends the wait that Begin began.
func (w *Wait) End(now time.Time) {
	w.total.Add(now.UnixNano() - w.since.Swap(0))
}

// Total is how long the client has been waited for in all.
func (w *Wait) Total(now time.Time) time.Duration {
	total := w.total.Load()
	if since := w.since.Load(); since != 0 {
		total += now.UnixNano() - since
	}
	return time.Duration(total)
}

// waited is as in revocable.
func (w *Wait) waited() time.Duration {
	if w.since.Load() == 0 {
		return 0
	}
	return w.Total(time.Now())
}

// LetRevoke lets the response's slot be revoked while w says that the client is waited
// for, by cut, until Close.
func (a *Response) LetRevoke(w *Wait, cut func()) {
	if a.revocable != nil || a.closed {
		return
	}
	a.revocable = &revocable{cut: cut, waited: w.waited}
	a.slots().allowRevoking(a.revocable)
}

// slots are those of the response's upstream.
func (a *Response) slots() *slots {
	if a.conn != nil {
		return a.conn.pool.slots
	}
	return a.held.slots
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
