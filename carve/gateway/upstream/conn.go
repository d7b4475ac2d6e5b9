package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/internal/http1"
	"whittle/internal/httpfield"
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

// Response is an upstream's response whose head has been read. Close releases
// it; one goroutine at a time may use it.
type Response struct {
	Status int
	// Length of the body; -1: not known.
	Length int64
	body   source
	// Exactly one of the following is set.
	resp      *http.Response
	conn      *conn
	closed    bool
	revocable *revocable // nil: the slot is not to be revoked
	held      *lease     // the response's slot until Close; nil: the conn's pool has it
	// names of the trailer's fields as far as the head of resp gave them.
	names []string
}

// source gives a body piece by piece.
type source interface {
	// next gives the next piece, valid until the following call; the error
	// io.EOF comes with the last piece or after it.
	next() ([]byte, error)
	// ready reports whether next will not wait.
	ready() bool
	// joined is of how many stretches of content the last piece was made: of one, or
	// of chunks that had arrived together.
	joined() int
}

// Address is that of the instance that responds; empty: not known.
func (a *Response) Address() string {
	switch {
	case a.conn != nil && a.conn.pool != nil:
		return a.conn.pool.address
	case a.held != nil:
		return a.held.at.address
	}
	return ""
}

// Header gives the end-to-end header in a map of its own.
func (a *Response) Header() whittle.Header {
	h := http.Header{}
	a.CopyHeader(h)
	return whittle.Header(h)
}

// Reason is the reason phrase; "" where it says no more than the status.
func (a *Response) Reason() string {
	if a.conn != nil {
		return a.conn.head.reason
	}
	_, reason, _ := strings.Cut(a.resp.Status, " ")
	if reason == http.StatusText(a.Status) {
		return ""
	}
	return reason
}

// CopyHeader adds the end-to-end header to dst.
func (a *Response) CopyHeader(dst http.Header) {
	if a.conn != nil {
		a.conn.head.copyTo(dst)
		return
	}
	named := httpfield.ConnectionNames(a.resp.Header)
	for name, values := range a.resp.Header {
		offers := name == "Upgrade" && a.Status == http.StatusUpgradeRequired
		if offers || !httpfield.HopByHop(name) && !slices.Contains(named, name) {
			dst[name] = values
		}
	}
	if names := a.Announced(); len(names) > 0 {
		dst["Trailer"] = []string{strings.Join(names, ", ")}
	}
}

// Announced gives the trailer's fields as far as the head named them. Like all of the
// head it is to be asked for before the response is closed; the names stay.
func (a *Response) Announced() []string {
	if a.conn != nil {
		return a.conn.head.announced
	}
	return a.names
}

// Trailer is complete once the body has ended.
func (a *Response) Trailer() http.Header {
	if a.conn != nil {
		return a.conn.trailer
	}
	for name := range a.resp.Trailer {
		if !trailing(name) {
			delete(a.resp.Trailer, name)
		}
	}
	return a.resp.Trailer
}

// Close releases the connection: for another request where the response was
// read to its end, else for good. Later calls do nothing.
func (a *Response) Close() {
	if a.closed {
		return
	}
	a.closed = true
	if a.revocable != nil {
		a.slots().forbidRevoking(a.revocable)
	}
	if a.held != nil {
		defer a.held.end()
	}
	if s, ok := a.body.(*readerSource); ok {
		s.release()
		defer s.watch.end()
		_ = a.resp.Body.Close() // reading it to its end is what counts
		return
	}
	a.conn.finish()
}

// Next gives the next piece of the body, valid until the following call; the
// error io.EOF comes with the last piece or after it.
func (a *Response) Next() ([]byte, error) { return a.body.next() }

// Ready reports whether Next will not wait.
func (a *Response) Ready() bool { return a.body.ready() }

// Upgraded gives the connection of a response with status 101, and the protocol
// that the upstream changes to. False: it has none.
func (a *Response) Upgraded() (conn io.ReadWriteCloser, protocol []string, ok bool) {
	if a.resp == nil {
		return nil, nil, false
	}
	conn, ok = a.resp.Body.(io.ReadWriteCloser)
	return conn, a.resp.Header["Upgrade"], ok
}

