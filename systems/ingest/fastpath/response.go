package fastpath

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle/internal/http1"
)

// response is the http.ResponseWriter. The body is buffered until the handler
// returns or the buffer is full.
type response struct {
	c      *conn
	header http.Header
	status int       // 0: not set yet
	body   []byte    // the buffered part
	size   int       // bytes that the handler wrote
	length int       // the Content-Length; -1: none
	sent   bool      // the head was sent
	failed error     // the error of a write
	sentAt time.Time // when sending began

	out   []byte // kept for its memory, as is names
	names []string
}

// maxBuffered is how much of a body of known length is buffered. maxKept bounds
// the memory that a connection keeps for the next response.
const (
	maxBuffered = bufferSize
	maxKept     = 2 * bufferSize
)

func (w *response) reset() {
	clear(w.header)
	w.status, w.body, w.size, w.length, w.sent, w.failed = 0, w.body[:0], 0, -1, false, nil
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
	case !hasBody(w.status):
		return 0, http.ErrBodyNotAllowed
	case w.length >= 0 && w.size+len(b) > w.length:
		return 0, http.ErrContentLength
	}
	w.size += len(b)
	if w.length < 0 || len(w.body)+len(b) <= maxBuffered {
		w.body = append(w.body, b...)
		return len(b), nil
	}
	w.flush(w.c.lastResponse())
	w.write(b)
	return len(b), w.failed
}

// lastResponse reports whether the connection closes after this response, as
// far as is known before the handler has returned.
func (c *conn) lastResponse() bool {
	return c.s.closing.Load() || c.body.remaining > c.to-c.from
}

// finish sends what is buffered. It returns false when the connection has to be
// closed.
func (w *response) finish(further bool) bool {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.length < 0 && hasBody(w.status) {
		w.length = w.size
	}
	further = further && (!hasBody(w.status) || w.size == w.length)
	w.flush(!further)
	if cap(w.body) > maxKept || cap(w.out) > maxKept {
		w.body, w.out = nil, nil
	}
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
	if w.sent && len(w.body) == 0 {
		return
	}
	w.out = w.out[:0]
	w.sentAt = time.Now()
	if !w.sent {
		if last {
			w.header["Connection"] = closing
		}
		w.appendHead()
		w.sent = true
	}
	w.out = append(w.out, w.body...)
	w.body = w.body[:0]
	w.write(w.out)
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
func (w *response) appendHead() {
	reason := http.StatusText(w.status)
	if reason == "" {
		reason = "status code " + strconv.Itoa(w.status)
	}
	b, _ := http1.AppendStatusLine(w.out, w.status, reason)
	if w.length >= 0 && hasBody(w.status) && w.header["Content-Length"] == nil {
		b = http1.AppendContentLength(b, int64(w.length))
	}
	if w.header["Date"] == nil {
		b, _ = http1.AppendField(b, "Date", w.c.s.dateOf(w.sentAt))
	}
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
	w.out = http1.EndHead(b)
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

func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// date is the Date field for a second.
type date struct {
	second int64
	text   string
}

// dateOf returns the Date field's value.
func (s *Server) dateOf(t time.Time) string {
	if d := s.date.Load(); d != nil && d.second == t.Unix() {
		return d.text
	}
	d := &date{t.Unix(), t.UTC().Format(http.TimeFormat)}
	s.date.Store(d)
	return d.text
}
