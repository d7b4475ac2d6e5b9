package fastpath

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"whittle/internal/conns"
	"whittle/internal/socket"
)

// bufferSize is how much of a connection is read at once, and the longest head.
// A single event fits in with its head.
const bufferSize = 4 << 10

// The states of a connection: Shutdown closes the idle ones.
const (
	idle int32 = iota // waits for the first byte of a request
	busy
	closed // closed by Shutdown or Close
)

// conn is a connection on the fast path. It belongs to one goroutine, except
// for its state.
type conn struct {
	s        *Server
	rwc      net.Conn
	fallback *conns.Handed
	peer     string
	state    atomic.Int32

	// idle waits for a request without a buffer; nil where bytes are encrypted.
	idle     *socket.Idle
	buf      *[bufferSize]byte // nil: nothing is read that was not used
	from, to int               // the unread part of buf
	head     head
	body     body
	request  http.Request
	response response

	begun   time.Time // when the first bytes of the current request came
	readBy  time.Time // the deadlines in force; zero: none
	writeBy time.Time
}

func newConn(s *Server, rwc net.Conn, other *conns.Handed) *conn {
	c := &conn{s: s, rwc: rwc, fallback: other, peer: rwc.RemoteAddr().String()}
	c.body.c, c.response.c = c, c
	if sc, ok := rwc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			c.idle = socket.NewIdle(raw, c.attach, c.release)
		}
	}
	c.response.header = http.Header{}
	return c
}

// buffers are for connections with a part of a request that nobody has taken: those
// that wait for a request or for the stream have none.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// attach gives the connection's buffer, and takes one where it has none.
func (c *conn) attach() []byte {
	if c.buf == nil {
		c.buf = buffers.Get().(*[bufferSize]byte)
	}
	return c.buf[:]
}

// release gives the buffer back. What is unread in it is lost.
func (c *conn) release() {
	if c.buf != nil {
		buffers.Put(c.buf)
		c.buf, c.from, c.to = nil, 0, 0
	}
}

// nextStep is what happens to a connection after a request.
type nextStep uint8

const (
	keepOpen  nextStep = iota // wait for the next request
	closeConn                 // close it
	fallBack                  // hand it to net/http
)

// serve serves requests, one after the other.
func (c *conn) serve() {
	defer c.release()
	for first := true; ; first = false {
		f := c.readHead(first)
		if f == keepOpen {
			f = c.serveRequest()
		}
		if f == keepOpen && !c.markIdle() {
			f = closeConn
		}
		switch f {
		case closeConn:
			_ = c.rwc.Close() // nothing is outstanding on it
			return
		case fallBack:
			// The deadlines of the fast path must not apply to net/http. Where this fails, so
			// does what net/http does next.
			_ = c.rwc.SetDeadline(time.Time{})
			c.fallback.Give(newStrictConn(conns.Resume(c.rwc, c.unread())))
			return
		}
	}
}

// unread is what has been read of the connection and not used.
func (c *conn) unread() []byte {
	if c.buf == nil {
		return nil
	}
	return c.buf[c.from:c.to]
}

// markIdle marks the connection as idle, unless more of it has been read
// already. It returns false when the server is closing.
func (c *conn) markIdle() bool {
	if c.s.conns.Closing() {
		return false
	}
	if c.from < c.to {
		return true
	}
	c.state.CompareAndSwap(busy, idle)
	// Either Shutdown has seen it idle, or its flag is seen here.
	return !c.s.conns.Closing()
}

// readHead waits for a request's head and reads it.
func (c *conn) readHead(first bool) nextStep {
	if c.from < c.to {
		c.begun = time.Now()
	} else if !c.awaitRequest(first) {
		return closeConn
	}
	n, odd := c.head.endOf(c.buf[c.from:c.to])
	for n == 0 && !odd {
		if c.to-c.from == len(c.buf) {
			return fallBack
		}
		c.readUntil(c.begun, c.s.http.ReadHeaderTimeout, 0)
		if err := c.readMore(); errors.Is(err, io.EOF) {
			return fallBack // net/http responds to it
		} else if err != nil {
			return closeConn
		}
		n, odd = c.head.endOf(c.buf[c.from:c.to])
	}
	if odd || !c.head.read(c.buf[c.from:c.from+n]) {
		return fallBack
	}
	c.from += n
	return keepOpen
}