// field is one line of a header.
type field struct{ name, value string }

// responseHead is the parsed head of an HTTP/1.1 response. It is used over and
// over; parse begins by emptying it.
type responseHead struct {
	parser http1.ResponseHead
	status int
	// reason is the reason phrase where it is not the usual one.
	reason string
	// fields has what goes on to the client, in the order that it came.
	fields []field
	// announced are the names in Trailer.
	announced []string
	// length of the body by Content-Length; -1: none was given.
	length int64
	// last says that the connection cannot be used after this response.
	last bool
}

// tolerated is what upstreams are forgiven: what net/http forgives them, and what
// a proxy may repair (RFC 9112, sections 2.2, 5.2 and 6.3). Fields that must not
// come after the body are dropped. Old servers fill up a chunk's size with blanks.
const tolerated = http1.BareLF | http1.Folding | http1.LengthAndChunks | http1.PaddedSize | http1.FramingInTrailer

// responseLimits bound a head, and a trailer.
var responseLimits = http1.Limits{Head: maxResponseHead, Fields: maxResponseHead}

// parse reads a head at the beginning of b. n is its length, and 0 while it is
// incomplete. It changes b in place: names to canonical form, folds to spaces.
func (h *responseHead) parse(b []byte) (n int, err error) {
	h.parser.Limits, h.parser.Tolerance = responseLimits, tolerated
	n, err = h.parser.Parse(b)
	if err != nil {
		return 0, refusal(err)
	}
	if n > 0 {
		h.take()
	}
	return n, nil
}

// refusal names what http1 refuses in an upstream's response.
func refusal(err error) error {
	if e, ok := errors.AsType[*http1.Error](err); ok && e.TooLarge() && e.Status == http.StatusRequestHeaderFieldsTooLarge {
		return errHeadSize
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}

// take keeps what the parser has read: of the fields, those that go on.
func (h *responseHead) take() {
	p := &h.parser
	h.status, h.length = p.Status(), p.ContentLength()
	h.reason = ""
	if reason := p.Reason(); string(reason) != http.StatusText(h.status) {
		h.reason = string(reason)
	}
	h.last = p.Closes() || p.HTTP10() // HTTP/1.0's keep-alive is an extension that is not worth having
	h.fields, h.announced = h.fields[:0], nil
	for i := range p.Len() {
		canonical(p.Field(i).Name)
	}
	text := string(p.Raw())
	lengths := 0
	for i := range p.Len() {
		var f field
		f.name, f.value = p.In(text, i)
		switch {
		case f.name == "Trailer":
			h.announce(f.value)
		case f.name == "Content-Length":
			if lengths++; lengths > 1 || h.length < 0 {
				continue // once is enough, and no length where chunks hold
			}
		case f.name == "Upgrade" && h.status == http.StatusUpgradeRequired: // it says what the client may come back with
		case p.HopByHop(i):
			continue
		}
		h.fields = append(h.fields, f)
	}
}

// announce keeps the names in a Trailer field.
func (h *responseHead) announce(names string) {
	for _, name := range httpfield.Names(names) {
		if trailing(name) {
			h.announced = append(h.announced, name)
		}
	}
}

// trailing reports whether a field may come after the body: nothing that says
// how to read the message may.
func trailing(name string) bool {
	switch name {
	case "", "Content-Length", "Host", "Content-Encoding", "Content-Type", "Content-Range":
		return false
	}
	return !httpfield.HopByHop(name) && http1.IsToken(name)
}

// copyTo adds the fields to dst.
func (h *responseHead) copyTo(dst http.Header) {
	values := make([]string, len(h.fields))
	for i, f := range h.fields {
		values[i] = f.value
		if earlier, ok := dst[f.name]; ok {
			dst[f.name] = append(earlier, f.value)
		} else {
			dst[f.name] = values[i : i+1 : i+1]
		}
	}
}

// canonical brings a token into the form of net/http: Content-Type.
func canonical(name []byte) {
	upper := true
	for i, c := range name {
		switch {
		case upper && c >= 'a' && c <= 'z':
			name[i] = c - 'a' + 'A'
		case !upper && c >= 'A' && c <= 'Z':
			name[i] = c - 'A' + 'a'
		}
		upper = c == '-'
	}
}
