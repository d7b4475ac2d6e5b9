package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/http1"
	"whittle/internal/socket"
)

const (
	connBuffer = 8 << 10
	// maxInformational bounds the 1xx responses before the final one.
	maxInformational = 32
)

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// conn is a connection of a pool. One goroutine at a time uses it.
type conn struct {
	pool   *pool
	net    net.Conn
	secure *tls.Conn    // net, where it speaks TLS
	quick  *socket.Conn // net, or what is below secure; nil: it has no quick calls

	buf  []byte
	r, w int // buf[r:w] has been read and not used

	head    responseHead
	framed  body
	trailer http.Header

	ctx  context.Context //nolint:containedctx // the request's that holds the connection now
	stop func() bool     // ends the watch on ctx
	kill func()          // made once
	// cut says that the response is not wanted any more; any goroutine sets it.
	cut atomic.Bool
	// total says that the deadline in force covers the body; until is the one for
	// the body's next bytes otherwise, and waits is since when they are waited for.
	total        bool
	until, waits time.Time
	// bounded is the deadline in force for both directions; zero: they differ.
	bounded time.Time
	// reused says that an earlier request went through here; sent, that the
	// kernel took any of this one; heard, that the upstream has said anything
	// to it.
	reused, sent, heard bool
	now                 time.Time // when the present request began
	idleSince           time.Time
}

func newConn(p *pool, nc net.Conn) *conn {
	c := &conn{pool: p, net: nc, buf: make([]byte, connBuffer)}
	c.kill = func() { _ = c.net.SetDeadline(longAgo) } // whoever uses it sees the error
	c.framed.c = c
	if t, ok := nc.(*tls.Conn); ok {
		c.secure = t
		c.quick, _ = t.NetConn().(*socket.Conn)
	} else if c.quick = socket.Of(nc); c.quick != nil {
		c.net = c.quick
	}
	return c
}

// usable reports whether an idle connection is still open and has nothing to read.
// Bytes that came without a request would be taken for the response to the next
// one.
func (c *conn) usable() bool {
	if c.secure != nil && c.holds() {
		return false
	}
	return c.quick == nil || c.quick.Silent()
}

// holds reports whether there is something left of what TLS has read, which the
// socket knows nothing of, or whether that has ended.
func (c *conn) holds() bool {
	c.bounded = time.Time{}
	if c.net.SetReadDeadline(longAgo) != nil {
		return true
	}
	var b [1]byte
	n, err := c.net.Read(b[:])
	return n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || c.net.SetReadDeadline(time.Time{}) != nil
}

// exchange writes a request and reads the final response's head. limit is for
// everything up to the head, and for the body as well where total is set.
func (c *conn) exchange(ctx context.Context, request []byte, head bool, limit time.Duration, total bool, inform func(status int, reason string, fields map[string][]string)) error {
	c.ctx, c.total, c.until, c.sent, c.heard = ctx, total, time.Time{}, false, false
	c.trailer = nil
	c.cut.Store(false)
	c.now = time.Now()
	if err := c.bound(limit); err != nil {
		return err
	}
	// After the deadline: once ctx has ended, none but kill's may be set.
	if w, ok := ctx.(Watcher); ok {
		c.stop = w.Watch(c.kill)
	} else {
		c.stop = context.AfterFunc(ctx, c.kill)
	}
	if err := c.ask(request); err != nil {
		return c.because(err)
	}
	for range maxInformational {
		if err := c.readHead(); err != nil {
			return err
		}
		if c.head.status >= 200 {
			c.framed.begin(&c.head, head)
			return nil
		}
		if c.head.status == http.StatusSwitchingProtocols {
			return ErrMalformed // nobody asked for it
		}
		if inform != nil && c.head.status != http.StatusContinue {
			fields := http.Header{}
			c.head.copyTo(fields)
			inform(c.head.status, c.head.reason, fields)
		}
	}
	return ErrMalformed
}

// ask writes a request, and reads the first of the response where that saves a call.
func (c *conn) ask(request []byte) (err error) {
	var sent int
	if quick, ok := c.net.(*socket.Conn); ok {
		c.r = 0
		sent, c.w, err = quick.Ask(request, c.buf)
	} else {
		sent, err = c.net.Write(request)
	}
	c.sent, c.heard = sent > 0, c.w > 0
	return err
}

// Watcher is a context that watches its end for one at a time, without an
// allocation; otherwise Watch is context.AfterFunc, whose stop is called once.
type Watcher interface {
	Watch(f func()) (stop func() bool)
}