// awaitRequest waits for the first bytes of a request. A new connection has as
// much time for them as for a whole head.
func (c *conn) awaitRequest(first bool) bool {
	c.from, c.to = 0, 0
	timeout := c.s.http.IdleTimeout
	switch {
	case first && c.s.http.ReadHeaderTimeout > 0:
		timeout = c.s.http.ReadHeaderTimeout
	case timeout == 0:
		timeout = c.s.http.ReadTimeout
	}
	now := c.response.sentAt // a new clock reading is not needed
	if first {
		now = time.Now()
	}
	c.readUntil(now, timeout, timeout/8)
	if c.readAny() != nil || !c.state.CompareAndSwap(idle, busy) {
		return false
	}
	c.begun = time.Now()
	return true
}

// readAny reads the first bytes of a request.
func (c *conn) readAny() (err error) {
	if c.idle == nil {
		return c.readMore()
	}
	c.release()
	c.to, err = c.idle.Read()
	return err
}

// readMore reads more into the buffer, which must not be full.
func (c *conn) readMore() error {
	b := c.attach()
	if c.from > 0 {
		c.to = copy(b, b[c.from:c.to])
		c.from = 0
	}
	n, err := c.rwc.Read(b[c.to:])
	c.to += n
	if n > 0 {
		return nil // the next read returns the error
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// readUntil sets the read deadline to a timeout after since. It keeps the
// present deadline where that is earlier by no more than slack, because setting
// it for each request has a cost.
func (c *conn) readUntil(since time.Time, timeout, slack time.Duration) {
	if updateDeadline(&c.readBy, since, timeout, slack) {
		_ = c.rwc.SetReadDeadline(c.readBy) // the read after it fails then, too
	}
}

func (c *conn) writeUntil(since time.Time, timeout time.Duration) {
	if updateDeadline(&c.writeBy, since, timeout, timeout/8) {
		_ = c.rwc.SetWriteDeadline(c.writeBy) // the write after it fails then, too
	}
}

// updateDeadline computes a deadline and reports whether it has changed.
func updateDeadline(by *time.Time, since time.Time, timeout, slack time.Duration) bool {
	if timeout <= 0 {
		had := !by.IsZero()
		*by = time.Time{}
		return had
	}
	to := since.Add(timeout)
	if early := to.Sub(*by); early >= 0 && early <= slack {
		return false
	}
	*by = to
	return true
}

// serveRequest has the handler respond to the current request.
func (c *conn) serveRequest() nextStep {
	c.body.remaining = c.head.length
	c.body.err = nil
	c.request = *c.s.template
	r := &c.request
	r.URL, r.RequestURI, r.Host, r.Header = &c.head.url, c.head.target, c.head.host, c.head.header
	r.RemoteAddr, r.ContentLength, r.Body = c.peer, int64(c.head.length), &c.body
	c.response.reset()
	if !c.callHandler(r) {
		return closeConn
	}
	whole := c.body.discard()
	if !c.response.finish(whole && !c.s.conns.Closing()) {
		c.linger()
		return closeConn
	}
	return keepOpen
}

// callHandler calls the handler. It returns false when the handler panicked:
// then there is no response.
func (c *conn) callHandler(r *http.Request) (ok bool) {
	say := log.Printf
	if c.s.http.ErrorLog != nil {
		say = c.s.http.ErrorLog.Printf
	}
	return conns.Handle(func() { c.s.http.Handler.ServeHTTP(&c.response, r) }, c.peer, say)
}

// A client is given time to read the last response for as long as it sends, up to a
// bound, and for half a second in which nothing comes.
const (
	lingerFor  = 500 * time.Millisecond
	lingerMost = 5 * time.Second
)

// linger gives it that time.
func (c *conn) linger() {
	if c.response.failed != nil {
		return
	}
	_ = conns.CloseWrite(c.rwc) // where that fails, the reading ends at once
	readOff(c.rwc, c.attach())
}

// readOff reads what a client still sends behind its last response. If it sent to a
// closed connection, its system would discard the response.
func readOff(c net.Conn, into []byte) {
	for until := time.Now().Add(lingerMost); ; {
		now := time.Now()
		if !now.Before(until) {
			return
		}
		by := now.Add(lingerFor)
		if by.After(until) {
			by = until
		}
		if c.SetReadDeadline(by) != nil {
			return
		}
		if _, err := c.Read(into); err != nil {
			return
		}
	}
}
