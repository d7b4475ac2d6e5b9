package listener

import (
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle/internal/http1"
	"whittle/internal/httpfield"
	"whittle/internal/lifetime"
)

// fastRequest is one request on the fast path, with all that belongs to it.
type fastRequest struct {
	http.Request
	c    *fastConn
	ctx  *lifetime.Context
	url  url.URL
	body fastBody
	w    fastWriter
}

// newFastRequest makes the request of the connection's head, and takes the head out of
// the buffer. It gives nil, and leaves all as it is, where the request is net/http's.
func newFastRequest(c *fastConn, ctx *lifetime.Context) *fastRequest {
	h := &c.in.head
	x := &fastRequest{c: c, ctx: ctx}
	raw := h.Raw()
	if !setURL(&x.url, string(h.Target())) {
		return nil
	}
	x.fields(h, string(raw))
	c.from += len(raw)
	x.URL, x.Proto, x.ProtoMajor, x.ProtoMinor = &x.url, "HTTP/1.1", 1, 1
	x.RemoteAddr, x.TLS, x.Close = c.remote, c.tls, h.Closes()
	f := h.Framing()
	x.ContentLength, x.Body = f.Length, http.NoBody
	if f.Kind == http1.Chunked {
		x.ContentLength, x.TransferEncoding = -1, chunkedCoding
	}
	if x.ContentLength != 0 {
		x.body.c, x.Body = c, &x.body
		x.body.framed.Begin(f)
	}
	x.w.begin(c, x.Method == http.MethodHead, x.Close)
	x.Request = *x.WithContext(ctx)
	return x
}

// everyday reports whether a head is one for the fast path.
func everyday(h *http1.RequestHead) bool {
	return !h.HTTP10() && h.Form() == http1.Origin && !h.Upgrades() && !has(h, "expect") && !has(h, "trailer")
}

var chunkedCoding = []string{"chunked"}

func has(h *http1.RequestHead, name string) bool {
	_, ok := h.Value(name)
	return ok
}

// fields fills in the parts of the head, which are parts of text.
func (x *fastRequest) fields(h *http1.RequestHead, text string) {
	at := strings.IndexByte(text, ' ')
	x.Method = strings.TrimPrefix(text[:at], "\r\n")
	x.RequestURI = text[at+1:][:len(h.Target())]
	x.Header = make(http.Header, h.Len())
	values := make([]string, h.Len()) // one piece of memory for all
	for i := range values {
		name, value := h.In(text, i)
		name = textproto.CanonicalMIMEHeaderKey(name)
		switch name {
		case "Host":
			x.Host = value
			continue
		case "Transfer-Encoding":
			continue // net/http takes it out as well
		}
		if had := x.Header[name]; had != nil {
			x.Header[name] = append(had, value)
			continue
		}
		values[i] = value
		x.Header[name] = values[i : i+1 : i+1]
	}
}

// setURL reads a target as net/http does. False: it refuses it.
func setURL(u *url.URL, target string) bool {
	path, query, asked := strings.Cut(target, "?")
	if !isPlain(path) {
		full, err := url.ParseRequestURI(target)
		if err != nil {
			return false
		}
		*u = *full
		return true
	}
	u.Path, u.RawQuery, u.ForceQuery = path, query, asked && query == ""
	return true
}

// isPlain reports whether a path means what it says: no byte of it is, or would have
// to be, escaped.
func isPlain[P string | []byte](path P) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '/', c == '-', c == '_', c == '.', c == '~':
		default:
			return false
		}
	}
	return true
}

// fastBody is a request's body. One goroutine at a time reads it.
type fastBody struct {
	c      *fastConn
	framed http1.Body
	piece  []byte // content that has been found in the buffer
	err    error
}

// ended reports whether all of the body has been returned, so that what follows in the
// buffer is the next request.
func (b *fastBody) ended() bool { return len(b.piece) == 0 && b.framed.Done() && b.err == nil }

