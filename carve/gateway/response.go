package gateway

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"whittle"
	"whittle/internal/httpfield"
)

// upstreamResponse is an upstream's response whose head has been read.
type upstreamResponse struct {
	status int
	// length of the body; -1: not known.
	length int64
	body   source
	// Exactly one of the following is set.
	resp *http.Response
	conn *conn
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
}

func newUpstreamResponse(resp *http.Response) *upstreamResponse {
	a := &upstreamResponse{status: resp.StatusCode, length: resp.ContentLength, resp: resp}
	a.body = &readerSource{r: resp.Body, left: resp.ContentLength}
	for name := range resp.Trailer {
		a.names = append(a.names, name)
	}
	slices.Sort(a.names)
	return a
}

// head gives the end-to-end header in a map of its own.
func (a *upstreamResponse) head() whittle.Header {
	h := http.Header{}
	a.copyHead(h)
	return whittle.Header(h)
}

func (a *upstreamResponse) copyHead(dst http.Header) {
	if a.conn != nil {
		a.conn.head.copyTo(dst)
		return
	}
	named := httpfield.ConnectionNames(a.resp.Header)
	for name, values := range a.resp.Header {
		if !httpfield.HopByHop(name) && !slices.Contains(named, name) {
			dst[name] = values
		}
	}
	if names := a.announced(); len(names) > 0 {
		dst["Trailer"] = []string{strings.Join(names, ", ")}
	}
}

// announced gives the trailer's fields as far as the head named them.
func (a *upstreamResponse) announced() []string {
	if a.conn != nil {
		return a.conn.head.announced
	}
	return a.names
}

// trailer is complete once the body has ended.
func (a *upstreamResponse) trailer() http.Header {
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

// close releases the connection: for another request where the response was
// read to its end, else for good.
func (a *upstreamResponse) close() {
	if s, ok := a.body.(*readerSource); ok {
		s.release()
		_ = a.resp.Body.Close() // reading it to its end is what counts
		return
	}
	a.conn.finish()
}

// buffers are for bodies that come through an io.Reader.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// readerSource is a body from net/http.
type readerSource struct {
	r    io.Reader
	left int64 // -1: not known
	buf  *[32 << 10]byte
}

func (s *readerSource) next() ([]byte, error) {
	if s.buf == nil {
		s.buf = buffers.Get().(*[32 << 10]byte)
	}
	n, err := s.r.Read(s.buf[:])
	if s.left > 0 {
		s.left -= int64(n)
	}
	return s.buf[:n], err
}

// ready can only say so at the end: an io.Reader does not tell.
func (s *readerSource) ready() bool { return s.left == 0 }

func (s *readerSource) release() {
	if s.buf != nil {
		buffers.Put(s.buf)
		s.buf = nil
	}
}
