package gateway

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strconv"
	"sync"
	"time"

	"whittle"
	"whittle/carve/gateway/listener"
	"whittle/internal/httpfield"
)

// forward sends r to u and streams the response to w. It returns when both
// bodies have passed or cannot pass any further.
func (g *Gateway) forward(w http.ResponseWriter, r *http.Request, u *upstream, p forwardOptions) result {
	f := forwarder{g: g, w: w, r: r, u: u, forwardOptions: p}
	if r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 {
		f.body = &inBody{conn: listener.ConnOf(r), rc: r.Body, w: w, left: g.opts.Limits.BodyBytes, stall: g.opts.Limits.StallTimeout, tap: p.tap}
		defer f.body.detach()
	}
	if kind := listener.UpgradeOf(r); kind != "" {
		f.upgrade(kind)
	} else {
		f.plain()
	}
	return f.res
}

// forwarder is one call of forward.
type forwarder struct {
	g *Gateway
	w http.ResponseWriter
	r *http.Request
	u *upstream
	forwardOptions
	body    *inBody // nil where the request has none
	started time.Time
	// away is for how long since then it was the client that was waited for.
	away time.Duration
	res  result
}

// stop takes the latency, at the last that is heard of the upstream.
func (f *forwarder) stop() { f.res.latency = time.Since(f.started) - f.away }

func (f *forwarder) plain() {
	f.started = time.Now()
	a, err := f.ask()
	if err != nil {
		f.failed(err)
		return
	}
	defer a.close()
	if a.status == http.StatusSwitchingProtocols {
		f.failed(errMalformed) // nobody asked for it
		return
	}
	f.writeResponse(a)
}

// ask sends the request and reads the response's head.
func (f *forwarder) ask() (*upstreamResponse, error) {
	if f.u.pool != nil && lean(f.r) {
		return f.askLean()
	}
	if f.body == nil && replayable(f.r) {
		return f.askTransport(f.u.transport, nil)
	}
	return f.askTransport(f.u.once, nil)
}

// lean reports whether the pool's own client can send a request: no body or a
// short one of known length, and nothing that must be negotiated.
func lean(r *http.Request) bool {
	h := r.Header
	return r.ContentLength >= 0 && r.ContentLength <= maxLeanBody &&
		h["Expect"] == nil && h["Trailer"] == nil && len(r.Trailer) == 0
}

// askTransport goes through net/http. Extra fields are added to the header.
func (f *forwarder) askTransport(t *http.Transport, extra http.Header) (*upstreamResponse, error) {
	target := f.u.target(f.r.RequestURI)
	if !httpfield.IsTarget(target) {
		return nil, errTarget
	}
	header := http.Header(f.g.outbound(f.r))
	for name, values := range extra {
		header[name] = values
	}
	if header["User-Agent"] == nil {
		header["User-Agent"] = nil // keeps net/http from putting in its own
	}
	out := &http.Request{
		Method: f.r.Method, URL: f.u.url(target), Host: f.r.Host, Header: header, Trailer: f.r.Trailer,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: f.r.ContentLength,
	}
	if f.u.host != "" {
		out.Host = f.u.host
	}
	if f.body != nil {
		out.Body = f.body
		if f.r.ProtoMajor == 1 {
			// Without it net/http would swallow the rest of the body before the
			// first byte of an early response. Not every ResponseWriter has it.
			_ = http.NewResponseController(f.w).EnableFullDuplex()
		}
	}
	hints := &informer{w: f.w, muted: f.accept != nil || !f.r.ProtoAtLeast(1, 1)}
	ctx := httptrace.WithClientTrace(f.r.Context(), &httptrace.ClientTrace{Got1xxResponse: hints.relay})
	resp, err := t.RoundTrip(out.WithContext(ctx)) //nolint:bodyclose // reply.close does
	hints.mute()
	if f.body != nil {
		f.away = f.body.waiting() // what comes later is not the response
	}
	if err != nil {
		return nil, err
	}
	return newUpstreamResponse(resp), nil
}

// informer passes informational responses on until the final one has come.
type informer struct {
	mu    sync.Mutex
	w     http.ResponseWriter // guarded by mu, together with muted
	muted bool
}

// relay is called by net/http's reading goroutine. A 100 is left out: reading
// the client's body is what makes the server send one.
func (i *informer) relay(code int, h textproto.MIMEHeader) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.muted && code != http.StatusContinue {
		writeInformational(i.w, code, h)
	}
	return nil
}

func (i *informer) mute() {
	i.mu.Lock()
	i.muted = true
	i.mu.Unlock()
}

func writeInformational(w http.ResponseWriter, code int, fields map[string][]string) {
	h := w.Header()
	for name, values := range fields {
		if !httpfield.HopByHop(name) {
			h[name] = values
		}
	}
	w.WriteHeader(code)
	clear(h) // they belong to this head only
}

// writeResponse passes a response on, head, body and trailer.
func (f *forwarder) writeResponse(a *upstreamResponse) {
	f.res.status = a.status
	if f.accept != nil && !f.accept(a.status, a.head()) {
		f.res.refused = true
		f.stop()
		return
	}
	if f.tap != nil {
		f.tap.responseHead(a.status, a.head())
	}
	h := f.w.Header()
	a.copyHead(h)
	if h["Content-Type"] == nil {
		h["Content-Type"] = nil // keeps net/http from guessing one
	}
	f.res.streamed = isStream(h)
	f.res.wrote, f.res.sent = true, a.status
	f.w.WriteHeader(a.status)
	if err := f.copyBody(a); err != nil {
		f.broke(err)
		return
	}
	f.trailer(a)
	if f.tap != nil {
		f.flush() // what the tap's owner does next is not the user's to wait for
	}
}