// Close implements io.Closer.
func (b *fastBody) Close() error { return nil }

// Read implements io.Reader. The end comes with the last bytes wherever it is known
// by then.
func (b *fastBody) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if err := b.advance(); err != nil {
			return 0, err
		}
		if len(b.piece) > 0 {
			n = copy(p, b.piece)
			b.piece = b.piece[n:]
			if b.advance() == nil && b.ended() { // an error is for the next read
				err = b.end()
			}
			return n, err
		}
		if b.framed.Done() {
			return 0, b.end()
		}
		if b.c.from == b.c.to && b.framed.Rest() > 0 {
			return b.direct(p)
		}
		if err := b.c.readMore(); err != nil {
			return 0, b.fail(err)
		}
	}
}

// advance finds the next content in what has been read.
func (b *fastBody) advance() error {
	c := b.c
	for b.err == nil && len(b.piece) == 0 && c.from < c.to && !b.framed.Done() {
		piece, n, err := b.framed.Next(c.in.bytes[c.from:c.to])
		c.from += n
		switch {
		case err != nil:
			c.l.s.malformed.Add(1)
			c.over.Store(true)
			b.err = errFraming
		case n == 0 && c.to-c.from == fastBuffer:
			c.over.Store(true)
			b.err = errFraming // a trailer that is longer than a head may be
		case n == 0:
			return nil
		}
		b.piece = piece
	}
	return b.err
}

// direct reads content to where it is wanted.
func (b *fastBody) direct(p []byte) (int, error) {
	n, err := b.c.reads.read(p[:min(int64(len(p)), b.framed.Rest())])
	if n == 0 {
		if err == nil {
			err = io.ErrNoProgress
		}
		return 0, b.fail(err)
	}
	if _, _, err := b.framed.Next(p[:n]); err != nil {
		b.err = err
		return 0, err
	}
	if b.ended() {
		return n, b.end()
	}
	return n, nil
}

func (b *fastBody) fail(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	b.err = err
	b.c.over.Store(true)
	return err
}

// end is the end of the body. A client that went while it was being read is gone now.
func (b *fastBody) end() error {
	if c := b.c; c.gone.Load() && c.from == c.to && c.ended() {
		if ctx := c.now.Load(); ctx != nil {
			ctx.Cancel()
		}
	}
	return io.EOF
}

// fastHeld is how much of a body of unknown length is held back, so that a short one
// gets its length: as much as net/http holds.
const fastHeld = 2 << 10

// fastOut are for responses being put together.
var fastOut = sync.Pool{New: func() any {
	b := make([]byte, 0, fastBuffer)
	return &b
}}

// fastWriter is the http.ResponseWriter of a request on the fast path, and does as that of
// net/http. A response that is at hand in whole is sent in one piece when the handler
// returns.
type fastWriter struct {
	c      *fastConn
	header http.Header
	out    *[]byte // what has not been sent; nil: nothing
	held   []byte  // of a body whose framing is not settled

	status   int    // the final response's; 0: none yet
	reason   string // its phrase, where it is not the usual one
	length   int64  // as announced; -1: not
	written  int64
	trailers []string // announced
	isHead   bool
	// bodiless says that the response has no body; open, that its framing is not
	// settled; chunked, that it is chunked.
	bodiless, open, chunked bool
	closes                  bool // no request is read after this response
	ended                   bool // the handler has, or has called End
	err                     error
}

func (w *fastWriter) begin(c *fastConn, isHead, closes bool) {
	w.c, w.header, w.isHead, w.closes, w.length = c, make(http.Header, 8), isHead, closes, -1
}

// Header implements http.ResponseWriter.
func (w *fastWriter) Header() http.Header { return w.header }

// SetReadDeadline is for http.ResponseController.
func (w *fastWriter) SetReadDeadline(t time.Time) error { return w.c.reads.SetReadDeadline(t) }

// SetWriteDeadline is for http.ResponseController.
func (w *fastWriter) SetWriteDeadline(t time.Time) error { return w.c.net.SetWriteDeadline(t) }

