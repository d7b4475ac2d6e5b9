package upstream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/internal/http1"
	"whittle/internal/httpfield"
)

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

func newResponse(resp *http.Response, w *watch, p *patience) *Response {
	a := &Response{Status: resp.StatusCode, Length: resp.ContentLength, resp: resp}
	a.body = &readerSource{r: resp.Body, left: resp.ContentLength, watch: w, silence: p.silence(contentType(resp.Header))}
	for name := range resp.Trailer {
		a.names = append(a.names, name)
	}
	slices.Sort(a.names)
	return a
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

// buffers are for bodies that come through an io.Reader.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// readerSource is a body from net/http.
type readerSource struct {
	r    io.Reader
	left int64 // -1: not known
	buf  *[32 << 10]byte
	// watch ends the exchange where the upstream is silent for longer.
	watch   *watch
	silence time.Duration
}

func (s *readerSource) next() ([]byte, error) {
	if s.buf == nil {
		s.buf = buffers.Get().(*[32 << 10]byte)
	}
	s.watch.wait(s.silence)
	n, err := s.r.Read(s.buf[:])
	s.watch.rest()
	if s.left > 0 {
		s.left -= int64(n)
	}
	return s.buf[:n], s.watch.because(err)
}

// ready is true only at the end: an io.Reader does not say whether it would block.
func (s *readerSource) ready() bool { return s.left == 0 }

func (*readerSource) joined() int { return 1 }

func (s *readerSource) release() {
	if s.buf != nil {
		buffers.Put(s.buf)
		s.buf = nil
	}
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

// errCut is what a response gives after Cut.
var errCut = errors.New("the response is not wanted any more")

// Leave leaves the last piece to whoever has it: the piece stays valid, and what
// follows is read into other memory. It gives the number of bytes that are held so,
// for which it asks first; false: there is no room, and nothing has changed.
func (a *Response) Leave(room func(bytes int64) bool) (held int64, ok bool) {
	if a.conn != nil {
		return a.conn.framed.leave(room)
	}
	s := a.body.(*readerSource)
	if s.buf == nil {
		return 0, true
	}
	held = int64(len(s.buf))
	if !room(held) {
		return 0, false
	}
	s.buf = nil
	return held, true
}

// leave is as in Response. A piece that was found and not returned stays in the
// memory that is left, which nobody writes into.
func (b *body) leave(room func(bytes int64) bool) (held int64, ok bool) {
	c := b.c
	held = int64(len(c.buf))
	if b.big != nil {
		held += int64(len(b.big))
	}
	if !room(held) {
		return 0, false
	}
	fresh := make([]byte, len(c.buf))
	c.w = copy(fresh, c.buf[c.r:c.w])
	c.r, c.buf, b.big = 0, fresh, nil
	return held, true
}

// Cut has a Next that waits, and any later one, fail. Unlike all else it may be called
// by another goroutine, before Close.
func (a *Response) Cut() {
	if a.conn != nil {
		a.conn.cut.Store(true)
		a.conn.kill()
		return
	}
	a.body.(*readerSource).watch.cancel()
}
