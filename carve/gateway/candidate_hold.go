package gateway

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/carve/gateway/bodycopy"
	"whittle/carve/gateway/forward"
	"whittle/internal/httpfield"
)

// streamAfter is when a response that does not say its length, and is not whole, streams:
// its pieces may be meant for the user one by one.
const streamAfter = 500 * time.Millisecond

// holder is a ResponseWriter that buffers head and body until the response is whole,
// exceeds the bound, or turns out to be a stream. Until then the response can still be
// replaced, so a user does not see a candidate that breaks in the middle. A response above
// the bound, a stream, and every response of a holder in pass-through mode stream as usual.
//
// It has no Unwrap on purpose: the request's body has already been read, so nobody may
// set read deadlines on the client's connection.
type holder struct {
	w    http.ResponseWriter
	copy bodycopy.Copy
	// stall bounds the writing of the buffered response; 0: the connection's bound holds.
	stall time.Duration
	// flows is called once, when the response turns out to be a stream and its first bytes
	// have come. Nil: it is not called.
	flows func()
	// header is filled in by the forwarder until the head is written, and by a trailer.
	header http.Header
	reason string

	turn sync.Mutex // guards the following, and whoever writes to w
	// head is the header as it was when the head was written.
	head   http.Header
	status int
	timer  *time.Timer // when the response is to stream; nil: never
	due    bool        // it is to stream as soon as something of it comes
	came   bool        // something of its body has
	ended  bool        // nothing more is written by timer

	mu sync.Mutex // guards the following
	// through says that writes go to w at once.
	through bool
	why     error // why it was given up, after which every write fails; nil: it was not
	began   bool  // something has been written to w
}

func (h *holder) passes() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.through
}

// committed reports whether the user has got something of the response.
func (h *holder) committed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.began
}

// giveUp discards a response if no byte of it has been written. False: some have.
func (h *holder) giveUp(why error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.through {
		return false
	}
	h.why = why
	return true
}

// givenUp is the reason why the response was given up; nil: it was not.
func (h *holder) givenUp() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.why
}

// commit writes through from now on. False: the response has been given up.
func (h *holder) commit() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.why == nil {
		h.through, h.began = true, true
	}
	return h.why == nil
}

// Header implements http.ResponseWriter.
func (h *holder) Header() http.Header {
	if h.passes() {
		return h.w.Header()
	}
	if h.header == nil {
		h.header = http.Header{}
	}
	return h.header
}

// WriteHeader implements http.ResponseWriter.
func (h *holder) WriteHeader(status int) {
	h.turn.Lock()
	defer h.turn.Unlock()
	h.status, h.head = status, maps.Clone(h.header)
	if h.passes() {
		h.head = h.w.Header()
		h.commit()
		h.w.WriteHeader(status)
	}
	switch {
	case forward.IsStream(h.head):
		h.came = true  // the head is what a stream's user waits for
		_ = h.stream() // the next Write meets the same error
	case h.flows != nil && h.head["Content-Length"] == nil && httpfield.AllowsBody(status):
		h.timer = time.AfterFunc(streamAfter, func() {
			h.turn.Lock()
			defer h.turn.Unlock()
			if !h.ended {
				_ = h.stream() // as above
			}
		})
	}
}

// stream has the response stream from now on, or from when something of it comes. The
// caller has the turn.
func (h *holder) stream() error {
	if h.due = !h.came; h.due {
		return nil
	}
	if !h.passes() {
		if err := h.release(); err != nil {
			return err
		}
		h.flush()
	}
	if h.flows != nil {
		h.flows()
	}
	return nil
}

// settled says that nothing more comes: what is held can be replaced, or finished.
func (h *holder) settled() {
	h.turn.Lock()
	defer h.turn.Unlock()
	h.ended = true
	if h.timer != nil {
		h.timer.Stop()
	}
}

// SetReason is for forward.SetReason.
func (h *holder) SetReason(reason string) {
	if h.passes() {
		forward.SetReason(h.w, reason)
		return
	}
	h.reason = reason
}

// Write implements http.ResponseWriter.
func (h *holder) Write(p []byte) (n int, err error) {
	h.turn.Lock()
	defer h.turn.Unlock()
	h.came = h.came || len(p) > 0
	switch {
	case h.passes():
		n, err = h.w.Write(p)
	case h.copy.Hold(p):
		n = len(p)
	default:
		if err = h.release(); err == nil {
			n, err = h.w.Write(p)
		}
	}
	if h.due && h.came && err == nil {
		err = h.stream()
	}
	return n, err
}

// Flush implements http.Flusher. The buffered part stays buffered.
func (h *holder) Flush() {
	h.turn.Lock()
	defer h.turn.Unlock()
	if h.passes() {
		h.flush()
	}
}

func (h *holder) flush() {
	if f, ok := h.w.(http.Flusher); ok {
		f.Flush()
	}
}

// SetWriteDeadline is for http.ResponseController, so that a streaming response has
// its usual deadline.
func (h *holder) SetWriteDeadline(t time.Time) error {
	if !h.passes() {
		return nil // nothing is being written
	}
	return http.NewResponseController(h.w).SetWriteDeadline(t)
}

// release writes the head and the buffered part of the body. The caller has the turn.
func (h *holder) release() error {
	if !h.commit() {
		return h.givenUp()
	}
	return h.emit()
}

func (h *holder) emit() error {
	h.bound()
	maps.Copy(h.w.Header(), h.head)
	forward.SetReason(h.w, h.reason)
	h.w.WriteHeader(h.status)
	return h.copy.WriteOut(h.w)
}

// settle writes through even if the response was given up, because a whole response
// needs no fallback.
func (h *holder) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.why, h.through, h.began = nil, true, true
}

// bound sets the deadline for a stalled client. A wait for the upstream lifts it.
func (h *holder) bound() {
	if h.stall > 0 {
		_ = http.NewResponseController(h.w).SetWriteDeadline(time.Now().Add(h.stall)) // where there is none, nothing waits
	}
}

// finish writes a response that is whole, with its trailer.
func (h *holder) finish() {
	h.turn.Lock()
	defer h.turn.Unlock()
	fields := maps.Clone(h.header)
	trailers := trailersOf(fields)
	if !h.passes() {
		h.head = fields
		h.settle()
		if h.emit() != nil {
			return
		}
	}
	maps.Copy(h.w.Header(), trailers)
}

// trailersOf removes the trailer's fields from a header. Otherwise they would be sent
// with the head.
func trailersOf(h http.Header) http.Header {
	t := http.Header{}
	for name, values := range h {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			t[name] = values
			delete(h, name)
		}
	}
	for _, name := range httpfield.Names(h["Trailer"]...) {
		if values, ok := h[name]; ok {
			t[name] = values
			delete(h, name)
		}
	}
	return t
}

// hold writes a response that is already whole in memory.
func (h *holder) hold(a *whittle.Response) {
	h.settle()
	h.bound()
	maps.Copy(h.w.Header(), a.Header)
	h.w.WriteHeader(a.Status)
	_, _ = h.w.Write(a.Body) // the user may have gone; the response was good all the same
}

func (h *holder) drop() {
	h.settled()
	h.copy.Drop()
}