// EnableFullDuplex is for http.ResponseController: the fast path is never anything else.
func (w *fastWriter) EnableFullDuplex() error { return nil }

// WriteHeader implements http.ResponseWriter.
func (w *fastWriter) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.take()
	if status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		w.statusLine(status, w.reason)
		w.reason = ""
		w.fields(true)
		*w.out = http1.EndHead(*w.out)
		_ = w.send(nil) // the next one meets the same error
		return
	}
	w.status = status
	w.bodiless = w.isHead || !httpfield.AllowsBody(status)
	w.statusLine(status, w.reason)
	w.announced()
	w.fields(false)
	if _, ok := w.header["Date"]; !ok {
		*w.out = w.c.l.dateLine(*w.out)
	}
	switch {
	case w.bodiless, w.length >= 0:
		*w.out = http1.EndHead(*w.out)
	default:
		w.open = true
	}
}

// SetReason sets the next head's reason phrase, which net/http's writers do not know.
// A text that cannot be a reason phrase is left out.
func (w *fastWriter) SetReason(reason string) { w.reason = reason }

func (w *fastWriter) statusLine(status int, reason string) {
	if reason == "" {
		reason = http.StatusText(status)
	}
	if reason == "" {
		reason = "status code " + strconv.Itoa(status)
	}
	b, ok := http1.AppendStatusLine(*w.out, status, reason)
	if !ok {
		b, _ = http1.AppendStatusLine(*w.out, status, "") // the status may be none either
	}
	*w.out = b
}

// announced reads what the header says of the framing.
func (w *fastWriter) announced() {
	if lines := w.header["Content-Length"]; len(lines) > 0 {
		n, err := strconv.ParseInt(textproto.TrimString(lines[0]), 10, 64)
		if err == nil && n >= 0 {
			w.length = n
		}
	}
	w.trailers = httpfield.Names(w.header["Trailer"]...)
	if httpfield.HasToken(w.header["Connection"], "close") || w.c.l.s.Draining() {
		w.closes = true
	}
}

// fields writes the header's fields but for those that do not belong here.
func (w *fastWriter) fields(informational bool) {
	for name, values := range w.header {
		switch {
		case name == "Transfer-Encoding", strings.HasPrefix(name, http.TrailerPrefix):
			continue
		case informational:
		case name == "Content-Length" && (w.length < 0 || !httpfield.AllowsBody(w.status)),
			name == "Content-Type" && w.status == http.StatusNotModified,
			name == "Connection" && w.closes:
			continue
		}
		for i, value := range values {
			if name == "Content-Length" && i > 0 {
				break
			}
			w.field(name, value)
		}
	}
	switch {
	case !w.closes, informational:
	case len(w.header["Upgrade"]) > 0:
		*w.out = append(*w.out, "Connection: Upgrade, close\r\n"...)
	default:
		*w.out = append(*w.out, "Connection: close\r\n"...)
	}
}

var spaced = strings.NewReplacer("\n", " ", "\r", " ")

func (w *fastWriter) field(name, value string) {
	var ok bool
	if *w.out, ok = http1.AppendField(*w.out, name, value); !ok {
		*w.out, _ = http1.AppendField(*w.out, name, textproto.TrimString(spaced.Replace(value))) // else it cannot be sent
	}
}

// Write implements http.ResponseWriter.
func (w *fastWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case len(p) == 0:
		return 0, w.err
	case !httpfield.AllowsBody(w.status):
		return 0, http.ErrBodyNotAllowed
	}
	w.written += int64(len(p))
	if w.length >= 0 && w.written > w.length {
		w.written -= int64(len(p))
		return 0, http.ErrContentLength
	}
	if w.isHead {
		return len(p), w.err
	}
	if w.open {
		if len(w.held)+len(p) <= fastHeld {
			w.held = append(w.held, p...)
			return len(p), w.err
		}
		w.settle(-1)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), w.piece(p)
}

