// Package forward passes a client's request to one upstream and the response back,
// piece by piece: heads, bodies, trailers, informational responses, upgrades. Memory is
// bounded whatever the length of a body. A response that breaks off never looks complete
// to the client, and each failure names the side at fault. The caller chooses the upstream
// and decides what else happens to the exchange.
package forward

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/bodycopy"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/upstream"
	"whittle/internal/conns"
	"whittle/internal/httpfield"
)

// errClientGone says that the client takes no more of the response.
var errClientGone = errors.New("the client takes no more of the response")

// Forwarder passes requests on. It is safe for concurrent use.
type Forwarder struct {
	// Of the limits those of bodies, buffers, stalls and upgraded connections hold.
	whittle.Limits
	// Buffers bounds what is held of bodies whose clients are slow, of all together.
	Buffers bodycopy.Budget

	upgrades conns.Set[*tunnel]
	lookout  lookout
}

// Close ends what is done next to passing requests on, and waits for it. Requests under
// way go on.
func (p *Forwarder) Close() { p.lookout.close() }

// Forward sends q to u and streams the response to w. It returns when both
// bodies have passed or cannot pass any further.
func (p *Forwarder) Forward(w http.ResponseWriter, q inbound.Request, u *upstream.Upstream, o Options) Result {
	f := forwarding{p: p, w: w, r: q, u: u, Options: o, res: Result{Side: o.Side}}
	if q.Length != 0 {
		f.body = inbound.NewBody(w, &f.r, p.BodyBytes, p.StallTimeout, o.Tap)
		defer f.body.Detach()
	}
	if q.Upgrade != "" {
		f.upgrade()
	} else {
		f.pass(f.send(false))
	}
	return f.res
}

// Respond is the second half of Forward, for a request that was sent to u at a time,
// with its response or what went wrong. Nothing of the request's body is left.
func (p *Forwarder) Respond(w http.ResponseWriter, q inbound.Request, u *upstream.Upstream, a *upstream.Response, err error, at time.Time) Result {
	f := forwarding{p: p, w: w, r: q, u: u, started: at}
	f.pass(a, err)
	return f.res
}

// forwarding is one call of Forward.
type forwarding struct {
	p *Forwarder
	w http.ResponseWriter
	r inbound.Request
	u *upstream.Upstream
	Options
	body    *inbound.Body // nil where the request has none
	started time.Time
	// away is the time since then that was spent waiting for the request's body.
	away time.Duration
	// wait counts the waits for the client to take the response.
	wait  upstream.Wait
	late  atomic.Bool // the response's connection was taken back
	spill spill
	// until is the deadline for writing to an HTTP/2 client, zero for none.
	until time.Time
	res   Result
}

// stop sets the latency when the last of the upstream's response has arrived.
func (f *forwarding) stop() {
	now := time.Now()
	f.res.Latency = now.Sub(f.started) - f.away - f.wait.Total(now)
}

// pass passes a response on, or says what went wrong.
func (f *forwarding) pass(a *upstream.Response, err error) {
	if err != nil {
		f.failed(err)
		return
	}
	defer a.Close()
	if a.Status == http.StatusSwitchingProtocols {
		f.failed(upstream.ErrMalformed) // nobody asked for it
		return
	}
	f.writeResponse(a)
}

// send sends the request and reads the response's head.
func (f *forwarding) send(upgrade bool) (*upstream.Response, error) {
	q := upstream.Request{In: &f.r, Body: f.body, Upgrade: upgrade}
	if f.Accept == nil && f.r.ProtoAtLeast(1, 1) {
		q.Inform = f.inform
	}
	if f.body != nil && f.r.ProtoMajor == 1 && !f.u.Short(&q) {
		// Without it net/http would swallow the rest of the body before the
		// first byte of an early response. Not every ResponseWriter has it.
		_ = http.NewResponseController(f.w).EnableFullDuplex()
	}
	f.started = time.Now()
	if f.holds(&q) {
		err := f.body.Hold(bodycopy.Queue{Limit: f.r.Length + 1, Budget: &f.p.Buffers}) // the end may come behind the last byte
		f.away = f.body.Waiting()
		if err != nil {
			return nil, err
		}
	}
	a, err := f.u.Send(f.r.Context(), &q)
	if f.body != nil {
		f.away = f.body.Waiting() // later waits are not part of the latency
	}
	return a, err
}

