// Package h2 serves HTTP/2 (RFC 9113) on connections that the caller accepts. One goroutine
// for each connection reads its frames; each request's handler runs on a goroutine of a pool.
// Handlers append what they send to one buffer of the connection, and one of them writes all
// of it. So responses that are ready at the same time share a TLS record and a system call.
//
// Whatever a client sends, it holds no more than Config allows. Streams, handlers, header
// blocks, bodies and frames that ask for nothing are bounded, and so is every wait for a
// client that sends or takes nothing.
package h2

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"whittle"
	"whittle/internal/conns"
	"whittle/internal/httpfield"
	"whittle/internal/lifetime"
)

// Config makes a server. Every limit that holds must be above zero.
type Config struct {
	// Handler serves the requests.
	Handler http.Handler
	// Logf gets what an operator should know of handlers, and what a connection was
	// ended for.
	Logf func(format string, args ...any)
	// Of the limits HeaderBytes, Streams and the times of headers, idle connections and
	// stalls hold.
	whittle.Limits
}

// headerList is the bound as SETTINGS_MAX_HEADER_LIST_SIZE has it, which counts more for
// each field: as net/http does, that of a usual number of fields is left out.
func (c *Config) headerList() int {
	const usual, each = 10, 32
	return c.HeaderBytes + usual*each
}

// Server serves connections. It is safe for concurrent use.
type Server struct {
	c    Config
	date httpfield.Date

	// jobs are handed to workers that wait for one.
	jobs  chan job
	spare atomic.Int64 // workers that wait, or are about to
	// last is closed when the last connection has ended, and another takes its place: no
	// worker waits while there is none.
	last    atomic.Pointer[chan struct{}]
	live    atomic.Int64 // connections
	workers sync.WaitGroup
	extra   atomic.Int64 // bytes of window, of all connections
	conns   conns.Set[*conn]
}

// New makes a server that has no connection yet.
func New(c Config) *Server {
	s := &Server{c: c, jobs: make(chan job)}
	last := make(chan struct{})
	s.last.Store(&last)
	return s
}

// Start serves a connection on goroutines of the server, and closes it in the end. A nil
// state: nothing is encrypted. The values are those of the requests' contexts.
func (s *Server) Start(c net.Conn, state *tls.ConnectionState, values lifetime.Values) {
	n := newConn(s, c, state, values)
	s.live.Add(1)
	if !s.conns.Go(n, func() {
		defer s.ended()
		n.serve()
	}) {
		s.ended()
		_ = c.Close() // nothing was sent
	}
}

// ended counts a connection that has ended, and lets the workers go with the last one.
func (s *Server) ended() {
	if s.live.Add(-1) == 0 {
		next := make(chan struct{})
		close(*s.last.Swap(&next))
	}
}

// mostExtraOfAll bounds what all connections have beyond their windows.
const mostExtraOfAll = 64 << 20

// acquireExtra takes n bytes of the server's budget for windows; false: it has not as much.
func (s *Server) acquireExtra(n int) bool {
	if s.extra.Add(int64(n)) <= mostExtraOfAll {
		return true
	}
	s.extra.Add(-int64(n))
	return false
}

// Leave has all clients go: each connection ends after the requests that are under way or
// come before its client knows.
func (s *Server) Leave() { s.conns.Each((*conn).leave) }

// Shutdown has all clients go, and waits until they have or ctx ends: then it cuts what
// is left.
func (s *Server) Shutdown(ctx context.Context) {
	s.conns.Close((*conn).leave)
	_ = s.conns.Wait(ctx, (*conn).cut) // it cuts rather than fail
	s.workers.Wait()
}

// job is work for a worker: a request, or the writing of what a connection has to send.
type job struct {
	stream *stream // nil: the writing
	conn   *conn
}

// spares is how many workers wait for the next request. A goroutine that is kept has a
// stack of the size that handlers need.
const spares = 64

// run does a job on a goroutine of its own, or of one that waits. The connection counts
// jobs, and does not end before they have.
func (s *Server) run(j job) {
	select {
	case s.jobs <- j:
	default:
		s.workers.Go(func() { s.work(j) })
	}
}

func (s *Server) work(j job) {
	for {
		if j.stream != nil {
			j.stream.serve()
		} else {
			j.conn.writeAll()
		}
		var more bool
		if j, more = s.next(); !more {
			return
		}
	}
}

// next waits for a job. False: the worker is not needed.
func (s *Server) next() (j job, more bool) {
	defer s.spare.Add(-1)
	last := *s.last.Load()
	if s.spare.Add(1) > spares || s.live.Load() == 0 {
		return j, false
	}
	select {
	case j = <-s.jobs:
		return j, true
	case <-last:
		return j, false
	}
}
