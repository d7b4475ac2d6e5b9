package lane

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answer is the http.ResponseWriter. What it is given is held until the handler
// returns, or until it is too much for that.
type answer struct {
	c      *conn
	header http.Header
	status int       // 0: none was given yet
	body   []byte    // of it, what is held
	size   int       // what the handler gave of it
	length int       // what the header says of it; -1: nothing
	sent   bool      // the head has left
	failed error     // what writing ended with
	left   time.Time // when it began to be sent

	out   []byte   // kept for its memory, as the next one
	names []string //
}

// held is how much of a body is held whose length is known, and keptAnswer the
// memory that a connection keeps for the next one.
const (
	held       = bufferSize
	keptAnswer = 2 * bufferSize
)

func (a *answer) begin() {
	clear(a.header)
	a.status, a.body, a.size, a.length, a.sent, a.failed = 0, a.body[:0], 0, -1, false, nil
}

// Header gives the answer's header.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader takes the status. The first one counts; 1xx is not for the lane.
func (a *answer) WriteHeader(status int) {
	if a.status != 0 || status < http.StatusOK {
		return
	}
	a.status = status
	if given := a.header["Content-Length"]; len(given) > 0 {
		if n, err := strconv.Atoi(given[0]); err == nil && n >= 0 {
			a.length = n
		} else {
			delete(a.header, "Content-Length")
		}
	}
}

// Write takes more of the body: http.ErrContentLength where it is more than the
// header says, http.ErrBodyNotAllowed where there can be none.
func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	switch {
	case a.failed != nil:
		return 0, a.failed
	case !hasBody(a.status):
		return 0, http.ErrBodyNotAllowed
	case a.length >= 0 && a.size+len(b) > a.length:
		return 0, http.ErrContentLength
	}
	a.size += len(b)
	if a.length < 0 || len(a.body)+len(b) <= held {
		a.body = append(a.body, b...)
		return len(b), nil
	}
	a.flush(a.c.answerLast())
	a.write(b)
	return len(b), a.failed
}

// answerLast says whether the connection ends with this answer, as far as is
// known before the handler has returned.
func (c *conn) answerLast() bool {
	return c.s.closing.Load() || c.body.left > c.to-c.from
}

// end sends what is held. It is false where the connection has to be closed.
func (a *answer) end(further bool) bool {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.length < 0 && hasBody(a.status) {
		a.length = a.size
	}
	further = further && (!hasBody(a.status) || a.size == a.length)
	a.flush(!further)
	if cap(a.body) > keptAnswer || cap(a.out) > keptAnswer {
		a.body, a.out = nil, nil
	}
	return further && a.failed == nil && !a.closes()
}

// closes says that the answer's header ends the connection.
func (a *answer) closes() bool {
	for _, v := range a.header["Connection"] {
		if strings.EqualFold(v, "close") {
			return true
		}
	}
	return false
}

// flush sends the head, where it has not left, and what is held of the body.
func (a *answer) flush(last bool) {
	if a.sent && len(a.body) == 0 {
		return
	}
	a.out = a.out[:0]
	a.left = time.Now()
	if !a.sent {
		if last {
			a.header["Connection"] = closing
		}
		a.appendHead()
		a.sent = true
	}
	a.out = append(a.out, a.body...)
	a.body = a.body[:0]
	a.write(a.out)
}

var closing = []string{"close"}

func (a *answer) write(b []byte) {
	if a.failed != nil {
		return
	}
	a.c.writeUntil(a.left, a.c.s.http.WriteTimeout)
	_, a.failed = a.c.rwc.Write(b)
}

// appendHead writes status and header as net/http does: by name, and with the
// date.
func (a *answer) appendHead() {
	b := append(a.out, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(a.status), 10)
	b = append(append(append(b, ' '), http.StatusText(a.status)...), "\r\n"...)
	if a.length >= 0 && hasBody(a.status) && a.header["Content-Length"] == nil {
		b = append(b, "Content-Length: "...)
		b = append(strconv.AppendInt(b, int64(a.length), 10), "\r\n"...)
	}
	if a.header["Date"] == nil {
		b = append(append(append(b, "Date: "...), a.c.s.dateOf(a.left)...), "\r\n"...)
	}
	a.names = a.names[:0]
	for name := range a.header {
		a.names = append(a.names, name)
	}
	slices.Sort(a.names)
	for _, name := range a.names {
		for _, v := range a.header[name] {
			b = append(append(b, name...), ": "...)
			b = append(append(b, oneLine(v)...), "\r\n"...)
		}
	}
	a.out = append(b, "\r\n"...)
}

// oneLine keeps a value from beginning another field.
func oneLine(v string) string {
	if strings.ContainsAny(v, "\r\n") {
		return strings.NewReplacer("\r", " ", "\n", " ").Replace(v)
	}
	return v
}

func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// date is the Date field for a second.
type date struct {
	second int64
	text   string
}

// dateOf gives the Date field's value.
func (s *Server) dateOf(t time.Time) string {
	if d := s.date.Load(); d != nil && d.second == t.Unix() {
		return d.text
	}
	d := &date{t.Unix(), t.UTC().Format(http.TimeFormat)}
	s.date.Store(d)
	return d.text
}
