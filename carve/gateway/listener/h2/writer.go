package h2

import (
	"errors"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"

	"whittle/internal/http1"
	"whittle/internal/httpfield"
)

// held is how much of a body is held back, so that a short one goes out with its header:
// as much as net/http holds.
const held = 4 << 10

// writer is the http.ResponseWriter of a stream, and does as that of net/http. A response
// that is at hand in whole goes out in one piece when the handler returns.
type writer struct {
	st     *stream
	header http.Header

	status   int                  // the final response's; 0: none yet
	fields   *[]hpack.HeaderField // of its header, until that is sent
	length   int64                // as announced; -1: not
	written  int64
	trailers []string // announced
	isHead   bool
	sent     bool    // the header is
	ended    bool    // and it was all that there is
	held     *buffer // of the body; nil: nothing
	typed    bool    // there is a Content-Type, or need not be
}

// fieldLists are for headers between WriteHeader and the first byte that is sent.
var fieldLists = sync.Pool{New: func() any {
	l := make([]hpack.HeaderField, 0, 16)
	return &l
}}

// holders are buffers for the bytes that a response holds back. Buffers of connections become
// larger than that.
var holders = sync.Pool{New: func() any { return &buffer{make([]byte, 0, held)} }}

func (w *writer) begin(st *stream, isHead bool) {
	w.st, w.header, w.isHead, w.length = st, make(http.Header, 8), isHead, -1
}

// Header implements http.ResponseWriter.
func (w *writer) Header() http.Header { return w.header }

// SetReadDeadline is for http.ResponseController.
func (w *writer) SetReadDeadline(t time.Time) error {
	c := w.st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	w.st.readUntil = t
	w.st.came.Broadcast()
	return nil
}

// SetWriteDeadline is for http.ResponseController.
func (w *writer) SetWriteDeadline(t time.Time) error {
	c := w.st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	w.st.writeUntil = t
	w.st.may.Broadcast()
	return nil
}

// EnableFullDuplex is for http.ResponseController: HTTP/2 is never anything else.
func (w *writer) EnableFullDuplex() error { return nil }

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	if status < 100 || status > 999 {
		panic("a status of " + strconv.Itoa(status))
	}
	switch {
	case status == http.StatusSwitchingProtocols: // HTTP/2 has none (RFC 9113, section 8.6)
		return
	case status < 200:
		w.inform(status)
		return
	}
	w.status = status
	w.announced()
	w.fields = fieldLists.Get().(*[]hpack.HeaderField)
	*w.fields = append(*w.fields, hpack.HeaderField{Name: ":status", Value: statuses[status]})
	for name, values := range w.header {
		if name != "Content-Length" {
			*w.fields = appendFields(*w.fields, name, values)
		} else if w.length >= 0 && status != http.StatusNoContent {
			w.add("content-length", strconv.FormatInt(w.length, 10))
		}
	}
	_, w.typed = w.header["Content-Type"]
	w.typed = w.typed || len(w.header["Content-Encoding"]) > 0
	if _, ok := w.header["Date"]; !ok {
		w.add("date", w.st.c.s.date.At(time.Now()))
	}
}

// add adds a field whose value can be sent.
func (w *writer) add(name, value string) {
	*w.fields = append(*w.fields, hpack.HeaderField{Name: name, Value: value})
}

// appendFields adds a header's field, unless it is one that HTTP/2 does not have, and but for
// values that cannot be sent.
func appendFields(fields []hpack.HeaderField, name string, values []string) []hpack.HeaderField {
	lower := lowered(name)
	if !isName(lower) || connectionSpecific(lower, "") {
		return fields
	}
	for _, v := range values {
		if v = textproto.TrimString(v); http1.IsValue(v) {
			fields = append(fields, hpack.HeaderField{Name: lower, Value: v})
		}
	}
	return fields
}

// inform sends an informational response.
func (w *writer) inform(status int) {
	fields := []hpack.HeaderField{{Name: ":status", Value: statuses[status]}}
	for name, values := range w.header {
		if name != "Content-Length" {
			fields = appendFields(fields, name, values)
		}
	}
	st := w.st
	st.c.mu.Lock()
	defer st.c.mu.Unlock()
	if status == http.StatusContinue {
		st.continues = false
	}
	if st.await(false) == nil {
		st.c.appendHead(st.id, false, fields)
		st.c.wake()
	}
}

// goOn has a client that waits for it send its body. The caller holds mu.
func (w *writer) goOn() {
	st := w.st
	st.continues = false
	if !w.sent && st.gone == nil {
		st.c.appendHead(st.id, false, []hpack.HeaderField{{Name: ":status", Value: "100"}})
		st.c.wake()
	}
}

