package upstream

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"whittle"
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