// bound sets the deadline for an exchange that begins now. One that is in force stays
// where it is later by a sixteenth at most, for moving it costs as much as a read.
func (c *conn) bound(limit time.Duration) error {
	if c.total {
		c.bounded = time.Time{}
		return c.net.SetDeadline(c.now.Add(limit))
	}
	if left := c.bounded.Sub(c.now); left >= limit && left <= limit+limit/16 {
		return nil
	}
	c.bounded = c.now.Add(limit + limit/16)
	return c.net.SetDeadline(c.bounded)
}

func (c *conn) readHead() error {
	for {
		n, err := c.head.parse(c.buf[c.r:c.w])
		if err != nil {
			return err
		}
		if n > 0 {
			c.r += n
			return nil
		}
		if err := c.fill(maxResponseHead); err != nil {
			return err
		}
	}
}

// fill reads once more behind what is there; the block being read may grow to
// limit.
func (c *conn) fill(limit int) error {
	switch {
	case c.r == c.w:
		c.r, c.w = 0, 0
	case c.w == len(c.buf) && c.r > 0:
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	case c.w == len(c.buf):
		if len(c.buf) >= limit {
			return errHeadSize
		}
		bigger := make([]byte, min(2*len(c.buf), limit))
		c.w = copy(bigger, c.buf[:c.w])
		c.buf = bigger
	}
	n, err := c.read(c.buf[c.w:])
	c.w += n
	return err
}

// read gives at least one byte or an error.
func (c *conn) read(p []byte) (int, error) {
	for {
		n, err := c.net.Read(p)
		if n > 0 {
			c.heard = true
			return n, nil
		}
		if err == nil {
			err = io.ErrNoProgress
		}
		err = c.because(err)
		if !errors.Is(err, os.ErrDeadlineExceeded) || c.until.IsZero() {
			return 0, err
		}
		until := c.waits.Add(c.silence())
		if !until.After(c.until) {
			return 0, err
		}
		if err := c.extend(until); err != nil { // it was silent for less: the deadline was an earlier wait's
			return 0, err
		}
	}
}

// because gives the context's error rather than the I/O error that its end caused.
func (c *conn) because(err error) error {
	if cause := c.ctx.Err(); cause != nil {
		return cause
	}
	if c.cut.Load() {
		return errCut
	}
	return err
}

// await sets the deadline for the next bytes of a body. One that is in force stays until it
// has passed, and read moves it then: moving it with all bytes costs as much as reading them.
func (c *conn) await() error {
	if c.total {
		return nil
	}
	now := time.Now()
	c.waits = now
	if c.until.After(now) {
		return nil
	}
	return c.extend(now.Add(c.silence()))
}

// extend sets the deadline for reading.
func (c *conn) extend(until time.Time) error {
	c.until, c.bounded = until, time.Time{}
	if err := c.net.SetReadDeadline(until); err != nil {
		return err
	}
	// The context may have ended, and kill's deadline been overwritten, in
	// between; if it ends later than this line, kill comes later as well. So it is
	// with Cut.
	if c.cut.Load() {
		return errCut
	}
	return c.ctx.Err()
}

func (c *conn) silence() time.Duration {
	for i := range c.head.fields {
		if c.head.fields[i].name == "Content-Type" {
			return c.pool.patience.silence(c.head.fields[i].value)
		}
	}
	return c.pool.patience.read
}

// finish gives the connection back, and its slot.
func (c *conn) finish() {
	c.leave()
	c.pool.slots.release()
}

// leave gives the connection back.
func (c *conn) leave() {
	clean := c.framed.done && !c.head.last && c.r == c.w
	if c.stop != nil && !c.stop() {
		clean = false // kill has run or is about to
	}
	c.ctx, c.stop = nil, nil
	if len(c.buf) > connBuffer { // neither do head and trailer keep what was larger
		c.buf, c.head, c.framed.framed = make([]byte, connBuffer), responseHead{}, http1.Body{}
	}
	c.r, c.w = 0, 0
	c.pool.put(c, clean)
}

// response reads the rest into memory.
func (c *conn) response(hold *holding) (whittle.Response, error) {
	h := http.Header{}
	c.head.copyTo(h)
	a := whittle.Response{Status: c.head.status, Header: whittle.Header(h)}
	if c.head.length > hold.limit && !c.framed.done {
		return a, errResponseSize
	}
	if err := hold.read(&c.framed); err != nil {
		return a, err
	}
	a.Body, a.Trailer = hold.body, whittle.Header(c.trailer)
	return a, nil
}

