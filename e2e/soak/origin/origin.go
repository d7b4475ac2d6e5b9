// Package origin is the upstream of a soak: a server that does to each response and
// connection what the request's plan says, byte by byte. It keeps nothing of a
// request but whether a write was done.
package origin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"whittle/e2e/soak/plan"
)

const (
	// leastIdle and mostIdle bound how long a kept connection may be idle before it is
	// closed. Servers in use wait for 5 seconds and more.
	leastIdle = 2 * time.Second
	mostIdle  = 5 * time.Second
	// soonIdle is that of a connection that is soon closed. Within a second of its last
	// use the gateway trusts it.
	soonIdle = 1300 * time.Millisecond
	// patience bounds each wait for a peer that is to send or take something.
	patience = 30 * time.Second
	// silent is how long a Silence lasts at most.
	silent = 20 * time.Second
)

// Server is an upstream over HTTP/1.1.
type Server struct {
	// Candidate says that it has the plan's faults for the candidate.
	Candidate bool
	// Writes has the writes that were done; several servers share them.
	Writes Writes

	conns sync.WaitGroup
}

// Serve serves a listener until ctx ends, and ends its connections then.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	defer s.conns.Wait()
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil // it was closed for this
			}
			return err
		}
		s.conns.Go(func() {
			defer c.Close()
			end := context.AfterFunc(ctx, func() { _ = c.Close() })
			defer end()
			if tcp, ok := c.(*net.TCPConn); ok {
				s.serve(tcp)
			}
		})
	}
}

// serve is a connection's requests.
func (s *Server) serve(c *net.TCPConn) {
	r := bufio.NewReader(c)
	idle := mostIdle
	for n := 0; ; n++ {
		_ = c.SetReadDeadline(time.Now().Add(idle))
		if _, err := r.Peek(1); err != nil {
			if n%2 == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
				reset(c)
			}
			return
		}
		_ = c.SetDeadline(time.Now().Add(patience))
		q, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		p, err := plan.Parse(q.Header.Get(plan.Header))
		if err != nil {
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			return
		}
		x := exchange{s: s, c: c, r: r, q: q, p: p, fault: p.Fault, kept: n > 0}
		if s.Candidate {
			x.fault = p.Candidate
		}
		if !x.respond() {
			return
		}
		if idle = leastIdle + rand.N(mostIdle-leastIdle); x.fault == plan.SoonClosed {
			idle = soonIdle
		}
	}
}

// reset has the connection's close be a reset.
func reset(c *net.TCPConn) { _ = c.SetLinger(0) } // what cannot be reset is closed

// exchange is one request and its response.
type exchange struct {
	s     *Server
	c     *net.TCPConn
	r     *bufio.Reader
	q     *http.Request
	p     *plan.Plan
	fault plan.Fault
	kept  bool // it is not the connection's first
}

// respond does what the plan says; false: the connection is to be closed.
func (x *exchange) respond() bool {
	switch {
	case x.fault == plan.ReuseClose && x.kept:
		return false
	case x.fault == plan.Early:
		return x.write(http.StatusOK, x.p.Status) && x.take() == http.StatusOK
	case x.fault == plan.EarlyClose:
		x.write(http.StatusOK, x.p.Status)
		_ = x.c.CloseWrite()
		x.take()
		x.linger()
		return false
	}
	status := x.take()
	if status == 0 {
		return false
	}
	return x.write(status, x.p.Status)
}

// take reads the request's body and does the write. It gives the status of that, 0 for
// a client that has gone.
func (x *exchange) take() int {
	if x.q.Header.Get("Expect") != "" {
		if _, err := io.WriteString(x.c, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return 0
		}
	}
	sent := x.p.Request()
	if err := sent.Verify(x.q.Body); err != nil {
		if _, wrong := errors.AsType[*plan.Mismatch](err); wrong {
			return plan.StatusDamaged
		}
		return 0
	}
	if x.p.Once && !x.s.Writes.Do(x.p.Number) {
		return plan.StatusDoubled
	}
	return http.StatusOK
}

// linger reads until the peer closes, so that no reset overtakes what was written.
func (x *exchange) linger() {
	_ = x.c.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, x.r) // to its close, or a second
}

// head is the response's.
func (x *exchange) head(status int) []byte {
	p := x.p
	b := make([]byte, 0, 512)
	b = append(b, "HTTP/1.1 "+strconv.Itoa(status)+" "+http.StatusText(status)+"\r\n"...)
	b = append(b, plan.Of+": "+strconv.FormatUint(p.Number, 10)+"\r\n"...)
	if status != http.StatusNotModified {
		b = append(b, "Content-Type: "+contentType(p)+"\r\n"...)
	}
	b = append(b, "Set-Cookie: a=1\r\nETag: \"soak\"\r\nSet-Cookie: b=2\r\nCache-Control: no-store\r\n"...)
	switch {
	case status == http.StatusNoContent || status == http.StatusNotModified:
	case p.Framing == plan.ByLength:
		b = append(b, "Content-Length: "+strconv.Itoa(p.Length)+"\r\n"...)
	case p.Framing == plan.ByChunks:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
		if p.Trailer {
			b = append(b, "Trailer: "+plan.Of+"-End\r\n"...)
		}
	}
	if p.Framing == plan.ByClose || x.fault == plan.HalfClose || x.fault == plan.CloseAfter {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}

func contentType(p *plan.Plan) string {
	if p.Way == plan.Events {
		return "text/event-stream"
	}
	return "application/octet-stream"
}
