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

// holder is a ResponseWriter that buffers head and body until the response is whole
// or exceeds the bound. Until then the response can still be replaced, so a user
// does not see a candidate that breaks in the middle. A response above the bound, an
// event stream, and every response of a holder in pass-through mode stream as usual.
//
// It has no Unwrap on purpose: the request's body has already been read, so nobody may
// set read deadlines on the client's connection.
type holder struct {
	w    http.ResponseWriter
	copy bodycopy.Copy
	// stall bounds the writing of the buffered response; 0: the connection's bound holds.
	stall time.Duration
	// header is filled in by the forwarder until the head is written.
	header http.Header
	status int
	reason string

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

// giveUp discards a response of which nothing has been written. False: something has.
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
	if h.passes() {
		h.commit()
		h.w.WriteHeader(status)
		return
	}
	h.status = status
	if forward.IsStream(h.header) {
		_ = h.release() // the next Write meets the same error
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
func (h *holder) Write(p []byte) (int, error) {
	if !h.passes() {
		if h.copy.Hold(p) {
			return len(p), nil
		}
		if err := h.release(); err != nil {
			return 0, err
		}
	}
	return h.w.Write(p)
}

// Flush implements http.Flusher. The buffered part stays buffered.
func (h *holder) Flush() {
	if h.passes() {
		if f, ok := h.w.(http.Flusher); ok {
			f.Flush()
		}
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

// release writes the head and the buffered part of the body.
func (h *holder) release() error {
	if !h.commit() {
		return h.givenUp()
	}
	return h.emit()
}

func (h *holder) emit() error {
	h.bound()
	maps.Copy(h.w.Header(), h.header)
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
	if h.passes() {
		return
	}
	fields := maps.Clone(h.header)
	trailers := trailersOf(fields)
	h.header = fields
	h.settle()
	if h.emit() == nil {
		maps.Copy(h.w.Header(), trailers)
	}
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

func (h *holder) drop() { h.copy.Drop() }
