package listener

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"whittle/internal/conns"
	"whittle/internal/httpfield"
)

// fastPath serves the everyday HTTP/1.1 request without net/http's server: each
// connection has one goroutine, which reads a request by internal/http1, calls the
// handler and writes the response. What is odd (another version, an upgrade, Expect,
// a trailer, a long head, whatever is malformed) goes to net/http together with the
// bytes that were read, and the connection stays there. So whatever is wrong with a
// request is responded to in one place.
type fastPath struct {
	s *Server
	// odd is where net/http accepts what is handed to it.
	odd *conns.Handed
	// raw is the handler where it can serve requests in bytes; nil: it cannot.
	raw     RawHandler
	hangups *hangups
	date    httpfield.Date
	conns   conns.Set[*fastConn]
}

func newFastPath(s *Server, odd *conns.Handed) (*fastPath, error) {
	h, err := newHangups()
	if err != nil {
		return nil, err
	}
	raw, _ := s.c.Handler.(RawHandler)
	return &fastPath{s: s, odd: odd, raw: raw, hangups: h}, nil
}

// start serves a connection on a goroutine of its own. A nil state: nothing is
// encrypted.
func (l *fastPath) start(c net.Conn, state *tls.ConnectionState) {
	n := newFastConn(l, c, state)
	if !l.conns.Go(n, n.serve) {
		_ = c.Close() // nothing was sent
	}
}

// shutdown closes idle connections, and waits until every request under way has its
// response or ctx ends: then it cuts what is left.
func (l *fastPath) shutdown(ctx context.Context) {
	l.conns.Close(func(c *fastConn) {
		if c.state.CompareAndSwap(fastIdle, fastClosed) {
			c.cut()
		}
	})
	_ = l.conns.Wait(ctx, func(c *fastConn) { // it cuts rather than fail
		c.state.Store(fastClosed)
		c.cut()
	})
	l.hangups.close()
}

// dateLine appends the Date field.
func (l *fastPath) dateLine(b []byte) []byte {
	b = append(b, "Date: "...)
	b = append(b, l.date.At(time.Now())...)
	return append(b, "\r\n"...)
}
