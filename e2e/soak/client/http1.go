package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"

	"whittle/e2e/soak/plan"
)

// HTTP1 is a client over HTTP/1.1 that writes its requests itself, and never sends
// anything twice unless it is Direct.
type HTTP1 struct {
	Addr string
	// Name is the user's.
	Name string
	// TLS is the client's side of TLS; nil: plain.
	TLS *tls.Config
	// Fresh opens a connection for each request.
	Fresh bool
	// Direct is a client without a proxy: it repeats what it may over a new
	// connection where a kept one turned out to be closed, and gives up connections
	// whose last plan had a fault or is long ago.
	Direct bool
	// Leaves has it go away before the response is whole.
	Leaves bool

	conn  net.Conn
	r     *bufio.Reader
	used  time.Time
	heard bool // any byte of the present response
}

// keptFor is how long a Direct client trusts an idle connection, and keptInPause how long
// any other does: it is less than the gateways' grace, at whose end a replaced process
// closes connections on which nobody has asked, so that it could not say it before.
const (
	keptFor     = time.Second
	keptInPause = 10 * time.Second
)

// Close closes its connection.
func (u *HTTP1) Close() {
	if u.conn != nil {
		u.conn.Close()
		u.conn = nil
	}
}

func (u *HTTP1) connect(ctx context.Context) error {
	if u.conn != nil {
		return nil
	}
	plain := &net.Dialer{Timeout: patience}
	dial := plain.DialContext
	if u.TLS != nil {
		dial = (&tls.Dialer{NetDialer: plain, Config: u.TLS}).DialContext
	}
	c, err := dial(ctx, "tcp", u.Addr)
	if err != nil {
		return err
	}
	u.conn, u.r = c, bufio.NewReader(c)
	return nil
}

// Ask is User's.
func (u *HTTP1) Ask(ctx context.Context, p *plan.Plan) Outcome {
	if idle := time.Since(u.used); u.Fresh || idle > keptInPause || u.Direct && idle > keptFor {
		u.Close()
	}
	defer func() { u.used = time.Now() }()
	reused := u.conn != nil
	out := u.one(ctx, p)
	if out.Class == Broken && u.Direct && reused && !u.heard && p.Repeatable() {
		out = u.one(ctx, p)
	}
	// Where a response came before the body was read, its connection may end behind it
	// unannounced.
	early := p.Candidate == plan.Early || p.Candidate == plan.EarlyClose || p.Fault == plan.Early || p.Fault == plan.EarlyClose
	if u.Fresh || early || u.Direct && p.Fault != plan.None {
		u.Close()
	}
	return out
}

func (u *HTTP1) one(ctx context.Context, p *plan.Plan) (out Outcome) {
	if err := u.connect(ctx); err != nil {
		return unsent(err)
	}
	defer func() {
		if out.Class != Whole && out.Class != Refused {
			u.Close()
		}
	}()
	_ = u.conn.SetDeadline(time.Now().Add(patience))
	u.heard = false
	if u.Leaves {
		return u.leave(p)
	}
	sending, err := u.send(p)
	if err != nil {
		return unsent(err)
	}
	out = u.receive(p, sending.proceed)
	out.Uncertain = out.Class == Broken && !u.heard
	if !sending.ended() || out.Class == Broken {
		u.Close()
	}
	<-sending.done
	return out
}

// receive reads the response. proceed is called when a body may be sent.
func (u *HTTP1) receive(p *plan.Plan, proceed func()) Outcome {
	q := &http.Request{Method: p.Method()}
	for {
		resp, err := http.ReadResponse(u.r, q) //nolint:bodyclose // it is read to its end, or the connection is closed
		if err != nil {
			return broken(err)
		}
		u.heard = true
		if resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			if resp.StatusCode == http.StatusContinue {
				proceed()
			}
			continue
		}
		a := response{resp.StatusCode, resp.Header, resp.Body, &resp.Trailer}
		out := check(p, &a)
		if out.Class == Refused {
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // what is left is the next one's trouble
		}
		if resp.Close {
			u.Close()
		}
		return out
	}
}

func (u *HTTP1) head(p *plan.Plan) []byte {
	b := make([]byte, 0, 512)
	b = append(b, p.Method()+" "+p.Path()+" HTTP/1.1\r\nHost: soak.example\r\n"...)
	for _, f := range headers(p, u.Name) {
		b = append(b, f[0]+": "+f[1]+"\r\n"...)
	}
	switch p.Way {
	case plan.Post, plan.Expect:
		b = append(b, "Content-Length: "+strconv.Itoa(p.Upload)+"\r\n"...)
	case plan.Chunked:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if p.Way == plan.Expect {
		b = append(b, "Expect: 100-continue\r\n"...)
	}
	return append(b, "\r\n"...)
}

// sending is a body on its way.
type sending struct {
	done chan struct{}
	// proceed allows a body that waits for it.
	proceed func()
}

func (s *sending) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// send sends a request; a long body is sent while the response may come already.
func (u *HTTP1) send(p *plan.Plan) (*sending, error) {
	may := make(chan struct{})
	s := &sending{done: make(chan struct{}), proceed: sync.OnceFunc(func() { close(may) })}
	head, body := u.head(p), p.Request()
	if p.Way != plan.Chunked && p.Way != plan.Expect && p.Upload <= piece {
		close(s.done)
		_, err := u.conn.Write(append(head, body.Bytes()...))
		return s, err
	}
	if _, err := u.conn.Write(head); err != nil {
		return s, err
	}
	c := u.conn
	go func() {
		defer close(s.done)
		if p.Way == plan.Expect {
			select {
			case <-may:
			case <-time.After(2 * time.Second): // RFC 9110, 10.1.1: it must not wait for ever
			}
		}
		_ = sendBody(c, p, &body) // the response says what became of it
	}()
	return s, nil
}

func sendBody(c net.Conn, p *plan.Plan, body *plan.Body) error {
	if p.Way != plan.Chunked {
		_, err := body.WriteTo(c)
		return err
	}
	w := bufio.NewWriterSize(c, piece)
	cw := httputil.NewChunkedWriter(w)
	_, err := body.WriteTo(cw)
	if err == nil {
		err = cw.Close()
	}
	if err == nil {
		_, err = io.WriteString(w, "\r\n")
	}
	if err == nil {
		err = w.Flush()
	}
	return err
}

// leave sends all or half of a request, reads little of the response or nothing, and
// goes away, by a close or a reset.
func (u *HTTP1) leave(p *plan.Plan) Outcome {
	head := u.head(p)
	body := p.Request()
	all := append(head, body.Bytes()...)
	if p.Number%3 == 0 {
		all = all[:len(all)-len(all)/3]
	}
	_, _ = u.conn.Write(all) // whatever comes of it
	if p.Number%3 == 1 {
		_ = u.conn.SetReadDeadline(time.Now().Add(time.Duration(p.Number%30) * time.Millisecond))
		_, _ = u.r.Peek(1) // as above
	}
	if tcp, ok := u.conn.(*net.TCPConn); ok && p.Number%2 == 0 {
		_ = tcp.SetLinger(0) // what cannot be reset is closed
	}
	return Outcome{Left, fmt.Sprintf("after %d bytes", len(all)), true}
}
