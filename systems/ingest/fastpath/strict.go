package fastpath

import (
	"errors"
	"net"

	"whittle/internal/conns"
	"whittle/internal/http1"
)

// errFraming becomes a 400 at net/http's hands, and the connection ends.
var errFraming = errors.New("the request's framing is not exact")

// strictConn is a connection of net/http's on which internal/http1 reads each
// request first. net/http takes what two servers read differently: a bare LF,
// folded lines, Content-Length with Transfer-Encoding, HTTP/1.2. Behind a proxy
// that reads it otherwise that allows request smuggling, so it is refused here,
// as on the fast path. Bytes before the offending line have been passed on, but
// not the end of their block, so net/http never makes a request of them.
type strictConn struct {
	net.Conn
	requests http1.Requests
	err      error
}

// Bounds of a head beyond net/http's own, which responds with 431 before.
const (
	strictHead   = 32 << 10
	strictFields = 2000
)

func newStrictConn(c net.Conn) *strictConn {
	g := &strictConn{Conn: c}
	limits := http1.Limits{Head: strictHead, Fields: strictFields}
	g.requests.Head.Limits, g.requests.Body.Limits = limits, limits
	return g
}

// Read implements net.Conn. net/http reads from one goroutine at a time.
func (g *strictConn) Read(p []byte) (int, error) {
	if g.err != nil {
		return 0, g.refused(p)
	}
	n, err := g.Conn.Read(p)
	if n == 0 {
		return n, err
	}
	good, ok := g.check(p[:n])
	if ok {
		return n, err
	}
	if g.err = errFraming; good == 0 {
		return 0, g.refused(p)
	}
	return good, nil
}

// refused gives the error to who reads a request. Reads of one byte are net/http's
// watch for the client's going while the request before is served: an error would
// take its response. What stands behind the garbage is dropped until the watch
// ends or the client goes.
func (g *strictConn) refused(p []byte) error {
	if len(p) > 1 {
		return g.err
	}
	var dropped [512]byte
	for {
		if _, err := g.Conn.Read(dropped[:]); err != nil {
			return err
		}
	}
}

// check gives how many bytes of p come before what is refused, if it is not ok.
func (g *strictConn) check(p []byte) (good int, ok bool) {
	r := &g.requests
	for at := 0; at < len(p); {
		if r.Body.Done() && len(r.Part()) == 0 && p[at] == '\r' { // http1 passes an empty line over, net/http does not
			return at, false
		}
		n, head, err := r.Next(p[at:])
		if at += n; err != nil {
			return at, false
		}
		if head {
			r.Forget(strictFields)
		}
	}
	return len(p), true
}

// CloseWrite is what net/http calls when its last response is out and the client has
// more to send. It then waits for a moment without reading, in which no more than the
// sockets' buffers hold gets through, and closes.
func (g *strictConn) CloseWrite() error {
	err := conns.CloseWrite(g.Conn)
	readOff(g.Conn, make([]byte, 32<<10))
	return err
}
