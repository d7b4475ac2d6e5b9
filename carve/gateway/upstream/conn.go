package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/http1"
	"whittle/internal/socket"
)

const (
	connBuffer = 8 << 10
	// maxInformational bounds the 1xx responses before the final one.
	maxInformational = 32
)

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// conn is a connection of a pool. One goroutine at a time uses it.
type conn struct {
	pool *pool
	net  net.Conn
	// client is whose the connection is; "": anybody's.
	client string
	// born is when it was opened, some tenth of the pool's maxAge earlier: not all
	// that were opened together end together. requests counts those it has carried.
	born     time.Time
	requests int
	secure   *tls.Conn    // net, where it speaks TLS
	quick    *socket.Conn // net, or what is below secure; nil: it has no quick calls

	buf  []byte
	r, w int // buf[r:w] has been read and not used

	head    responseHead
	framed  body
	trailer http.Header

	ctx  context.Context //nolint:containedctx // the request's that holds the connection now
	stop func() bool     // ends the watch on ctx
	kill func()          // made once
	// cut says that the response is not wanted any more; any goroutine sets it.
	cut atomic.Bool
	// total says that the deadline in force covers the body; until is the one for
	// the body's next bytes otherwise.
	total bool
	until time.Time
	// bounded is the deadline in force for both directions; zero: they differ.
	bounded time.Time
	// reused says that an earlier request went through here; sent, that the
	// kernel took any of this one; heard, that the upstream has said anything
	// to it.
	reused, sent, heard bool
	now                 time.Time // when the present request began
	idleSince           time.Time
}

func newConn(p *pool, nc net.Conn, client string) *conn {
	c := &conn{pool: p, net: nc, client: client, buf: make([]byte, connBuffer)}
	if p.maxAge > 0 {
		c.born = time.Now().Add(-rand.N(p.maxAge/10 + 1))
	}
	c.kill = func() { _ = c.net.SetDeadline(longAgo) } // whoever uses it sees the error
	c.framed.c = c
	if t, ok := nc.(*tls.Conn); ok {
		c.secure = t
		c.quick, _ = t.NetConn().(*socket.Conn)
	} else if c.quick = socket.Of(nc); c.quick != nil {
		c.net = c.quick
	}
	return c
}

// usable reports whether an idle connection is still open and has nothing to read.
// Bytes that came without a request would be taken for the response to the next
// one.
func (c *conn) usable() bool {
	if c.secure != nil && c.holds() {
		return false
	}
	return c.quick == nil || c.quick.Silent()
}

// holds reports whether there is something left of what TLS has read, which the
// socket knows nothing of, or whether that has ended.
func (c *conn) holds() bool {
	c.bounded = time.Time{}
	if c.net.SetReadDeadline(longAgo) != nil {
		return true
	}
	var b [1]byte
	n, err := c.net.Read(b[:])
	return n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || c.net.SetReadDeadline(time.Time{}) != nil
}

// exchange writes a request and reads the final response's head. limit is for
// everything up to the head, and for the body as well where total is set.
func (c *conn) exchange(ctx context.Context, request []byte, head bool, limit time.Duration, total bool, inform func(status int, reason string, fields map[string][]string)) error {
	c.ctx, c.total, c.until, c.sent, c.heard = ctx, total, time.Time{}, false, false
	c.trailer = nil
	c.cut.Store(false)
	c.requests++
	c.now = time.Now()
	if err := c.bound(limit); err != nil {
		return err
	}
	// After the deadline: once ctx has ended, none but kill's may be set.
	if w, ok := ctx.(Watcher); ok {
		c.stop = w.Watch(c.kill)
	} else {
		c.stop = context.AfterFunc(ctx, c.kill)
	}
	if err := c.ask(request); err != nil {
		return c.because(err)
	}
	for range maxInformational {
		if err := c.readHead(); err != nil {
			return err
		}
		if c.head.status >= 200 {
			c.framed.begin(&c.head, head)
			return nil
		}
		if c.head.status == http.StatusSwitchingProtocols {
			return ErrMalformed // nobody asked for it
		}
		if inform != nil && c.head.status != http.StatusContinue {
			fields := http.Header{}
			c.head.copyTo(fields)
			inform(c.head.status, c.head.reason, fields)
		}
	}
	return ErrMalformed
}

// ask writes a request, and reads the first of the response where that saves a call.
func (c *conn) ask(request []byte) (err error) {
	var sent int
	if quick, ok := c.net.(*socket.Conn); ok {
		c.r = 0
		sent, c.w, err = quick.Ask(request, c.buf)
	} else {
		sent, err = c.net.Write(request)
	}
	c.sent, c.heard = sent > 0, c.w > 0
	return err
}

