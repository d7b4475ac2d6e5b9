package listener

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"whittle/internal/conns"
	"whittle/internal/http1"
	"whittle/internal/httpfield"
	"whittle/internal/lifetime"
	"whittle/internal/notify"
	"whittle/internal/socket"
)

// fastBuffer is how much of a connection is read at once, and the longest head that
// the fast path takes.
const fastBuffer = 8 << 10

// A fastInput is what a connection with a request reads into: idle ones hold none.
type fastInput struct {
	bytes [fastBuffer]byte
	head  http1.RequestHead // the present request's
}

var fastInputs = sync.Pool{New: func() any { return new(fastInput) }}

// The states of a connection: shutdown closes the idle ones.
const (
	fastIdle int32 = iota // waits for the first byte of a request
	fastBusy
	fastClosed
)

// fastConn is a client's connection on the fast path. It belongs to its goroutine, except
// for fields whose comments say otherwise.
type fastConn struct {
	l    *fastPath
	net  net.Conn
	idle *socket.Idle // waits for a request without a buffer; nil where bytes are encrypted
	// first gets the first bytes of a request that is encrypted, so that neither does an idle
	// connection hold a buffer there.
	first *[64]byte
	// numbered is what the requests' contexts give.
	numbered numbered
	remote   string
	tls      *tls.ConnectionState
	watch    *hangup
	state    atomic.Int32 // any goroutine's

	in       *fastInput // nil while the connection is idle
	from, to int        // the part of in.bytes that has been read and not used
	used     bool       // a request has come

	// over says that no further request may be read; any goroutine sets it.
	over atomic.Bool
	// gone says that the client sends no more; the watch sets it.
	gone atomic.Bool
	went atomic.Pointer[notify.Signal] // set while somebody waits for gone
	// now is the request under way; nil between requests. The watch reads it.
	now atomic.Pointer[lifetime.Context]

	reads fastReads
	// spare is a context that has not ended and that nobody holds.
	spare *lifetime.Context
}

func newFastConn(l *fastPath, c net.Conn, state *tls.ConnectionState) *fastConn {
	n := &fastConn{l: l, net: c, remote: c.RemoteAddr().String(), tls: state}
	n.numbered = numbered{client: n, number: l.s.conns.Add(1), under: accepted(c), net: c}
	n.reads.net = c
	plain := c
	if tc, ok := c.(*tls.Conn); ok {
		plain = tc.NetConn()
	}
	if raw := rawOf(plain); raw != nil {
		n.watch = l.hangups.watch(raw, n)
		if n.tls == nil {
			n.idle = socket.NewIdle(raw, n.take, n.release)
		} else {
			n.first = new([64]byte)
		}
	}
	return n
}