// holds reports whether a request's body is read before the upstream is turned to, so
// that a slow client holds no connection: where it is short enough. Who does not announce the length may wait
// for a response to what has been sent.
func (f *forwarding) holds(q *upstream.Request) bool {
	return f.body != nil && !f.r.Whole && f.r.Length > 0 && f.r.Length <= f.p.BufferBytes && !q.Upgrade &&
		!f.u.Short(q) && !strings.HasPrefix(f.r.Header.Get("Content-Type"), "application/grpc")
}

// inform passes an informational response on. It leaves the header as it is: what it has is
// the final response's, as that the connection ends with it.
func (f *forwarding) inform(status int, reason string, fields map[string][]string) {
	SetReason(f.w, reason)
	h := f.w.Header()
	final := maps.Clone(h)
	clear(h)
	for name, values := range fields {
		if !httpfield.HopByHop(name) {
			h[name] = values
		}
	}
	f.w.WriteHeader(status)
	clear(h) // they belong to this head only
	maps.Copy(h, final)
}

// writeResponse passes a response on, head, body and trailer.
func (f *forwarding) writeResponse(a *upstream.Response) {
	f.res.Status, f.res.Upstream = a.Status, a.Address()
	if f.Accept != nil && !f.Accept(a.Status) {
		f.res.Refused = true
		f.stop()
		return
	}
	if f.Head != nil {
		f.Head(a.Status)
	}
	if f.Tap != nil {
		f.Tap.ResponseHead(a.Status, a.Header())
	}
	h := f.w.Header()
	a.CopyHeader(h)
	if h["Content-Type"] == nil {
		h["Content-Type"] = nil // keeps net/http from guessing one
	}
	if h["Upgrade"] != nil {
		f.offer(h)
	}
	f.res.Streamed = IsStream(h)
	f.res.Wrote, f.res.Sent = true, a.Status
	f.bound()
	SetReason(f.w, a.Reason())
	f.w.WriteHeader(a.Status)
	if err := f.copyBody(a); err != nil { // the client must not take it for whole
		f.res.Failure, f.res.Detail, f.res.Abort = f.blame(err), err.Error(), true
		return
	}
	if f.Tap != nil {
		a.Close() // whatever the client takes, the upstream is done
		f.bound()
		End(f.w) // the user must not wait for what the tap's owner does next
	}
}

// offer names Upgrade in Connection, as RFC 9110, section 7.8, wants it.
func (f *forwarding) offer(h http.Header) {
	if f.r.Close || httpfield.HasToken(h["Connection"], "close") {
		h["Connection"] = []string{"Upgrade, close"}
	} else {
		h["Connection"] = []string{"Upgrade"}
	}
}

// SetReason sets the reason phrase of the response, where w, or what is below it, can
// send another one than the usual.
func SetReason(w http.ResponseWriter, reason string) {
	if reason == "" {
		return
	}
	if named, ok := under[interface{ SetReason(reason string) }](w); ok {
		named.SetReason(reason)
	}
}

// IsStream reports whether a response is, by its type, one that is never whole: its pieces
// are for the user one by one.
func IsStream(h http.Header) bool {
	kind := h.Get("Content-Type")
	return httpfield.IsMedia(kind, "text/event-stream") || httpfield.IsMedia(kind, "multipart/x-mixed-replace")
}

