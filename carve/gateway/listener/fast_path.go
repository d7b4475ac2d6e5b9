package listener

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
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
	odd *channel
	// raw is the handler where it can serve requests in bytes; nil: it cannot.
	raw     RawHandler
	hangups *hangups
	date    atomic.Pointer[date]
	closing atomic.Bool
	running sync.WaitGroup

	mu    sync.Mutex // guards the following
	conns map[*fastConn]struct{}
}

func newFastPath(s *Server, odd *channel) (*fastPath, error) {
	h, err := newHangups()
	if err != nil {
		return nil, err
	}
	raw, _ := s.c.Handler.(RawHandler)
	return &fastPath{s: s, odd: odd, raw: raw, hangups: h, conns: map[*fastConn]struct{}{}}, nil
}

// start serves a connection on a goroutine of its own. A nil state: nothing is
// encrypted.
func (l *fastPath) start(c net.Conn, state *tls.ConnectionState) {
	n := newFastConn(l, c, state)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Load() {
		_ = c.Close() // nothing was sent
		return
	}
	l.conns[n] = struct{}{}
	l.running.Go(func() {
		defer l.remove(n)
		n.serve()
	})
}

func (l *fastPath) remove(c *fastConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// shutdown closes idle connections, and waits until every request under way has its
// response or ctx ends: then it cuts what is left.
func (l *fastPath) shutdown(ctx context.Context) {
	l.end(func(c *fastConn) bool { return c.state.CompareAndSwap(fastIdle, fastClosed) })
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		l.running.Wait()
	}()
	select {
	case <-finished:
	case <-ctx.Done():
		l.end(func(c *fastConn) bool { c.state.Store(fastClosed); return true })
		<-finished
	}
	l.hangups.close()
}

// end closes the connections that match.
func (l *fastPath) end(is func(*fastConn) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing.Store(true)
	for c := range l.conns {
		if is(c) {
			c.cut()
		}
	}
}

// date is the Date field of one second.
type date struct {
	second int64
	line   []byte
}

// dateLine gives the Date field of the current second.
func (l *fastPath) dateLine(now time.Time) []byte {
	d, second := l.date.Load(), now.Unix()
	if d == nil || d.second != second {
		d = &date{second, []byte("Date: " + now.UTC().Format(http.TimeFormat) + "\r\n")}
		l.date.Store(d)
	}
	return d.line
}
