package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/http1"
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

// maxLeanBody is the longest request body that the pool's own client sends. It
// is read whole and goes out in one write with the head.
const maxLeanBody = 4 << 10

// requests are buffers in which heads and short bodies are put together.
var requests = sync.Pool{New: func() any {
	b := make([]byte, 0, 2<<10)
	return &b
}}

// sendLean goes through the pool, on this goroutine alone.
func (u *Upstream) sendLean(ctx context.Context, q *Request) (*Response, error) {
	c, err := u.lean(ctx, &leanCall{
		method: q.In.Method, again: replayable(q.In.Request), limit: u.timeout, last: authenticates(q.In.Header), inform: q.Inform,
	}, func(b []byte) ([]byte, error) { return u.compose(b, q) })
	if err != nil {
		return nil, err
	}
	return c.begun(), nil
}

// lean does a call whose request is put together by compose, in a buffer that is the call's.
func (u *Upstream) lean(ctx context.Context, call *leanCall, compose func(b []byte) ([]byte, error)) (*conn, error) {
	buf := requests.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= 64<<10 {
			requests.Put(buf)
		}
	}()
	var err error
	if *buf, err = compose((*buf)[:0]); err != nil {
		return nil, err
	}
	call.request = *buf
	return u.do(ctx, call)
}

// begun is the response whose head has been read.
func (c *conn) begun() *Response {
	return &Response{Status: c.head.status, Length: c.head.length, body: &c.framed, conn: c}
}

// compose puts the request as it goes upstream into b, body included.
func (u *Upstream) compose(b []byte, q *Request) ([]byte, error) {
	w := headWriter{b: b}
	w.line(q.In.Method, u.target(q.In.RequestURI), u.hostFor(q.In.Host))
	q.In.EachOutbound(w.field)
	if q.In.ContentLength > 0 || q.In.Header["Content-Length"] != nil {
		w.field("Content-Length", strconv.FormatInt(q.In.ContentLength, 10))
	}
	b, err := w.end()
	if err != nil || q.Body == nil {
		return b, err
	}
	at := len(b)
	b = append(b, make([]byte, q.In.ContentLength)...)
	_, err = io.ReadFull(q.Body, b[at:])
	return b, err
}

// headWriter puts an HTTP/1.1 request head together. Whatever could be read as
// more than one line is refused, wherever it came from.
type headWriter struct {
	b   []byte
	bad bool
}

func (w *headWriter) line(method, target, host string) {
	var line bool
	w.b, line = http1.AppendRequestLine(w.b, method, target)
	w.bad = !line
	w.field("Host", host)
}

func (w *headWriter) field(name, value string) {
	var ok bool
	w.b, ok = http1.AppendField(w.b, name, value)
	w.bad = w.bad || !ok
}

func (w *headWriter) end() ([]byte, error) {
	if w.bad {
		return w.b, ErrTarget
	}
	return http1.EndHead(w.b), nil
}

// replayable reports whether a request may be sent a second time without
// asking: net/http's rule.
func replayable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return r.Header["Idempotency-Key"] != nil || r.Header["X-Idempotency-Key"] != nil
}

// authenticates reports whether a request authenticates its connection and not only
// itself: NTLM, and Negotiate, which may be NTLM. Another user's request on that
// connection would be taken for the first user's.
func authenticates(h map[string][]string) bool {
	return slices.ContainsFunc(h["Authorization"], forConn[string])
}

// forConn reports whether an Authorization field is for the connection.
func forConn[V string | []byte](authorization V) bool {
	for _, scheme := range []string{"NTLM", "Negotiate"} {
		n := len(scheme)
		if len(authorization) >= n && strings.EqualFold(string(authorization[:n]), scheme) && (len(authorization) == n || authorization[n] == ' ') {
			return true
		}
	}
	return false
}

// leanCall is one request through a pool.
type leanCall struct {
	request []byte
	method  string
	// again says that the request may be repeated on a new connection, where a
	// kept one turned out to be closed.
	again bool
	// limit is for everything up to the head, and for the body as well where
	// total is set.
	limit time.Duration
	total bool
	// last says that no other request may follow on the connection.
	last bool
	// aside says that no user waits: a connection is taken only where one is to
	// spare.
	aside bool
	// inform gets the 1xx responses before the final one. Nil: nobody does.
	inform func(status int, reason string, fields map[string][]string)
}

// do sends a request over a pooled connection, by another instance where none could
// be opened to the one that was chosen, and reads the response's head. The caller
// finishes the connection.
func (u *Upstream) do(ctx context.Context, call *leanCall) (*conn, error) {
	if err := u.slots.acquire(ctx, call.aside); err != nil {
		return nil, err
	}
	var tries attempts
	for {
		i, err := u.choose(ctx, &tries, call.aside)
		if err != nil {
			u.slots.release()
			return nil, err
		}
		c, err := i.pool.do(ctx, call)
		if err == nil {
			u.saw(ctx, i, c.head.status, nil)
			return c, nil
		}
		u.saw(ctx, i, 0, err)
		if !tries.further(ctx, u, i, err, call.again) {
			u.slots.release()
			return nil, err
		}
	}
}

// do sends a request and reads the response's head. The caller, who has a slot,
// finishes the connection.
func (p *pool) do(ctx context.Context, call *leanCall) (*conn, error) {
	may := reuseAny
	if !call.again {
		may = reuseTrusted
	}
	for {
		c, err := p.get(ctx, may)
		if err != nil {
			return nil, err
		}
		err = c.exchange(ctx, call.request, call.method == http.MethodHead, call.limit, call.total, call.inform)
		if err == nil {
			c.head.last = c.head.last || call.last
			return c, nil
		}
		stale := c.reused && !c.heard && Classify(err) == whittle.FailedReset
		again := call.again || !c.sent
		c.abandon()
		if !stale || !again {
			if errors.Is(err, io.EOF) {
				err = errNoHead
			}
			return nil, err
		}
		may = reuseNone
	}
}