// copyBody forwards pieces as they come, by a spill. It flushes what it has written
// before it waits for more. The latency ends with the last piece and excludes waits for
// the client.
func (f *forwarding) copyBody(a *upstream.Response) error {
	s := &f.spill
	s.start(f, a)
	defer s.stop()
	announced := a.Announced() // when all is read, a's connection may be another request's
	if len(announced) > 0 {
		s.begin()
		f.flush() // the trailer needs a chunked response, settled at the first flush
		s.end()
	}
	// Where the body's length is known, the head waits for the first piece: a
	// client can do nothing with it alone, and both mostly arrive together.
	pending := a.Length < 0
	for first := true; ; first = false {
		if !s.ready() {
			if pending {
				s.begin()
				f.flush()
				s.end()
				pending = false
			}
			f.unbound()
		}
		p, end := s.next()
		if err := f.deliver(p, first && end != nil && len(p) <= buffered); err != nil {
			s.stop()
			f.stop()
			return err
		}
		if end != nil {
			if !errors.Is(end, io.EOF) {
				return end
			}
			f.trailer(s.trailer, announced)
			return nil
		}
		pending = pending || len(p) > 0
	}
}

// deliver gives a piece to the client, and has the upstream wait for it no longer than
// need be. atOnce says that the writer takes the piece without waiting.
func (f *forwarding) deliver(p []byte, atOnce bool) error {
	if len(p) == 0 {
		return nil
	}
	if atOnce {
		return f.writePiece(p)
	}
	f.spill.begin()
	defer f.spill.end()
	return f.writePiece(p)
}

// writePiece shows a piece to the tap and writes it to the client.
func (f *forwarding) writePiece(p []byte) error {
	if f.Tap != nil {
		f.Tap.ResponseBody(p)
	}
	f.bound()
	if _, err := f.w.Write(p); err != nil {
		return errClientGone
	}
	return nil
}

const (
	// readily is how long a client may take over a piece of a response before the rest
	// is read without it.
	readily = 10 * time.Millisecond
	// buffered is how much of a response every ResponseWriter takes at once.
	buffered = 2 << 10
)

// spill reads a response. As long as the client takes what is given to it, the pieces
// come from the upstream as they are, and are flushed before more is waited for. Where
// the client takes longer over one, a goroutine reads on into memory meanwhile, as far
// as the buffer's bound and the budget allow, and gives the upstream's connection back
// at the response's end. So no slow client holds a connection for a response that fits.
type spill struct {
	f *forwarding
	a *upstream.Response

	mu sync.Mutex // guards the following
	// looked says that the lookout has an eye on it.
	looked bool
	// changed is of what either goroutine waits for.
	changed sync.Cond
	// waiting says that the client is being waited for, from began on.
	waiting bool
	began   time.Time
	// reading says that the other goroutine reads a; done, that it does not any more,
	// and a is closed.
	reading, done bool
	stopped       bool // the response is given up
	// atEnd says that all of a has been read.
	atEnd   bool
	err     error // what a has ended with
	trailer http.Header
	queue   bodycopy.Queue
	// direct is a piece for which there was no room in the queue; given, that the
	// client's goroutine has it.
	direct []byte
	given  bool
	piece  *bodycopy.Piece // the last one that was given
	left   int64           // bytes of the budget for what a's reader left to the client's
}

func (s *spill) start(f *forwarding, a *upstream.Response) {
	s.f, s.a = f, a
	s.changed.L = &s.mu
	s.queue = bodycopy.Queue{Limit: f.p.BufferBytes, Budget: &f.p.Buffers}
}

// ready reports whether next will not wait.
func (s *spill) ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reading {
		return s.a.Ready()
	}
	return s.queue.Len() > 0 || s.direct != nil || s.done
}

// next gives the next piece, valid until the following call; the error io.EOF comes
// with the last piece or after it.
func (s *spill) next() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reading { // nobody else reads: mu need not be held while the upstream is waited for
		s.mu.Unlock()
		p, err := s.a.Next()
		s.mu.Lock()
		s.ended(err)
		return p, err
	}
	s.took()
	for s.queue.Len() == 0 && s.direct == nil && !s.done {
		s.changed.Wait()
	}
	switch s.piece = s.queue.Next(); {
	case s.piece != nil:
		return s.piece.Bytes(), nil
	case s.direct != nil:
		s.given = true
		return s.direct, nil
	}
	return nil, s.err
}