// settle ends the head of a response whose framing was open; length is that of the
// whole body, -1 where it is not known.
func (w *fastWriter) settle(length int64) {
	w.open = false
	if _, ok := w.header["Content-Type"]; !ok && len(w.held) > 0 && len(w.header["Content-Encoding"]) == 0 {
		w.field("Content-Type", http.DetectContentType(w.held))
	}
	if length >= 0 {
		*w.out = http1.AppendContentLength(*w.out, length)
	} else {
		w.chunked = true
		*w.out = http1.AppendChunked(*w.out)
	}
	*w.out = http1.EndHead(*w.out)
	held := w.held
	w.held = nil
	if len(held) > 0 {
		_ = w.piece(held) // the next one meets the same error
	}
}

// piece sends a piece of the body, or keeps it where there is room.
func (w *fastWriter) piece(p []byte) error {
	const framing = 20
	w.take()
	if len(*w.out)+len(p)+framing > cap(*w.out) && len(*w.out) > 0 && len(p) < fastBuffer/2 {
		if err := w.send(nil); err != nil {
			return err
		}
		w.take()
	}
	fits := len(*w.out)+len(p)+framing <= cap(*w.out)
	switch {
	case w.chunked && fits:
		*w.out = http1.AppendChunk(*w.out, p)
	case fits:
		*w.out = append(*w.out, p...)
	case w.chunked:
		*w.out = http1.AppendChunkSize(*w.out, len(p))
		if err := w.send(p); err != nil {
			return err
		}
		w.take()
		*w.out = append(*w.out, "\r\n"...)
	default:
		return w.send(p)
	}
	return nil
}

// take has something to put a response together in.
func (w *fastWriter) take() {
	if w.out == nil {
		w.out = fastOut.Get().(*[]byte)
	}
}

// send sends what has been put together, and more behind it.
func (w *fastWriter) send(more []byte) error {
	if w.out != nil {
		if len(*w.out) > 0 && w.err == nil {
			_, w.err = w.c.net.Write(*w.out)
		}
		if cap(*w.out) <= 4*fastBuffer {
			*w.out = (*w.out)[:0]
			fastOut.Put(w.out)
		}
		w.out = nil
	}
	if len(more) > 0 && w.err == nil {
		_, w.err = w.c.net.Write(more)
	}
	return w.err
}

// Flush implements http.Flusher.
func (w *fastWriter) Flush() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.open {
		w.settle(-1)
	}
	_ = w.send(nil) // the next write meets the same error
}

// errShort says that the handler wrote less than it announced.
var errShort = errors.New("the response is shorter than announced")

// End ends the response while the handler goes on: the handler writes nothing more.
func (w *fastWriter) End() { w.finish() }

// finish ends the response, and reports whether another request may follow.
func (w *fastWriter) finish() bool {
	if w.ended {
		return w.err == nil
	}
	w.ended = true
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.open {
		if w.trailing() {
			w.settle(-1)
		} else {
			w.settle(int64(len(w.held)))
		}
	}
	switch {
	case w.bodiless:
	case w.chunked:
		w.lastChunk()
	case w.length >= 0 && w.written != w.length:
		_ = w.send(nil) // it is cut off either way
		w.err = errShort
	}
	if w.c.over.Load() {
		w.closes = true
	}
	return w.send(nil) == nil
}

// trailing reports whether fields are to follow the body.
func (w *fastWriter) trailing() bool {
	if len(w.trailers) > 0 {
		return true
	}
	for name := range w.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

func (w *fastWriter) lastChunk() {
	w.take()
	*w.out = http1.AppendLastChunk(*w.out)
	for name, values := range w.header {
		if name, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			for _, value := range values {
				w.field(name, value)
			}
		}
	}
	for _, name := range w.trailers {
		for _, value := range w.header[name] {
			w.field(name, value)
		}
	}
	*w.out = http1.EndHead(*w.out)
}
