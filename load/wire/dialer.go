package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"whittle/load/engine"
	"whittle/load/expr"
	"whittle/load/plan"
)

// dialer opens connections, keeps those of the pool, and can abort them all.
type dialer struct {
	now     func() time.Time
	pool    int           // connections per endpoint; 0: no pool
	aborted chan struct{} // closed by abort
	// sessions are the TLS sessions of the pool's connections.
	sessions tls.ClientSessionCache

	mu sync.Mutex
	// The following is guarded by mu.
	open  map[*conn]struct{}
	idle  map[*endpoint][]*conn // most recently used last
	slots map[*endpoint]chan struct{}
	ended bool
}

func newDialer(pool int, now func() time.Time) *dialer {
	return &dialer{
		now: now, pool: pool, aborted: make(chan struct{}), sessions: tls.NewLRUClientSessionCache(0), open: map[*conn]struct{}{},
		idle: map[*endpoint][]*conn{}, slots: map[*endpoint]chan struct{}{},
	}
}

// abort closes every connection, idle or in use, and refuses new ones.
func (d *dialer) abort() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	d.ended = true
	close(d.aborted)
	for c := range d.open {
		c.Close()
	}
}

// idleCheckAfter is the idle time after which a kept-alive connection is checked,
// by a system call, for having been closed by the peer. Servers keep idle
// connections for seconds (Node 5, nginx 75, Apache 5), so hardly any is closed
// before, and a user without pauses never pays for the check.
const idleCheckAfter = 500 * time.Millisecond

// acquire returns a pooled connection, or nil where the caller is to dial a new
// one. It waits while all are in use. The caller then calls release exactly once,
// with a connection or nil.
func (d *dialer) acquire(e *endpoint, deadline time.Time) (*conn, error) {
	d.mu.Lock()
	slots := d.slots[e]
	if slots == nil {
		slots = make(chan struct{}, d.pool)
		d.slots[e] = slots
	}
	d.mu.Unlock()
	select {
	case slots <- struct{}{}:
	default:
		t := time.NewTimer(deadline.Sub(d.now()))
		defer t.Stop()
		select {
		case slots <- struct{}{}:
		case <-t.C:
			return nil, os.ErrDeadlineExceeded
		case <-d.aborted:
			return nil, engine.ErrAborted
		}
	}
	for {
		d.mu.Lock()
		idle := d.idle[e]
		if len(idle) == 0 {
			d.mu.Unlock()
			return nil, nil
		}
		c := idle[len(idle)-1]
		d.idle[e] = idle[:len(idle)-1]
		d.mu.Unlock()
		if c.staysOpen(d.now()) {
			return c, nil
		}
		d.close(c)
	}
}

// release frees the slot of an acquire; the connection, unless nil, is kept.
func (d *dialer) release(e *endpoint, c *conn) {
	d.mu.Lock()
	if c != nil {
		d.idle[e] = append(d.idle[e], c)
	}
	slots := d.slots[e]
	d.mu.Unlock()
	<-slots
}

func (d *dialer) close(c *conn) {
	d.mu.Lock()
	delete(d.open, c)
	d.mu.Unlock()
	c.Close()
}

// closeIdle closes the pool's idle connections.
func (d *dialer) closeIdle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, cs := range d.idle {
		for _, c := range cs {
			delete(d.open, c)
			c.Close()
		}
	}
	clear(d.idle)
}

// dial opens a connection, TLS included, before the deadline. sessions are those that may be
// resumed.
func (d *dialer) dial(ctx context.Context, e *endpoint, sessions tls.ClientSessionCache, deadline time.Time) (*conn, error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	c, err := d.connect(ctx, e, sessions)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		c.Close()
		return nil, engine.ErrAborted
	}
	d.open[c] = struct{}{}
	return c, nil
}

func (d *dialer) connect(ctx context.Context, e *endpoint, sessions tls.ClientSessionCache) (*conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", e.address)
	if err != nil {
		return nil, err
	}
	c := &conn{stream: raw}
	if e.tls != nil {
		config := e.tls.Clone()
		config.ClientSessionCache = sessions
		t := tls.Client(raw, config)
		if err := t.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		if e.http2 && t.ConnectionState().NegotiatedProtocol != "h2" {
			raw.Close()
			return nil, errors.New("no application protocol: the server agrees to no HTTP/2")
		}
		c.stream = t
	}
	c.begin(e, d.now)
	return c, nil
}

// endpoint is where connections go.
type endpoint struct {
	address string // host:port
	host    string // the Host header
	prefix  string // the path of the base URL, without a trailing slash
	tls     *tls.Config
	http2   bool // uses HTTP/2, by prior knowledge where there is no TLS
}

func parseEndpoint(base string, insecure, http2 bool) (*endpoint, error) {
	u, err := plan.ParseBase(base)
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		host: u.Host, address: u.Host, http2: http2,
		prefix: string(expr.AppendTarget(nil, strings.TrimSuffix(u.EscapedPath(), "/"))),
	}
	if u.Port() == "" {
		port := "80"
		if u.Scheme == "https" {
			port = "443"
		}
		e.address = net.JoinHostPort(u.Hostname(), port)
	}
	if u.Scheme == "https" {
		protocol := HTTP1
		if http2 {
			protocol = HTTP2
		}
		e.tls = &tls.Config{ServerName: u.Hostname(), InsecureSkipVerify: insecure, NextProtos: []string{protocol}}
	}
	return e, nil
}

// plain reports whether event loops speak to the endpoint: without TLS.
func (e *endpoint) plain() bool { return e.tls == nil }

// stream is a connection: TCP or TLS of the system, or a Socket of an event loop.
type stream interface {
	io.ReadWriteCloser
	SetDeadline(t time.Time) error
}

// conn is one connection with its reader.
type conn struct {
	stream
	responseReader
	http2 *streams // nil: it is HTTP/1.1
}

// begin makes the reader of a new connection.
func (c *conn) begin(e *endpoint, now func() time.Time) {
	c.responseReader = newResponseReader(c.stream, now, firstBuffer)
	if e.http2 {
		c.http2 = newStreams(c)
	}
}

// staysOpen reports whether an idle connection takes another request.
func (c *conn) staysOpen(now time.Time) bool {
	if c.http2 != nil {
		return c.http2.usable()
	}
	return now.Sub(c.lastByte) < idleCheckAfter || !c.closedByPeer()
}

// closedByPeer reports, without waiting, whether the peer has closed an idle
// connection or has sent bytes that no request asked for.
func (c *conn) closedByPeer() bool {
	var sc syscall.Conn
	switch s := c.stream.(type) {
	case interface{ ClosedByPeer() bool }: // on an event loop
		return s.ClosedByPeer()
	case *tls.Conn:
		sc, _ = s.NetConn().(syscall.Conn)
	case syscall.Conn:
		sc = s
	}
	if sc == nil {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	// Not raw.Read: it checks the deadline first, which is the previous request's.
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		gone = n >= 0 && err == nil || err != nil && !errors.Is(err, syscall.EAGAIN)
	})
	return gone || err != nil
}