// rawOf gives the socket of a connection as it was accepted; nil where it has none.
func rawOf(c net.Conn) syscall.RawConn {
	if k, ok := c.(*client); ok {
		c = k.Conn
	}
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

// EndRequests implements Client.
func (c *fastConn) EndRequests() { c.over.Store(true) }

// cut closes the connection under whoever uses it, and ends the request under way;
// any goroutine may call it.
func (c *fastConn) cut() {
	if ctx := c.now.Load(); ctx != nil {
		ctx.Cancel()
	}
	conns.Cut(c.net)
}

// nextStep is what happens to a connection after a request.
type nextStep uint8

const (
	keepOpen  nextStep = iota // wait for the next request
	closeConn                 // close it
	handOver                  // net/http takes it on
)

// serve serves requests, one after the other.
func (c *fastConn) serve() {
	if c.watch == nil { // nothing would tell that the client has gone
		c.handOver()
		return
	}
	defer c.watch.end()
	for {
		step := c.readHead()
		if step == keepOpen {
			step = c.respond()
		}
		if step == keepOpen && !c.markIdle() {
			step = closeConn
		}
		switch step {
		case closeConn:
			c.close()
			return
		case handOver:
			c.watch.end()
			c.handOver()
			return
		}
	}
}

// markIdle marks the connection as idle, unless more of it has been read already.
// False: the server is closing.
func (c *fastConn) markIdle() bool {
	if c.from == c.to {
		c.state.CompareAndSwap(fastBusy, fastIdle)
	}
	// Either shutdown has seen it idle, or its flag is seen here.
	return !c.l.conns.Closing()
}

// handOver gives the connection to who speaks HTTP/2, or to net/http, with the bytes that
// were read in front.
func (c *fastConn) handOver() {
	_ = c.net.SetReadDeadline(time.Time{}) // where this fails, so does what net/http does next
	under, s := c.net, c.l.s
	isHTTP2, _ := c.beginsHTTP2()
	if c.from < c.to {
		under = conns.Resume(under, c.in.bytes[c.from:c.to])
	}
	c.release()
	if isHTTP2 {
		s.http2.Start(under, nil, &numbered{number: c.numbered.number, under: c.numbered.under, net: under})
		return
	}
	g := newStrictConn(under, s.c.HeaderBytes, &s.malformed, &s.ending)
	g.first, g.number, g.tls = !c.used, c.numbered.number, c.tls
	c.l.odd.Give(g)
}

// beginsHTTP2 reports whether what was read is the beginning of HTTP/2 by prior knowledge,
// and whether it may become one.
func (c *fastConn) beginsHTTP2() (is, mayBe bool) {
	if c.used || c.tls != nil || c.from == c.to || c.in.bytes[c.from] != preface[0] {
		return false, false
	}
	got := c.in.bytes[c.from:c.to]
	n := min(len(got), len(preface))
	if string(got[:n]) != preface[:n] {
		return false, false
	}
	return n == len(preface), true
}

// close closes the connection. Where something was sent that is not read, the client
// is given time to read the response first: closing would reset the connection.
func (c *fastConn) close() {
	if (c.over.Load() || c.from < c.to) && conns.CloseWrite(c.net) == nil {
		c.awaitGone(stopTime)
		linger(c.net, patiently, &c.l.s.draining)
	}
	_ = c.net.Close()   // nothing is outstanding on it
	if !c.over.Load() { // else somebody may still read into the buffer
		c.release()
	}
}

// awaitGone waits until the client sends no more. Nothing is read for that time: a
// client may still be sending what nobody wants, and stops when it has read the
// response.
func (c *fastConn) awaitGone(limit time.Duration) {
	went := notify.New()
	c.went.Store(&went)
	went.Await(limit, c.gone.Load)
}

// take gives the connection's buffer, and takes one where it has none.
func (c *fastConn) take() []byte {
	if c.in == nil {
		c.in = fastInputs.Get().(*fastInput)
	}
	return c.in.bytes[:]
}

func (c *fastConn) release() {
	if c.in != nil {
		fastInputs.Put(c.in)
		c.in, c.from, c.to = nil, 0, 0
	}
}

// readHead waits for a request's head and reads it.
func (c *fastConn) readHead() nextStep {
	if c.from == c.to && !c.awaitRequest() {
		return closeConn
	}
	c.state.CompareAndSwap(fastIdle, fastBusy)
	if c.state.Load() == fastClosed {
		return closeConn
	}
	head := &c.in.head
	head.Limits = http1.Limits{Head: min(fastBuffer, c.l.s.c.HeaderBytes), Fields: keptFields}
	head.Reset()
	var begun time.Time
	for {
		n, odd := c.parse()
		switch {
		case odd:
			return handOver
		case n > 0:
			return keepOpen
		case c.to-c.from == fastBuffer, c.to-c.from >= c.l.s.c.HeaderBytes:
			return handOver
		}
		if begun.IsZero() {
			begun = time.Now()
			c.reads.until(begun, c.headTime(), 0)
		}
		if err := c.readMore(); errors.Is(err, io.EOF) {
			return handOver // net/http responds to it
		} else if err != nil {
			return closeConn
		}
	}
}

// parse gives the length of the head that has come, 0 where more is to come. Odd: it is
// none for the fast path.
func (c *fastConn) parse() (n int, odd bool) {
	if is, mayBe := c.beginsHTTP2(); mayBe {
		return 0, is
	}
	n, err := c.in.head.Parse(c.in.bytes[c.from:c.to])
	return n, err != nil
}

// headTime is how long the rest of a head may take: an empty line behind the last
// request is none yet.
func (c *fastConn) headTime() time.Duration {
	if string(c.in.bytes[c.from:c.to]) == "\r\n" {
		return c.l.s.c.IdleTimeout
	}
	return c.l.s.c.HeaderTimeout
}

// awaitRequest waits for the first bytes of a request, without a buffer as long as
// none have come. A new connection has as much time for them as for a whole head.
func (c *fastConn) awaitRequest() bool {
	timeout := c.l.s.c.IdleTimeout
	if !c.used {
		timeout = c.l.s.c.HeaderTimeout
	}
	since := time.Now()
	c.release()
	for slack := timeout / 8; ; slack = 0 {
		c.reads.until(since, timeout, slack)
		err := c.readFirst()
		switch {
		case err == nil:
			return true
		case !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(since) >= timeout || c.state.Load() == fastClosed:
			return false
		}
		// The deadline was one that an earlier request had set.
	}
}

// readFirst reads the first bytes of a request.
func (c *fastConn) readFirst() error {
	if c.idle != nil {
		c.reads.begin()
		n, err := c.idle.Read()
		c.to = n
		return err
	}
	n, err := c.reads.read(c.first[:])
	if n > 0 {
		c.to = copy(c.take(), c.first[:n])
		return nil
	}
	return cmp.Or(err, io.ErrNoProgress)
}

// readMore reads more into the buffer, which must not be full.
func (c *fastConn) readMore() error {
	if c.from > 0 {
		c.to = copy(c.in.bytes[:], c.in.bytes[c.from:c.to])
		c.from = 0
	}
	n, err := c.reads.read(c.in.bytes[c.to:])
	c.to += n
	if n > 0 {
		return nil // the next read returns the error
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// hungUp is called by the watch when the client sends no more: broken says that it
// takes no more either.
func (c *fastConn) hungUp(broken bool) {
	c.gone.Store(true)
	if s := c.went.Load(); s != nil {
		s.Notify()
	}
	if ctx := c.now.Load(); ctx != nil && (broken || c.ended()) {
		ctx.Cancel()
	}
}

// ended reports whether what the client has sent has been read to its end. What is
// encrypted ends with a message that nobody has read.
func (c *fastConn) ended() bool { return c.tls != nil || !c.watch.pending() }

// respond has the handler respond to the request whose head has been read.
func (c *fastConn) respond() nextStep {
	if !everyday(&c.in.head) {
		return handOver
	}
	ctx := c.spare
	c.spare = nil
	if ctx == nil {
		ctx = lifetime.New(&c.numbered)
	}
	c.now.Store(ctx)
	if c.state.Load() == fastClosed || c.gone.Load() && c.ended() {
		ctx.Cancel()
	}
	step, served := c.respondRaw(ctx)
	if !served {
		x := newFastRequest(c, ctx)
		if x == nil {
			c.now.Store(nil)
			return handOver
		}
		c.used = true
		step = x.finish(c.call(func() { c.l.s.c.Handler.ServeHTTP(&x.w, &x.Request) }))
	}
	return step
}

// respondRaw has the handler respond in bytes, where it and the request allow it.
func (c *fastConn) respondRaw(ctx *lifetime.Context) (step nextStep, served bool) {
	if c.l.raw == nil {
		return 0, false
	}
	h := &c.in.head
	f := h.Framing()
	rest := c.in.bytes[c.from+len(h.Raw()) : c.to]
	if f.Kind == http1.Chunked || f.Length > int64(len(rest)) {
		return 0, false
	}
	path, _, _ := bytes.Cut(h.Target(), []byte("?"))
	if !isPlain(path) {
		return 0, false
	}
	r := raws.Get().(*Raw)
	defer r.end()
	r.c, r.ctx, r.Head, r.Path, r.Body, r.closes = c, ctx, h, path, rest[:f.Length], h.Closes()
	whole := c.call(func() { served = c.l.raw.ServeRaw(r) })
	switch {
	case whole && !served:
		return 0, false
	case r.full != nil:
		c.used = true
		return r.full.finish(whole), true
	}
	c.now.Store(nil)
	c.used = true
	r.Release()
	if ctx.Err() == nil {
		c.spare = ctx
	}
	if !whole || r.failed || c.over.Load() || r.closes {
		return closeConn, true
	}
	return keepOpen, true
}

// finish ends a request whose handler has returned, or panicked before the response
// was whole.
func (x *fastRequest) finish(whole bool) nextStep {
	c := x.c
	c.now.Store(nil)
	x.ctx.Cancel()
	if !whole || !x.w.finish() || c.over.Load() {
		return closeConn
	}
	if !x.body.ended() { // nobody wanted it
		c.over.Store(true)
		return closeConn
	}
	if x.w.closes {
		return closeConn
	}
	return keepOpen
}

// call calls the handler. False: it panicked, and the response is not whole.
func (c *fastConn) call(handler func()) (whole bool) {
	return conns.Handle(handler, c.remote, c.l.s.logf)
}

// fastPath serves the everyday HTTP/1.1 request without net/http's server: each
// connection has one goroutine, which reads a request by internal/http1, calls the
// handler and writes the response. What is odd (another version, an upgrade, Expect,
// a trailer, a long head, whatever is malformed) goes to net/http together with the
// bytes that were read, and the connection stays there. So whatever is wrong with a
// request is responded to in one place.
type fastPath struct {
	s *Server
	// odd is where net/http accepts the connections that are handed to it.
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
// response or ctx ends. Then it cuts the connections that are left.
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

// fastReads sets a connection's read deadline only when somebody is about to wait,
// and only where the one in force will not do. Any goroutine may ask for one.
type fastReads struct {
	net net.Conn

	mu      sync.Mutex // guards the following
	want    time.Time  // zero: none
	inForce time.Time
	waiting bool
}

// until asks for a deadline a timeout after since. One that is in force already and is
// earlier by no more than slack does.
func (r *fastReads) until(since time.Time, timeout, slack time.Duration) {
	to := since.Add(timeout)
	r.mu.Lock()
	defer r.mu.Unlock()
	if early := to.Sub(r.inForce); early >= 0 && early <= slack {
		to = r.inForce
	}
	r.want = to
}

// SetReadDeadline asks for a deadline. One for a read that is waiting is in force at
// once.
func (r *fastReads) SetReadDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.want = t
	if r.waiting {
		return r.apply()
	}
	return nil
}

func (r *fastReads) apply() error {
	if r.want.Equal(r.inForce) {
		return nil
	}
	r.inForce = r.want
	return r.net.SetReadDeadline(r.want)
}

// begin puts the deadline in force before a read that nobody but shutdown ends.
func (r *fastReads) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.apply() // the read fails then, too
}

func (r *fastReads) read(p []byte) (int, error) {
	r.mu.Lock()
	r.waiting = true
	err := r.apply()
	r.mu.Unlock()
	n := 0
	if err == nil {
		n, err = r.net.Read(p)
	}
	r.mu.Lock()
	r.waiting = false
	r.mu.Unlock()
	return n, err
}

// The following is what requests can learn of the connection and the server that they came
// by, on the fast path and off it.

// PeerOf is the address in a connection's, without its port, and without the zone of one of
// IPv6: that is this machine's own name for a network.
func PeerOf(remote string) string {
	i := strings.LastIndexByte(remote, ':')
	if i < 0 {
		return remote
	}
	host, _, zoned := strings.Cut(remote[:i], "%")
	if zoned && strings.HasPrefix(host, "[") {
		host += "]"
	}
	return host
}

// connKey finds, in a request's context, the *numbered that it came by.
type connKey struct{}

// Client is a client's connection of HTTP/1.1.
type Client interface {
	// EndRequests ends the connection after the response under way: no further
	// request is read from it.
	EndRequests()
}

// numbered is a client's connection with its number.
type numbered struct {
	client Client
	number uint64
	under  *client // nil where it was not accepted here
	net    net.Conn
}

// Value implements lifetime.Values, for the contexts of requests.
func (n *numbered) Value(key any) any {
	if _, ok := key.(connKey); ok {
		return n
	}
	if key == http.LocalAddrContextKey { // as net/http's server has it
		return n.net.LocalAddr()
	}
	return nil
}

// Origin is what a connection itself says of where its requests come from.
type Origin struct {
	// HTTPS says that what the client sent was encrypted up to the load balancer that
	// told so.
	HTTPS bool
	// Certificate says whose certificate the client has shown, in the form of
	// X-Forwarded-Client-Cert; empty: it showed none.
	Certificate string
	// Redirect is set where requests are to go to HTTPS, Sink where they are a mirror's.
	Redirect *Redirect
	Sink     bool
	// Candidates is set where Envoy's ext_proc filter sends what goes by.
	Candidates []string
}

func (n *numbered) origin() Origin {
	if n.under == nil {
		return Origin{}
	}
	return Origin{HTTPS: n.under.proxied.TLS, Certificate: n.under.certificate, Redirect: n.under.l.Redirect, Sink: n.under.l.Sink, Candidates: n.under.l.Candidates}
}

// Origin is what the connection says.
func (r *Raw) Origin() Origin { return r.c.numbered.origin() }

// ConnOf finds the client's connection, its number, counted from 1, and what it says itself
// of its requests. The connection is nil where it speaks HTTP/2, since other streams share
// it. All are zero where the request did not come by Serve.
func ConnOf(r *http.Request) (c Client, number uint64, origin Origin) {
	n, ok := r.Context().Value(connKey{}).(*numbered)
	if !ok {
		return nil, 0, origin
	}
	if r.ProtoMajor == 1 {
		c = n.client
	}
	return c, n.number, n.origin()
}

// UpgradeOf gives what an HTTP/1.1 request wants to change to, or "".
func UpgradeOf(r *http.Request) string {
	if r.ProtoMajor != 1 || r.Header["Upgrade"] == nil || !httpfield.HasToken(r.Header["Connection"], "upgrade") {
		return ""
	}
	kind := strings.Join(r.Header["Upgrade"], ", ")
	if !http1.IsValue(kind) || strings.EqualFold(kind, "h2c") {
		return "" // whittle speaks h2c itself, by prior knowledge
	}
	return kind
}

// Draining reports whether the server is ending, so that no connection is to be
// kept after the response under way.
func (s *Server) Draining() bool { return s.draining.Load() }