var statuses = func() (t [1000]string) {
	for i := range t {
		t[i] = strconv.Itoa(i)
	}
	return t
}()

// announced reads what the header says of the framing and of the connection.
func (w *writer) announced() {
	if lines := w.header["Content-Length"]; len(lines) > 0 {
		if n, err := strconv.ParseUint(textproto.TrimString(lines[0]), 10, 63); err == nil {
			w.length = int64(n)
		}
	}
	w.trailers = httpfield.Names(w.header["Trailer"]...)
	if slices.Equal(w.header["Connection"], []string{"close"}) {
		w.st.c.leave()
	}
}

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case len(p) == 0:
		return 0, nil
	case !httpfield.AllowsBody(w.status):
		return 0, http.ErrBodyNotAllowed
	}
	if w.written += int64(len(p)); w.length >= 0 && w.written > w.length {
		w.written -= int64(len(p))
		return 0, http.ErrContentLength
	}
	if w.isHead {
		if !w.typed && !w.sent {
			w.typed = true
			w.add("content-type", http.DetectContentType(p))
		}
		return len(p), nil
	}
	before := 0
	if w.held != nil {
		before = len(w.held.b)
	}
	if before+len(p) <= held {
		if w.held == nil {
			w.held = holders.Get().(*buffer)
		}
		w.held.b = append(w.held.b, p...)
		return len(p), nil
	}
	c := w.st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	err := w.send(p)
	c.wake()
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush implements http.Flusher.
func (w *writer) Flush() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	c := w.st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = w.send(nil) // the next write meets the same error
	c.wake()
}

// End ends the response while the handler goes on: the handler writes nothing more.
func (w *writer) End() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	c := w.st.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.st.can() == nil {
		w.ended = w.finish() == nil // else the handler's end meets the same error
		c.wake()
	}
}

// send sends what is held, and more behind it. The caller holds mu.
func (w *writer) send(more []byte) error {
	st := w.st
	if err := w.sendHead(w.bodiless(), more); err != nil || w.ended {
		return err
	}
	if w.held != nil {
		err := st.sendData(w.held.b, false)
		w.free()
		if err != nil {
			return err
		}
	}
	return st.sendData(more, false)
}

func (w *writer) free() {
	if w.held != nil {
		w.held.b = w.held.b[:0]
		holders.Put(w.held)
		w.held = nil
	}
}

// sendHead sends the header, unless it is. More is what follows it. The caller holds mu.
func (w *writer) sendHead(last bool, more []byte) error {
	if w.sent {
		return w.st.can()
	}
	if err := w.st.await(false); err != nil {
		return err
	}
	begins := more
	if w.held != nil {
		begins = w.held.b
	}
	if !w.typed && len(begins) > 0 {
		w.add("content-type", http.DetectContentType(begins))
	}
	w.sent, w.ended = true, last
	w.st.c.appendHead(w.st.id, last, *w.fields)
	clear(*w.fields)
	*w.fields = (*w.fields)[:0]
	fieldLists.Put(w.fields)
	w.fields = nil
	return nil
}

// errShort says that the handler wrote less than it announced.
var errShort = errors.New("the response is shorter than announced")

// finish ends the response after its handler, which has a status by then. The caller
// holds mu.
func (w *writer) finish() error {
	defer w.free()
	st := w.st
	trailer := w.trailer()
	var rest []byte
	if w.held != nil {
		rest = w.held.b
	}
	switch {
	case w.ended:
		return nil
	case !w.bodiless() && w.length >= 0 && w.written != w.length:
		return errShort
	case !w.sent && w.length < 0 && httpfield.AllowsBody(w.status) && (!w.isHead || w.written > 0):
		w.add("content-length", strconv.FormatInt(w.written, 10))
	}
	alone := w.bodiless() || len(rest) == 0 && len(trailer) == 0
	if !w.sent {
		if err := w.sendHead(alone, nil); err != nil || alone {
			return err
		}
	}
	if len(rest) > 0 || len(trailer) == 0 {
		if err := st.sendData(rest, len(trailer) == 0); err != nil || len(trailer) == 0 {
			return err
		}
	}
	if err := st.await(false); err != nil {
		return err
	}
	st.c.appendHead(st.id, true, trailer)
	return nil
}

// bodiless reports whether the header is all that there is.
func (w *writer) bodiless() bool { return w.isHead || !httpfield.AllowsBody(w.status) }

// trailer gives the fields that follow the body.
func (w *writer) trailer() (fields []hpack.HeaderField) {
	for name, values := range w.header {
		if name, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			fields = appendFields(fields, name, values)
		}
	}
	for _, name := range w.trailers {
		fields = appendFields(fields, name, w.header[name])
	}
	return fields
}

