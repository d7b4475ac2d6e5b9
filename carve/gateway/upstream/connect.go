package upstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"whittle/internal/http1"
	"whittle/internal/socket"
)

// What is offered to a server by ALPN.
var (
	onlyHTTP1 = []string{"http/1.1"}
	onlyHTTP2 = []string{"h2"}
	bothHTTP  = []string{"h2", "http/1.1"}
)

// connect opens a connection, TLS included. Whatever goes wrong is a *net.OpError of a
// dial, by which it is known that nothing of a request was sent.
func (i *instance) connect(ctx context.Context, spoken []string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, i.u.connectTimeout())
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, i.network, i.address)
	if err != nil {
		return nil, err
	}
	if i.u.base.Scheme != "https" {
		return c, nil
	}
	if quick := socket.Of(c); quick != nil {
		c = quick
	}
	t := tls.Client(c, i.u.tls.config(i.server, spoken))
	if err := t.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, &net.OpError{Op: "dial", Net: i.network, Addr: c.RemoteAddr(), Err: err}
	}
	return t, nil
}

// connectFor opens a connection for net/http's transport. once: its requests can be
// sent once only.
func (i *instance) connectFor(ctx context.Context, spoken []string, once bool) (net.Conn, error) {
	c, err := i.connect(ctx, spoken)
	if err != nil {
		return nil, err
	}
	if t, ok := c.(*tls.Conn); ok && t.ConnectionState().NegotiatedProtocol == "h2" {
		return c, nil
	}
	return newSingle(c, once), nil
}

// single is a connection for net/http's transport that gives one response to each
// request. net/http takes what comes behind it for the response to the next request,
// if that is on its way by the time at which it looks. Here a response that has
// anything behind it is the connection's last: its end comes with the connection's.
// What arrives later than the response's end cannot be told from the next one.
type single struct {
	net.Conn
	// once says that its requests can be sent once only: it takes none that comes later
	// than trusted after the last one was written. net/http counts from the time at
	// which the response has been read, when the upstream may long have been idle.
	once bool
	// ended is closed when nothing more can be read.
	ended chan struct{}
	end   func() // closes it

	mu sync.Mutex // guards the following
	at singleState
	// wrote is how many bytes were written, at what time the last of them.
	wrote     int64
	wroteLast time.Time
	// rest is what was read of a head or a trailer that is not whole yet.
	rest []byte
	// seen bytes of it have no empty line in them.
	seen int
	head http1.ResponseHead
	body http1.Body
}

type singleState uint8

const (
	singleIdle   singleState = iota
	singleHead               // of the response, or of an informational one before it
	singleBody               // of it
	singlePassed             // the rest is not looked at
	singleOver               // nothing more is given
)

func newSingle(c net.Conn, once bool) *single {
	ended := make(chan struct{})
	return &single{Conn: c, once: once, ended: ended, end: sync.OnceFunc(func() { close(ended) })}
}

// errIdleTooLong refuses a request before any byte of it is written.
var errIdleTooLong = errors.New("the connection has been idle for too long")

// Write sees the beginning of a request. The response to HEAD, which has no body, is
// rare enough not to be looked at. An upstream may respond before it has read a body, and
// close the connection: net/http, once it knows that the body cannot be written, gives up
// the response that has come. So that is said only when nothing more can be read.
func (s *single) Write(p []byte) (int, error) {
	if !s.begin(p) {
		return 0, errIdleTooLong
	}
	n, err := s.Conn.Write(p)
	s.wroteOf(n)
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		<-s.ended // at once but for what has come already: there is no peer any more
	}
	return n, err
}

func (s *single) wroteOf(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote += int64(n)
	s.wroteLast = time.Now()
}

// begin is told which bytes are about to be written; false: they must not be.
func (s *single) begin(p []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == singleIdle && s.once && s.wrote > 0 && time.Since(s.wroteLast) > trusted {
		s.at = singleOver
	}
	switch {
	case s.at == singleOver:
		return false
	case bytes.HasPrefix(p, []byte("HEAD ")), bytes.HasPrefix(p, []byte("CONNECT ")):
		s.at = singlePassed
	case s.at == singleIdle:
		s.at = singleHead
	}
	return true
}

// Close implements net.Conn.
func (s *single) Close() error {
	s.end()
	return s.Conn.Close()
}

// written is how many bytes were written so far.
func (s *single) written() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote
}

func (s *single) Read(p []byte) (n int, err error) {
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	if s.over() {
		return 0, io.EOF
	}
	n, err = s.Conn.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if used := s.follow(p[:n]); used < n {
		s.at = singleOver
		return used, io.EOF
	}
	return n, err
}

func (s *single) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at == singleOver
}

// follow goes through what was read. It gives how many bytes are of a response.
func (s *single) follow(p []byte) (used int) {
	had := len(s.rest)
	s.rest = append(s.rest, p...)
	in := s.rest
	for len(in) > 0 && s.at != singlePassed && s.at != singleIdle {
		n, more := s.step(in)
		in, s.seen = in[n:], 0
		if !more {
			s.seen = len(in)
			break
		}
	}
	used = len(s.rest) - len(in) - had
	switch s.at {
	case singlePassed:
		s.rest = nil
		return len(p)
	case singleHead, singleBody: // all of it is: a part waits for more
		s.rest = append(s.rest[:0], in...)
		return len(p)
	}
	s.rest = nil
	return used
}

// step goes on by a head or a stretch of the body; false: more is to be read first.
func (s *single) step(in []byte) (n int, more bool) {
	if s.at == singleHead {
		return s.readHead(in)
	}
	_, n, err := s.body.Next(in)
	switch {
	case err != nil:
		s.at = singlePassed // net/http says what is wrong with it
	case s.body.Done():
		s.at = singleIdle
	}
	return n, n > 0
}

func (s *single) readHead(in []byte) (n int, more bool) {
	if !endsHead(in[max(0, s.seen-3):]) { // parsed once and not with each byte
		return 0, false
	}
	s.head.Limits, s.head.Tolerance = responseLimits, tolerated
	n, err := s.head.Parse(bytes.Clone(in)) // which it changes
	switch status := s.head.Status(); {
	case err != nil, n > 0 && status == http.StatusSwitchingProtocols:
		s.at = singlePassed
	case n > 0 && status >= http.StatusOK:
		f := s.head.Framing(http.MethodGet)
		if f.Kind == http1.UntilClose {
			s.at = singlePassed
			break
		}
		s.body.Limits, s.body.Tolerance = responseLimits, tolerated
		s.body.Begin(f)
		if s.at = singleBody; s.body.Done() {
			s.at = singleIdle
		}
	}
	return n, n > 0
}

// endsHead reports whether there is an empty line.
func endsHead(b []byte) bool {
	return bytes.Contains(b, []byte("\n\n")) || bytes.Contains(b, []byte("\n\r\n"))
}