func isStream(h http.Header) bool {
	const eventStream = "text/event-stream"
	ct := h.Get("Content-Type")
	return len(ct) >= len(eventStream) && ct[:len(eventStream)] == eventStream
}

// copyBody passes pieces on as they come: whatever has been written is flushed
// before waiting for more. It stops the clock with the last of them, and keeps
// what the client takes for the others out of it.
func (f *forwarder) copyBody(a *upstreamResponse) error {
	if len(a.announced()) > 0 {
		f.flush() // the trailer needs a chunked response, settled at the first flush
	}
	// A head without any of its body is held back where the body's length is
	// known: nobody acts on it, and the two mostly come together.
	pending := a.length < 0
	for {
		if pending && !a.body.ready() {
			at := time.Now()
			f.flush()
			f.away += time.Since(at)
			pending = false
		}
		p, err := a.body.next()
		if err != nil {
			f.stop()
			return cmp.Or(f.writePiece(p), ended(err))
		}
		at := time.Now()
		err = f.writePiece(p)
		f.away += time.Since(at)
		if err != nil {
			f.stop()
			return err
		}
		pending = pending || len(p) > 0
	}
}

// writePiece shows a piece to the tap and gives it to the client.
func (f *forwarder) writePiece(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if f.tap != nil {
		f.tap.responseBody(p)
	}
	return f.write(p)
}

// write bounds the wait for an HTTP/2 client that gives no window for more. An
// HTTP/1.1 connection has its own moving deadline (see client); one for a
// stream must not outlive the write, since it would cut a stream that is quiet.
func (f *forwarder) write(p []byte) error {
	if f.r.ProtoMajor == 2 {
		rc := http.NewResponseController(f.w)
		_ = rc.SetWriteDeadline(time.Now().Add(f.g.opts.Limits.StallTimeout)) // where there is none, nothing waits
		defer rc.SetWriteDeadline(time.Time{})                                //nolint:errcheck // as above
	}
	if _, err := f.w.Write(p); err != nil {
		return errClientGone
	}
	return nil
}

func (f *forwarder) flush() {
	if fl, ok := f.w.(http.Flusher); ok {
		fl.Flush()
		return
	}
	_ = http.NewResponseController(f.w).Flush() // a writer that cannot flush holds nothing back
}

func (f *forwarder) trailer(a *upstreamResponse) {
	t := a.trailer()
	if len(t) == 0 {
		return
	}
	announced := a.announced()
	h := f.w.Header()
	for name, values := range t {
		if !slices.Contains(announced, name) {
			name = http.TrailerPrefix + name
		}
		h[name] = values
	}
	if f.tap != nil {
		f.tap.responseTrailer(whittle.Header(t))
	}
}

// failed is the end of a request that has no response.
func (f *forwarder) failed(err error) {
	f.stop()
	f.res.failure, f.res.detail = f.blame(err), err.Error()
	if f.accept != nil && f.res.failure != whittle.FailedCanceled {
		return
	}
	// net/http ends the context as well when the body's deadline has passed; the
	// client may still be there to be told.
	if f.r.Context().Err() != nil && f.bodyErr() == nil {
		f.res.abort = true // nobody is there to read it
		return
	}
	status := failureStatus(f.res.failure, f.bodyErr(), err)
	f.res.sent, f.res.wrote = status, true
	if f.body != nil && !f.body.ended() || listener.UpgradeOf(f.r) != "" {
		writeErrorHeader(f.w, closing, status) // what comes next was not checked for framing
		return
	}
	writeError(f.w, status)
}

// broke is the end of a response that was begun: the client must not take it for
// whole.
func (f *forwarder) broke(err error) {
	f.res.failure, f.res.detail = f.blame(err), err.Error()
	f.res.abort = true
}

// blame names who is at fault: the client, where it has gone or its body broke,
// else the upstream.
func (f *forwarder) blame(err error) whittle.Failure {
	if f.r.Context().Err() != nil || f.bodyErr() != nil || errors.Is(err, errClientGone) || errors.Is(err, errTarget) {
		return whittle.FailedCanceled
	}
	return classify(err)
}

func (f *forwarder) bodyErr() error {
	if f.body == nil {
		return nil
	}
	return f.body.failure()
}

// writeError answers in whittle's own name: short, and without the cause.
func writeError(w http.ResponseWriter, status int) { writeErrorHeader(w, nil, status) }

// closing ends an HTTP/1.1 connection after the response.
var closing = http.Header{"Connection": {"close"}}

func writeErrorHeader(w http.ResponseWriter, extra http.Header, status int) {
	writeErrorText(w, extra, status, http.StatusText(status)+"\n")
}

func writeErrorText(w http.ResponseWriter, extra http.Header, status int, text string) {
	h := w.Header()
	clear(h)
	maps.Copy(h, extra)
	h["Content-Type"] = []string{"text/plain; charset=utf-8"}
	h["Content-Length"] = []string{strconv.Itoa(len(text))}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text)) // the client may have gone; there is nobody left to tell
}

// refused answers what is not passed on at all.
func refused(w http.ResponseWriter, r *http.Request, l Limits, res *result) bool {
	var status int
	switch {
	case r.Method == http.MethodConnect:
		status = http.StatusNotImplemented // this is no forward proxy
	case l.BodyBytes >= 0 && r.ContentLength > l.BodyBytes:
		status = http.StatusRequestEntityTooLarge
	default:
		return false
	}
	refuse(w, r, status, http.StatusText(status)+"\n", res)
	return true
}