// can gives the reason why nothing more can be sent; nil: it can. The caller holds mu.
func (st *stream) can() error {
	switch {
	case st.gone != nil, st.lingers != nil:
		return st.failure()
	case st.c.broken != nil:
		return st.c.broken
	}
	return nil
}

// await waits until it is the stream's turn to send something, and until the client takes
// some of a body where it is one. The caller holds mu.
func (st *stream) await(isBody bool) error {
	c := st.c
	for {
		may := st.isTurn(isBody)
		if st.gone == nil && !may && past(st.writeUntil) {
			c.reset(st, codeInternal) // as net/http does: whoever waits for the upstream learns it by the context
		}
		err := st.can()
		if err != nil || may {
			st.leaveSenders()
			return err
		}
		if st.ofBody = isBody; isBody && st.window <= 0 {
			st.leaveSenders()
		} else if !st.waits {
			st.waits = true
			c.line(st)
		}
		c.wake()
		st.wait(&st.may, st.writeUntil)
	}
}

// line has a stream wait for its turn, with a header before all who have more of a body:
// those bodies may be long, and a client waits for headers first. The caller holds mu.
func (c *conn) line(st *stream) {
	at := len(c.senders)
	if !st.ofBody {
		at = 0
		for at < len(c.senders) && !c.senders[at].ofBody {
			at++
		}
	}
	c.senders = slices.Insert(c.senders, at, st)
}

func (st *stream) mayGoOn(isBody bool) bool {
	c := st.c
	return len(c.pending()) < highWater && (!isBody || st.window > 0 && c.window > 0)
}

// isTurn reports whether the stream may send and nobody is before it who may. The caller
// holds mu.
func (st *stream) isTurn(isBody bool) bool {
	if !st.mayGoOn(isBody) {
		return false
	}
	for _, other := range st.c.senders {
		if other == st || !isBody && other.ofBody {
			break
		}
		if other.mayGoOn(other.ofBody) {
			return false
		}
	}
	return true
}

// leaveSenders has the next one wait in the stream's place. The caller holds mu.
func (st *stream) leaveSenders() {
	if !st.waits {
		return
	}
	st.waits = false
	c := st.c
	c.senders = slices.DeleteFunc(c.senders, func(other *stream) bool { return other == st })
	c.wakeSender()
}

// wakeSender wakes the first of those who wait and may send. The caller holds mu.
func (c *conn) wakeSender() {
	for _, st := range c.senders {
		if st.mayGoOn(st.ofBody) {
			st.may.Broadcast()
			return
		}
	}
}

// dribble is what a client has to take of a body for the frame to be useful, where there
// is more.
const dribble = 1 << 10

// sendData sends a part of the body. The caller holds mu.
func (st *stream) sendData(p []byte, last bool) error {
	c := st.c
	for begun := false; len(p) > 0; begun = true {
		if !begun || st.can() != nil || !st.mayGoOn(true) { // else it is still its turn
			if err := st.await(true); err != nil {
				return err
			}
		}
		n := int(min(int64(len(p)), maxFrame, st.window, c.window))
		flags := uint8(0)
		if last && n == len(p) {
			flags = flagEndStream
		}
		c.frame(frameData, flags, st.id, p[:n]...)
		st.window -= int64(n)
		c.window -= int64(n)
		c.sent += int64(n)
		if p = p[n:]; len(p) == 0 || n >= dribble {
			c.useful()
		}
		if len(p) == 0 {
			return nil
		}
	}
	if !last {
		return nil
	}
	c.frame(frameData, flagEndStream, st.id)
	return nil
}

// known are names of fields in lower case, by the form in which net/http has them.
var known = func() map[string]string {
	t := map[string]string{}
	for _, name := range []string{
		"accept-ranges", "access-control-allow-credentials", "access-control-allow-headers", "access-control-allow-methods",
		"access-control-allow-origin", "access-control-expose-headers", "age", "allow", "alt-svc", "cache-control",
		"content-disposition", "content-encoding", "content-language", "content-length", "content-location", "content-range",
		"content-security-policy", "content-type", "cross-origin-opener-policy", "date", "etag", "expires", "grpc-encoding",
		"grpc-message", "grpc-status", "last-modified", "link", "location", "permissions-policy", "pragma", "referrer-policy",
		"retry-after", "server", "server-timing", "set-cookie", "strict-transport-security", "trailer", "vary", "via",
		"www-authenticate", "x-content-type-options", "x-frame-options", "x-powered-by", "x-request-id", "x-runtime",
		"x-xss-protection",
	} {
		t[http.CanonicalHeaderKey(name)] = name
	}
	return t
}()

// lowered is a name in lower case.
func lowered(name string) string {
	if l, ok := known[name]; ok {
		return l
	}
	return strings.ToLower(name)
}
