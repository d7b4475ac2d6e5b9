package listener

import (
	"errors"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle/internal/http1"
	"whittle/internal/httpfield"
)

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
// What is none is left out.
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
	if httpfield.HasToken(w.header["Connection"], "close") {
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
