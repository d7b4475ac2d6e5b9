package fastpath

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle/internal/http1"
	"whittle/internal/httpfield"
)

// response is the http.ResponseWriter. The body is buffered until the handler
// returns or the buffer is full.
type response struct {
	c      *conn
	header http.Header
	status int       // 0: not set yet
	body   *[]byte   // the buffered part; nil: nothing
	size   int       // bytes that the handler wrote
	length int       // the Content-Length; -1: none
	sent   bool      // the head was sent
	failed error     // the error of a write
	sentAt time.Time // when sending began
	whole  *[]byte   // the whole response, by WriteWhole; nil: there is none

	names []string // kept for its memory
}

// maxBuffered is how much of a body of known length is buffered. maxKept bounds
// the memory that is kept for the next responses.
const (
	maxBuffered = bufferSize
	maxKept     = 2 * bufferSize
)

// pieces are for responses being put together. A connection has none between them.
var pieces = sync.Pool{New: func() any {
	b := make([]byte, 0, bufferSize/4)
	return &b
}}

func takePiece() *[]byte { return pieces.Get().(*[]byte) }

func dropPiece(b *[]byte) {
	if b != nil && cap(*b) <= maxKept {
		*b = (*b)[:0]
		pieces.Put(b)
	}
}

func (w *response) reset() {
	clear(w.header)
	w.status, w.size, w.length, w.sent, w.failed = 0, 0, -1, false, nil
	w.body, w.whole = nil, nil // a handler that panicked has left them
}

// WholeWriter is a ResponseWriter to which a handler can give a response in one call,
// in place of Header, WriteHeader and Write.
type WholeWriter interface {
	// WriteWhole takes a response with a body. fields are lines of its head, each
	// with its line end, but for Content-Length, Date and Connection. What the
	// handler has left of the request's body is read first.
	WriteWhole(status int, fields, body []byte)
}

// WriteWhole implements WholeWriter.
func (w *response) WriteWhole(status int, fields, body []byte) {
	w.status, w.size, w.length, w.sent, w.sentAt = status, len(body), len(body), true, time.Now()
	w.whole = takePiece()
	b := w.appendStart(*w.whole)
	if !w.c.body.discard() || w.c.s.conns.Closing() {
		w.header["Connection"] = closing
		b, _ = http1.AppendField(b, "Connection", closing[0])
	}
	b = http1.EndHead(append(b, fields...))
	*w.whole = append(b, body...)
}

// appendStart writes what every head begins with.
func (w *response) appendStart(b []byte) []byte {
	reason := http.StatusText(w.status)
	if reason == "" {
		reason = "status code " + strconv.Itoa(w.status)
	}
	b, _ = http1.AppendStatusLine(b, w.status, reason)
	if w.length >= 0 && httpfield.AllowsBody(w.status) && w.header["Content-Length"] == nil {
		b = http1.AppendContentLength(b, int64(w.length))
	}
	if w.header["Date"] == nil {
		b, _ = http1.AppendField(b, "Date", w.c.s.date.At(w.sentAt))
	}
	return b
}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.header }

// WriteHeader sets the status. The first call counts; 1xx statuses are ignored. A
// status that cannot be written is a fault of the handler's: it panics, as in
// net/http.
func (w *response) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %d", status))
	}
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	if given := w.header["Content-Length"]; len(given) > 0 {
		if n, err := strconv.Atoi(given[0]); err == nil && n >= 0 {
			w.length = n
		} else {
			delete(w.header, "Content-Length")
		}
	}
}

// Write adds to the body. It returns http.ErrContentLength where the body
// becomes longer than the header says, and http.ErrBodyNotAllowed where the
// status allows none.
func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.failed != nil:
		return 0, w.failed
	case !httpfield.AllowsBody(w.status):
		return 0, http.ErrBodyNotAllowed
	case w.length >= 0 && w.size+len(b) > w.length:
		return 0, http.ErrContentLength
	}
	w.size += len(b)
	if w.body == nil {
		w.body = takePiece()
	}
	if w.length < 0 || len(*w.body)+len(b) <= maxBuffered {
		*w.body = append(*w.body, b...)
		return len(b), nil
	}
	w.flush(w.c.lastResponse())
	w.write(b)
	return len(b), w.failed
}

// lastResponse reports whether the connection closes after this response, as
// far as is known before the handler has returned.
func (c *conn) lastResponse() bool {
	return c.s.conns.Closing() || c.body.remaining > c.to-c.from
}

// finish sends what is buffered. It returns false when the connection has to be
// closed.
func (w *response) finish(further bool) bool {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.length < 0 && httpfield.AllowsBody(w.status) {
		w.length = w.size
	}
	further = further && (!httpfield.AllowsBody(w.status) || w.size == w.length)
	w.flush(!further)
	dropPiece(w.body)
	dropPiece(w.whole)
	w.body, w.whole = nil, nil
	return further && w.failed == nil && !w.closes()
}

// closes reports whether the response's header closes the connection.
func (w *response) closes() bool {
	for _, v := range w.header["Connection"] {
		if strings.EqualFold(v, "close") {
			return true
		}
	}
	return false
}

// flush sends the head, unless it has been sent, and the buffered body.
func (w *response) flush(last bool) {
	if w.whole != nil {
		w.write(*w.whole)
		return
	}
	if w.sent && (w.body == nil || len(*w.body) == 0) {
		return
	}
	w.sentAt = time.Now()
	out := takePiece()
	if !w.sent {
		if last {
			w.header["Connection"] = closing
		}
		*out = w.appendHead(*out)
		w.sent = true
	}
	if w.body != nil {
		*out = append(*out, *w.body...)
		*w.body = (*w.body)[:0]
	}
	w.write(*out)
	dropPiece(out)
}

var closing = []string{"close"}

func (w *response) write(b []byte) {
	if w.failed != nil {
		return
	}
	w.c.writeUntil(w.sentAt, w.c.s.http.WriteTimeout)
	_, w.failed = w.c.rwc.Write(b)
}

// appendHead writes status and header as net/http does: sorted by name, and
// with the date.
func (w *response) appendHead(b []byte) []byte {
	b = w.appendStart(b)
	w.names = w.names[:0]
	for name := range w.header {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
	for _, name := range w.names {
		for _, v := range w.header[name] {
			b = appendField(b, name, v)
		}
	}
	return http1.EndHead(b)
}

// appendField keeps a value from beginning another field, as net/http does: line
// ends in it become spaces. A name that is none is left out.
func appendField(b []byte, name, value string) []byte {
	out, ok := http1.AppendField(b, name, value)
	if !ok {
		out, _ = http1.AppendField(b, name, strings.Map(noControl, value))
	}
	return out
}

func noControl(r rune) rune {
	if r < ' ' && r != '\t' || r == 0x7f {
		return ' '
	}
	return r
}