// large are for the parts of a body that are longer than a connection's buffer.
var large = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// body is a response's body on a conn. It implements source; pieces are slices
// of the connection's own buffer wherever that is long enough.
type body struct {
	c      *conn
	framed http1.Body
	// piece has been found in the connection's buffer, and not been returned.
	piece []byte
	// parts is how many stretches of content the piece is joined of; gone, those of
	// the last one that was returned.
	parts, gone int
	// fault is what is wrong behind the piece.
	fault error
	// done says that all of the body has been returned.
	done bool
	kind http1.FramingKind
	err  error
	big  *[64 << 10]byte
}

// begin settles how the body ends. headOnly is for the response to HEAD.
func (b *body) begin(h *responseHead, headOnly bool) {
	*b = body{c: b.c, framed: b.framed}
	b.framed.Limits, b.framed.Tolerance = responseLimits, tolerated
	method := http.MethodGet
	if headOnly {
		method = http.MethodHead
	}
	f := h.parser.Framing(method)
	b.kind = f.Kind
	if f.Kind == http1.UntilClose {
		h.last = true
	}
	b.framed.Begin(f)
	b.done = b.framed.Done()
}

func (b *body) ready() bool {
	err := b.advance()
	return err != nil || len(b.piece) > 0 || b.framed.Done()
}

func (b *body) next() ([]byte, error) {
	for {
		if err := b.advance(); err != nil {
			b.err = err
			return nil, err
		}
		if len(b.piece) > 0 || b.framed.Done() {
			break
		}
		if p, err := b.wait(); p != nil || err != nil {
			b.gone = 1
			return p, err
		}
	}
	p := b.piece
	b.piece, b.done = nil, b.framed.Done()
	b.parts, b.gone = 0, b.parts
	if b.done {
		b.release()
		return p, io.EOF
	}
	return p, nil
}

func (b *body) joined() int { return b.gone }

// advance finds the next piece in what has been read. Chunks that have arrived
// together are one piece: what an upstream flushes byte by byte costs no write each.
func (b *body) advance() error {
	c := b.c
	for c.r < c.w && !b.framed.Done() && b.fault == nil {
		piece, n, err := b.framed.Next(c.buf[c.r:c.w])
		if err != nil {
			b.fault = refusal(err)
			break
		}
		if n == 0 {
			break // a part of the trailer
		}
		c.r += n
		b.join(piece)
		if b.framed.Done() {
			b.takeTrailer()
		}
	}
	if len(b.piece) > 0 {
		return nil // what is wrong behind it comes after it
	}
	return b.fault
}

// join moves a stretch of the connection's buffer to the end of the piece, over the
// framing that was between them.
func (b *body) join(stretch []byte) {
	if len(stretch) > 0 {
		b.parts++
	}
	if len(b.piece) == 0 {
		b.piece = stretch
		return
	}
	b.piece = append(b.piece, stretch...)
}

// takeTrailer keeps the fields after the body that may go on.
func (b *body) takeTrailer() {
	t := b.framed.Trailer()
	if t.Len() == 0 {
		return
	}
	fields := http.Header{}
	for i := range t.Len() {
		canonical(t.Field(i).Name)
	}
	text := string(t.Raw())
	for i := range t.Len() {
		if name, value := t.In(text, i); trailing(name) {
			fields[name] = append(fields[name], value)
		}
	}
	b.c.trailer = fields
}

// wait reads more. Long stretches go past the connection's buffer: then the
// piece itself is returned.
func (b *body) wait() ([]byte, error) {
	c := b.c
	if err := c.await(); err != nil {
		return nil, err
	}
	if rest := b.framed.Rest(); rest > int64(len(c.buf)) && c.r == c.w {
		if b.big == nil {
			b.big = large.Get().(*[64 << 10]byte)
		}
		n, err := c.read(b.big[:min(int64(len(b.big)), rest)])
		if err != nil {
			return nil, cutShort(err)
		}
		p, _, err := b.framed.Next(b.big[:n])
		return p, err
	}
	err := c.fill(maxResponseHead)
	if errors.Is(err, io.EOF) && b.framed.End() == nil {
		return nil, nil // the body ends with the connection
	}
	return nil, cutShort(err)
}

func (b *body) release() {
	if b.big != nil {
		large.Put(b.big)
		b.big = nil
	}
}

func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return errTruncated
	}
	return err
}
