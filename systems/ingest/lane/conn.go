package lane

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// bufferSize is how much of a connection is read at once, and the longest head.
// A single event fits in with its head.
const bufferSize = 4 << 10

// The states of a connection: Shutdown closes the idle ones.
const (
	idle int32 = iota // waits for a request, of which nothing has come yet
	busy
	gone // closed by Shutdown or Close
)

// conn is a connection on the lane. It belongs to one goroutine, but for its
// state.
type conn struct {
	s     *Server
	rwc   net.Conn
	other *handover
	peer  string
	state atomic.Int32

	buf      []byte
	from, to int // what of buf is not used yet
	head     head
	body     body
	request  http.Request
	answer   answer

	begun   time.Time // when the request in hand began to come
	readBy  time.Time // the deadlines that are set; zero: none is
	writeBy time.Time
}

func newConn(s *Server, rwc net.Conn, other *handover) *conn {
	c := &conn{s: s, rwc: rwc, other: other, peer: rwc.RemoteAddr().String(), buf: make([]byte, bufferSize)}
	c.body.c, c.answer.c = c, c
	c.answer.header = http.Header{}
	return c
}

// fate is what becomes of a connection after a request.
type fate uint8

const (
	further fate = iota // it waits for the next one
	over                // it is to be closed
	others              // it is net/http's
)

// serve takes requests, one after the other.
func (c *conn) serve() {
	for first := true; ; first = false {
		f := c.await(first)
		if f == further {
			f = c.take()
		}
		if f == further && !c.rest() {
			f = over
		}
		switch f {
		case over:
			_ = c.rwc.Close() // nobody waits for anything of it
			return
		case others:
			c.other.give(c.rwc, c.buf[c.from:c.to])
			return
		}
	}
}

// rest makes the connection idle, unless more of it has come already. It is
// false where the server is closing.
func (c *conn) rest() bool {
	if c.s.closing.Load() {
		return false
	}
	if c.from < c.to {
		return true
	}
	c.state.CompareAndSwap(busy, idle)
	// Shutdown has either found it idle or is found here.
	return !c.s.closing.Load()
}

// await waits for a request's head and reads it.
func (c *conn) await(first bool) fate {
	if c.from < c.to {
		c.begun = time.Now()
	} else if !c.wait(first) {
		return over
	}
	n, odd := c.head.endOf(c.buf[c.from:c.to])
	for n == 0 && !odd {
		if c.to-c.from == len(c.buf) {
			return others
		}
		c.readUntil(c.begun, c.s.http.ReadHeaderTimeout, 0)
		if err := c.fill(); errors.Is(err, io.EOF) {
			return others // which answers it
		} else if err != nil {
			return over
		}
		n, odd = c.head.endOf(c.buf[c.from:c.to])
	}
	if odd || !c.head.read(c.buf[c.from:c.from+n]) {
		return others
	}
	c.from += n
	return further
}

// wait waits for the first bytes of a request. On a new connection there is as
// much time for them as for a head.
func (c *conn) wait(first bool) bool {
	c.from, c.to = 0, 0
	patience := c.s.http.IdleTimeout
	switch {
	case first && c.s.http.ReadHeaderTimeout > 0:
		patience = c.s.http.ReadHeaderTimeout
	case patience == 0:
		patience = c.s.http.ReadTimeout
	}
	now := c.answer.left // when the last answer left is as good as now
	if first {
		now = time.Now()
	}
	c.readUntil(now, patience, patience/8)
	if c.fill() != nil || !c.state.CompareAndSwap(idle, busy) {
		return false
	}
	c.begun = time.Now()
	return true
}

// fill reads more into the buffer, of which not all is used.
func (c *conn) fill() error {
	if c.from > 0 {
		c.to = copy(c.buf, c.buf[c.from:c.to])
		c.from = 0
	}
	n, err := c.rwc.Read(c.buf[c.to:])
	c.to += n
	if n > 0 {
		return nil // an error comes again
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// readUntil lets reading end some time after since. A deadline that is set
// already is left where it is earlier by no more than slack: to move it for
// each request is not free.
func (c *conn) readUntil(since time.Time, patience, slack time.Duration) {
	if move(&c.readBy, since, patience, slack) {
		_ = c.rwc.SetReadDeadline(c.readBy) // the read after it fails then, too
	}
}

func (c *conn) writeUntil(since time.Time, patience time.Duration) {
	if move(&c.writeBy, since, patience, patience/8) {
		_ = c.rwc.SetWriteDeadline(c.writeBy) // the write after it fails then, too
	}
}

// move sets a deadline and says whether it is another one now.
func move(by *time.Time, since time.Time, patience, slack time.Duration) bool {
	if patience <= 0 {
		had := !by.IsZero()
		*by = time.Time{}
		return had
	}
	to := since.Add(patience)
	if early := to.Sub(*by); early >= 0 && early <= slack {
		return false
	}
	*by = to
	return true
}

// take has the handler answer the request in hand.
func (c *conn) take() fate {
	c.body.left = c.head.length
	c.body.err = nil
	c.request = *c.s.like
	r := &c.request
	r.URL, r.RequestURI, r.Host, r.Header = &c.head.url, c.head.target, c.head.host, c.head.header
	r.RemoteAddr, r.ContentLength, r.Body = c.peer, int64(c.head.length), &c.body
	c.answer.begin()
	if !c.handle(r) {
		return over
	}
	whole := c.body.discard()
	if !c.answer.end(whole && !c.s.closing.Load()) {
		c.linger()
		return over
	}
	return further
}

// handle calls the handler. It is false where that panicked: then there is no
// answer.
func (c *conn) handle(r *http.Request) (ok bool) {
	defer func() {
		if ok {
			return
		}
		err := recover()
		if e, is := err.(error); is && errors.Is(e, http.ErrAbortHandler) {
			return
		}
		say := log.Printf
		if c.s.http.ErrorLog != nil {
			say = c.s.http.ErrorLog.Printf
		}
		say("lane: panic serving %s: %v\n%s", c.peer, err, debug.Stack())
	}()
	c.s.http.Handler.ServeHTTP(&c.answer, r)
	return true
}

// lingerFor is as long as net/http waits, too.
const lingerFor = 500 * time.Millisecond

// linger gives the client time to read the last answer: what it sends to a
// closed connection would have the answer thrown away.
func (c *conn) linger() {
	if c.answer.failed != nil {
		return
	}
	if half, ok := c.rwc.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // then the reading ends at once
	}
	until := time.Now().Add(lingerFor)
	_ = c.rwc.SetReadDeadline(until) // then the reading ends at once
	for time.Now().Before(until) {
		if _, err := c.rwc.Read(c.buf); err != nil {
			return
		}
	}
}