// Watcher is a context that watches its end for one at a time, without an
// allocation; otherwise Watch is context.AfterFunc, whose stop is called once.
type Watcher interface {
	Watch(f func()) (stop func() bool)
}

// bound sets the deadline for an exchange that begins now. One that is in force stays
// where it is later by a sixteenth at most, for moving it costs as much as a read.
func (c *conn) bound(limit time.Duration) error {
	if c.total {
		c.bounded = time.Time{}
		return c.net.SetDeadline(c.now.Add(limit))
	}
	if left := c.bounded.Sub(c.now); left >= limit && left <= limit+limit/16 {
		return nil
	}
	c.bounded = c.now.Add(limit + limit/16)
	return c.net.SetDeadline(c.bounded)
}

func (c *conn) readHead() error {
	for {
		n, err := c.head.parse(c.buf[c.r:c.w])
		if err != nil {
			return err
		}
		if n > 0 {
			c.r += n
			return nil
		}
		if err := c.fill(maxResponseHead); err != nil {
			return err
		}
	}
}

// fill reads once more behind what is there; the block being read may grow to
// limit.
func (c *conn) fill(limit int) error {
	switch {
	case c.r == c.w:
		c.r, c.w = 0, 0
	case c.w == len(c.buf) && c.r > 0:
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	case c.w == len(c.buf):
		if len(c.buf) >= limit {
			return errHeadSize
		}
		bigger := make([]byte, min(2*len(c.buf), limit))
		c.w = copy(bigger, c.buf[:c.w])
		c.buf = bigger
	}
	n, err := c.read(c.buf[c.w:])
	c.w += n
	return err
}

// read gives at least one byte or an error.
func (c *conn) read(p []byte) (int, error) {
	n, err := c.net.Read(p)
	if n > 0 {
		c.heard = true
		return n, nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return 0, c.because(err)
}

// because gives the context's error rather than the I/O error that its end caused.
func (c *conn) because(err error) error {
	if cause := c.ctx.Err(); cause != nil {
		return cause
	}
	if c.cut.Load() {
		return errCut
	}
	return err
}

// await sets the deadline for the next bytes of a body. It moves with them, by
// steps: an upstream may be silent for so long, and a quarter longer at most.
func (c *conn) await() error {
	if c.total {
		return nil
	}
	now, silence := time.Now(), c.silence()
	if c.until.Sub(now) >= silence {
		return nil
	}
	c.until, c.bounded = now.Add(silence+silence/4), time.Time{}
	if err := c.net.SetReadDeadline(c.until); err != nil {
		return err
	}
	// The context may have ended, and kill's deadline been overwritten, in
	// between; if it ends later than this line, kill comes later as well. So it is
	// with Cut.
	if c.cut.Load() {
		return errCut
	}
	return c.ctx.Err()
}

func (c *conn) silence() time.Duration {
	for i := range c.head.fields {
		if c.head.fields[i].name == "Content-Type" {
			return c.pool.patience.silence(c.head.fields[i].value)
		}
	}
	return c.pool.patience.read
}

// finish gives the connection back, and its slot.
func (c *conn) finish() {
	c.leave()
	c.pool.slots.release()
}

// leave gives the connection back.
func (c *conn) leave() {
	clean := c.framed.done && !c.head.last && c.r == c.w
	if c.stop != nil && !c.stop() {
		clean = false // kill has run or is about to
	}
	c.ctx, c.stop = nil, nil
	if len(c.buf) > connBuffer { // neither do head and trailer keep what was larger
		c.buf, c.head, c.framed.framed = make([]byte, connBuffer), responseHead{}, http1.Body{}
	}
	c.r, c.w = 0, 0
	c.pool.put(c, clean)
}

// abandon gives the connection back after a failure.
func (c *conn) abandon() {
	c.framed.done = false
	c.leave()
}

// response reads the rest into memory.
func (c *conn) response(hold *holding) (whittle.Response, error) {
	h := http.Header{}
	c.head.copyTo(h)
	a := whittle.Response{Status: c.head.status, Header: whittle.Header(h)}
	if c.head.length > hold.limit && !c.framed.done {
		return a, errResponseSize
	}
	if err := hold.read(&c.framed); err != nil {
		return a, err
	}
	a.Body, a.Trailer = hold.body, whittle.Header(c.trailer)
	return a, nil
}