// ended takes note of the response's end, unless err is nil. The caller holds mu.
func (s *spill) ended(err error) {
	if err != nil {
		s.f.stop()
		s.atEnd, s.err, s.trailer = true, err, s.a.Trailer()
	}
}

// took takes back the memory of the last piece. The caller holds mu.
func (s *spill) took() {
	if s.left > 0 {
		s.queue.Budget.Give(s.left)
		s.left = 0
	}
	if s.given {
		s.direct, s.given = nil, false
	}
	if s.piece != nil {
		s.queue.Free(s.piece)
		s.piece = nil
	}
	s.changed.Broadcast()
}

// begin begins to wait for the client.
func (s *spill) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.f.wait.Begin(now)
	if s.reading {
		return
	}
	s.waiting, s.began = true, now
	s.a.LetRevoke(&s.f.wait, s.f.hurry)
	if !s.looked && s.queue.Budget.Limit > 0 {
		s.looked = true
		s.f.p.lookout.add(s)
	}
}

// end ends what begin began.
func (s *spill) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.f.wait.End(time.Now())
	s.waiting = false
}

// leaveLookout has the spill not be looked at. The caller holds mu.
func (s *spill) leaveLookout() {
	if s.looked {
		s.looked = false
		s.f.p.lookout.remove(s)
	}
}

// stop ends the reading, wherever it has come to.
func (s *spill) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaveLookout()
	s.stopped = true
	if s.reading && !s.done {
		s.a.Cut()
		s.changed.Broadcast()
		for !s.done {
			s.changed.Wait()
		}
	}
	s.took()
	s.queue.Drop()
}

// bound bounds the wait for an HTTP/2 client that gives no window for more. The
// deadline moves with what is written and flushed. (An HTTP/1.1 connection has its
// own moving deadline.)
func (f *forwarding) bound() {
	if f.r.ProtoMajor != 2 {
		return
	}
	now := time.Now()
	if f.until.Sub(now) >= f.p.StallTimeout {
		return
	}
	f.until = now.Add(f.p.StallTimeout + f.p.StallTimeout/4)
	_ = http.NewResponseController(f.w).SetWriteDeadline(f.until) // where there is none, nothing waits
	if f.late.Load() {
		f.hurry()
	}
}

// hurry ends the wait for a client that takes nothing.
func (f *forwarding) hurry() {
	f.late.Store(true)
	_ = http.NewResponseController(f.w).SetWriteDeadline(time.Unix(1, 0)) // as in bound
}

// unbound lifts the deadline during a wait for the upstream. Otherwise it would cut
// off a silent stream.
func (f *forwarding) unbound() {
	if !f.until.IsZero() {
		f.until = time.Time{}
		_ = http.NewResponseController(f.w).SetWriteDeadline(f.until) // as above
	}
}

func (f *forwarding) flush() {
	f.bound()
	if fl, ok := f.w.(http.Flusher); ok {
		fl.Flush()
		return
	}
	_ = http.NewResponseController(f.w).Flush() // a writer that cannot flush holds nothing back
}

// End sends what is left of a whole response, and its end where w, or what is below it, can
// do so before the handler returns.
func End(w http.ResponseWriter) {
	if ends, ok := under[interface{ End() }](w); ok {
		ends.End()
		return
	}
	_ = http.NewResponseController(w).Flush() // a writer that cannot flush holds nothing back
}

// trailer sends the fields that came after the body. The head announced some of them.
func (f *forwarding) trailer(t http.Header, announced []string) {
	if len(t) == 0 {
		return
	}
	h := f.w.Header()
	for name, values := range t {
		if !slices.Contains(announced, name) {
			name = http.TrailerPrefix + name
		}
		h[name] = values
	}
	if f.Tap != nil {
		f.Tap.ResponseTrailer(whittle.Header(t))
	}
}

// failed is the end of a request that has no response.
func (f *forwarding) failed(err error) {
	f.stop()
	f.res.Failure, f.res.Detail, f.res.Upstream = f.blame(err), err.Error(), f.u.Server()
	if f.Accept != nil && f.res.Failure != whittle.FailedCanceled {
		return
	}
	// net/http ends the context as well when the body's deadline has passed; the
	// client may still be there.
	if f.r.Context().Err() != nil && f.bodyErr() == nil {
		f.res.Abort = true // nobody is there to read it
		return
	}
	status := FailureStatus(f.res.Failure, f.bodyErr(), err)
	f.res.Sent, f.res.Wrote = status, true
	extra := Blamed(f.res.Side, f.res.Failure)
	if f.body != nil && !f.body.Ended() || f.r.Upgrade != "" {
		maps.Copy(extra, Closing(f.r.Request)) // what comes next was not checked for framing
	}
	WriteError(f.w, extra, status)
}

// blame names who is at fault: the client, where it has gone or its body broke,
// else the upstream.
func (f *forwarding) blame(err error) whittle.Failure {
	if f.r.Context().Err() != nil || f.bodyErr() != nil || errors.Is(err, errClientGone) || errors.Is(err, upstream.ErrTarget) {
		return whittle.FailedCanceled
	}
	return upstream.Classify(err)
}

func (f *forwarding) bodyErr() error {
	if f.body == nil {
		return nil
	}
	return f.body.Err()
}

// Result is what became of one forwarded request.
type Result struct {
	// Side is that of the upstream.
	Side whittle.Side
	// Status is what the upstream answered, 0 where it gave no head. What the
	// client got instead (502, 504, 413) is in Sent.
	Status int
	// Sent is the status that the client got; 0 where it got none.
	Sent    int
	Failure whittle.Failure
	// Detail explains the failure to an operator; never sent to a client.
	Detail string
	// Upstream is the address of the instance that responded, or that of the upstream
	// where none did.
	Upstream string
	// In and Out are the bytes that passed through an upgraded connection, from the
	// client and to it.
	In, Out int64
	// Latency is from turning to the upstream to the last byte read of it, without
	// the time in which the client was waited for: for the request's body, and to
	// take the response.
	Latency time.Duration
	// Wrote says that something of a final response has reached the
	// ResponseWriter: from then on nobody else can respond instead.
	Wrote bool
	// Refused says that Options.Accept discarded the response.
	Refused bool
	// Streamed says that the response was an upgrade or an event stream.
	Streamed bool
	// Abort says that a response begun cannot be ended truthfully, so that the
	// client's connection must be cut. Whoever serves hands it up; the handler
	// does the cutting after everything else has been accounted for.
	Abort bool
}

// Options says how a request is forwarded. The zero value passes every response
// on and turns every failure into a 502 or 504.
type Options struct {
	// Side is the upstream's.
	Side whittle.Side
	// Tap sees the exchange go by. Nil: nobody does.
	Tap Tap
	// Accept is asked once, with the status of a final response, before anything
	// of it is written. False discards the response (Result.Refused), so that
	// another upstream may be asked. With Accept set, a failure before the
	// head writes nothing to the client either, and informational responses are
	// not passed on.
	Accept func(status int) bool
	// Head gets the status of a final response that is not an upgrade, before anything of it
	// is written. Nil: nobody does.
	Head func(status int)
}

// Tap sees an exchange go by. RequestBody may run at the same time as the
// response's methods, and no method is called after Forward has returned. None
// may block, and no slice may be kept; the maps belong to the tap.
type Tap interface {
	inbound.Tap
	// ResponseHead gets the final status and the end-to-end header.
	ResponseHead(status int, h whittle.Header)
	// ResponseBody gets the response's body piece by piece, as it is read.
	ResponseBody(p []byte)
	// ResponseTrailer is called only where a trailer came.
	ResponseTrailer(h whittle.Header)
}

// under finds, in w or below it, a writer that can do what T says.
func under[T any](w http.ResponseWriter) (found T, ok bool) {
	for w != nil {
		if found, ok = w.(T); ok {
			return found, true
		}
		wraps, more := w.(interface{ Unwrap() http.ResponseWriter })
		if !more {
			break
		}
		w = wraps.Unwrap()
	}
	return found, false
}
