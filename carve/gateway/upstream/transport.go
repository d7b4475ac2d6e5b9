package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/carve/gateway/inbound"
	"whittle/internal/http1"
	"whittle/internal/httpfield"
)

// sendTransport goes through net/http.
func (u *Upstream) sendTransport(ctx context.Context, by way, q *Request) (*Response, error) {
	header := http.Header(q.In.Outbound())
	if q.Upgrade {
		header["Connection"], header["Upgrade"] = []string{"Upgrade"}, []string{q.In.Upgrade}
	}
	out, err := u.request(q.In.Method, q.In.RequestURI, q.In.Host, header)
	if err != nil {
		return nil, err
	}
	out.Trailer, out.ContentLength = q.In.Trailer, q.In.ContentLength
	ctx, w := watched(ctx, q.Body, &u.patience)
	if q.Body == nil {
		w.await(u.timeout)
	}
	trace := httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { w.sent(u.timeout) }}
	var body *upload
	if q.Body != nil {
		body = newUpload(q.Body, u.http2)
		out.Body = body.last
		body.follow(&trace)
		defer body.settle()
	}
	hints := &informer{inform: q.Inform}
	defer hints.mute()
	if q.Inform != nil {
		trace.Got1xxResponse = hints.relay
	}
	held := &u.slots
	if q.Upgrade {
		held = &u.upgraded
	}
	if err := held.acquire(ctx, false); err != nil {
		w.end()
		return nil, err
	}
	if q.Body != nil {
		slow := &revocable{cut: q.Body.Hurry, waited: q.Body.Awaited}
		held.allowRevoking(slow)
		defer held.forbidRevoking(slow)
	}
	out = out.WithContext(httptrace.WithClientTrace(ctx, &trace))
	resp, i, err := u.roundTrip(out, by, false) //nolint:bodyclose // Response.Close does
	for tries := 0; err != nil && body != nil && tries < maxGoodbyes && ctx.Err() == nil && body.again(err); {
		if !errors.Is(err, errIdleTooLong) { // there are only so many idle ones
			tries++
		}
		next := *out // net/http may still hold the one before
		next.Body = body.last
		resp, i, err = u.roundTrip(&next, by, false) //nolint:bodyclose // Response.Close does
	}
	w.rest()
	if err != nil {
		held.release()
		defer w.end()
		return nil, w.because(err)
	}
	if resp.ProtoMajor == 2 {
		held.share()
	}
	a := newResponse(resp, w, &u.patience)
	a.held = &lease{held, i}
	return a, nil
}

// request makes one for net/http's transport, without a body. The header becomes its own.
func (u *shared) request(method, target, host string, header http.Header) (*http.Request, error) {
	if target = u.target(target); !http1.IsTarget(target) {
		return nil, ErrTarget
	}
	if header["User-Agent"] == nil {
		header["User-Agent"] = nil // keeps net/http from putting in its own
	}
	return &http.Request{
		Method: method, URL: u.url(target), Host: u.hostFor(host), Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Close: authenticates(header),
	}, nil
}

// roundTrip sends a request through net/http, by another instance where no
// connection could be opened to the one that was chosen. It counts as running there
// until its response is closed.
func (u *Upstream) roundTrip(out *http.Request, by way, aside bool) (*http.Response, *instance, error) {
	ctx := out.Context()
	var tries attempts
	for {
		i, err := u.choose(ctx, &tries, aside)
		if err != nil {
			return nil, nil, err
		}
		i.running.Add(1)
		resp, err := i.ways[by].RoundTrip(out)
		if err == nil {
			u.saw(ctx, i, resp.StatusCode, nil)
			u.learn(resp, by)
			return resp, i, nil
		}
		i.running.Add(-1)
		u.saw(ctx, i, 0, err)
		if !tries.further(ctx, u, i, err, by == wayKept && out.Body == nil) {
			return nil, nil, err
		}
	}
}

// learn takes from a response by TLS whether the upstream chose HTTP/1.1 where it
// could have had HTTP/2.
func (u *shared) learn(resp *http.Response, by way) {
	if by != wayUpgrade && resp.ProtoMajor == 1 && !u.http2 && !u.http1.Load() {
		u.http1.Store(true)
	}
}

// upload is a request's body that outlives an attempt if the upstream has read nothing of
// it. net/http closes the body after each attempt.
type upload struct {
	body *inbound.Body
	kept *inbound.Kept // nil: what was read is lost

	mu        sync.Mutex    // guards the following
	connected bool          // there is a connection for the present attempt
	over      *single       // that it is; nil: of another kind
	wrote     int64         // what had been written to it before
	headed    bool          // the request's head was written, as far as net/http knows
	last      *uploadReader // the only one that gets anything
	settled   bool          // there is no further attempt
	spent     bool          // it cannot be read again
}

const (
	// maxAgain bounds what is kept of a body: it is what HTTP/2 sends before the
	// upstream's first window update, and most calls are shorter.
	maxAgain = 64 << 10
	// maxGoodbyes bounds the further attempts.
	maxGoodbyes = 3
)

// newUpload gives the upload of a body. again: it is kept for further attempts.
func newUpload(b *inbound.Body, again bool) *upload {
	u := &upload{body: b}
	if again {
		u.kept = b.Keep(maxAgain)
	}
	u.last = u.reader()
	return u
}

// follow has u learn how far an attempt gets.
func (u *upload) follow(t *httptrace.ClientTrace) {
	t.GotConn = func(i httptrace.GotConnInfo) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.connected = true
		u.last.reopen()
		if u.over, _ = i.Conn.(*single); u.over != nil {
			u.wrote = u.over.written()
		}
	}
	t.WroteHeaders = func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.headed = true
	}
}

// again reports whether the body can be read once more after an attempt has failed, and
// makes last read it from its beginning. The upstream has begun nothing where not even
// the head was written, as to a connection that it closes just then, and where it said
// so over HTTP/2.
func (u *upload) again(failure error) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.connected || u.spent || u.headed && !u.unsent() && !leftOut(failure) {
		return false
	}
	u.last = u.reader()
	u.connected, u.over, u.headed = false, nil, false
	return true
}

// unsent reports whether nothing was written to the connection, which is closed by now.
// The caller holds mu.
func (u *upload) unsent() bool { return u.over != nil && u.over.written() == u.wrote }

// leftOut reports whether an HTTP/2 server said that it has begun nothing of a stream:
// GOAWAY named an earlier one as the last (RFC 9113 6.8), or the stream was refused
// (8.7). net/http gives that as text only.
func leftOut(err error) bool {
	text := err.Error()
	return strings.Contains(text, "cannot retry err [http2: Transport received Server's graceful shutdown GOAWAY]") ||
		strings.Contains(text, "cannot retry err [stream error:") && strings.Contains(text, "; REFUSED_STREAM; received from peer]")
}

// settle says that the present attempt is the last one.
func (u *upload) settle() {
	u.mu.Lock()
	u.settled = true
	ends := u.last.closed
	u.mu.Unlock()
	if ends {
		_ = u.body.Close() // it returns no error
	}
}

// uploadReader reads an upload for one attempt.
type uploadReader struct {
	u      *upload
	at     int // in what is kept
	closed bool
	end    chan struct{} // is closed with it
}

func (u *upload) reader() *uploadReader { return &uploadReader{u: u, end: make(chan struct{})} }

// Read implements io.Reader.
func (r *uploadReader) Read(p []byte) (int, error) {
	again, open := r.kept()
	if again && r.u.kept != nil {
		n, err := r.u.kept.ReadFrom(r.at, p, r.end)
		if r.at += n; !errors.Is(err, inbound.ErrKeptFull) {
			return n, err
		}
	}
	if !open || again && !r.spend() {
		return 0, http.ErrBodyReadAfterClose
	}
	return r.u.body.Read(p)
}

// kept reports whether r reads what can be read again, and whether it may read.
func (r *uploadReader) kept() (again, open bool) {
	r.u.mu.Lock()
	defer r.u.mu.Unlock()
	open = r.u.last == r && !r.closed
	return open && !r.u.spent, open
}

// spend goes on beyond the bytes that are kept. False: another attempt begins instead.
func (r *uploadReader) spend() bool {
	u := r.u
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last != r || r.closed {
		return false
	}
	u.spent = true
	if u.kept != nil {
		u.kept.Drop()
	}
	return true
}

// reopen has r read once more: net/http closes the body of a request for which the
// connection that it was given is no use any more, as when GOAWAY has come meanwhile,
// and then sends the same body, still unread, over another one. The
// caller holds mu.
func (r *uploadReader) reopen() {
	if r.closed {
		r.closed, r.end = false, make(chan struct{})
	}
}

// Close implements io.Closer. A read under way ends.
func (r *uploadReader) Close() error {
	u := r.u
	if r.close() {
		return u.body.Close()
	}
	return nil
}

// close reports whether the body ends with the reader.
func (r *uploadReader) close() bool {
	u := r.u
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last != r || !u.connected {
		return false
	}
	if !r.closed {
		r.closed = true
		close(r.end)
	}
	return u.settled || u.spent
}

// informer passes informational responses on until the final one has come.
type informer struct {
	inform func(status int, reason string, fields map[string][]string)

	mu    sync.Mutex // guards the following
	muted bool
}

// relay is called by net/http's reading goroutine. A 100 is left out: reading
// the client's body is what makes the server send one.
func (i *informer) relay(code int, h textproto.MIMEHeader) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.muted && code != http.StatusContinue {
		i.inform(code, "", h) // net/http keeps no reason
	}
	return nil
}

func (i *informer) mute() {
	i.mu.Lock()
	i.muted = true
	i.mu.Unlock()
}

func (u *Upstream) callTransport(ctx context.Context, q *whittle.Request, hold *holding) (whittle.Response, error) {
	header := make(http.Header, len(q.Header)+1)
	for name, values := range q.Header {
		if (!httpfield.HopByHop(name) || name == "Te") && name != "Content-Length" && name != "Expect" && name != "Host" {
			header[name] = values
		}
	}
	out, err := u.request(q.Method, q.Target, q.Host, header)
	if err != nil {
		return whittle.Response{}, err
	}
	out.ContentLength, out.Body = int64(len(q.Body)), http.NoBody
	if len(q.Body) > 0 {
		out.Body = io.NopCloser(bytes.NewReader(q.Body))
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(q.Body)), nil }
	}
	way := wayKept
	if !again(q) {
		way = wayOnce
	}
	if err := u.slots.acquire(ctx, hold.aside); err != nil {
		return whittle.Response{}, err
	}
	resp, i, err := u.roundTrip(out.WithContext(ctx), way, hold.aside) //nolint:bodyclose // Response.Close does
	if err != nil {
		u.slots.release()
		return whittle.Response{}, err
	}
	a := newResponse(resp, nil, &u.patience) // the whole call has its deadline
	a.held = &lease{&u.slots, i}
	defer a.Close()
	w := whittle.Response{Status: a.Status, Header: a.Header()}
	if a.Length > hold.limit && q.Method != http.MethodHead {
		return w, errResponseSize
	}
	if err := hold.read(a.body); err != nil {
		return w, err
	}
	w.Body = hold.body
	if fields := a.Trailer(); len(fields) > 0 {
		w.Trailer = whittle.Header(fields)
	}
	return w, nil
}

func newResponse(resp *http.Response, w *watch, p *patience) *Response {
	a := &Response{Status: resp.StatusCode, Length: resp.ContentLength, resp: resp}
	a.body = &readerSource{r: resp.Body, left: resp.ContentLength, watch: w, silence: p.silence(contentType(resp.Header))}
	for name := range resp.Trailer {
		a.names = append(a.names, name)
	}
	slices.Sort(a.names)
	return a
}

// buffers are for bodies that come through an io.Reader.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// readerSource is a body from net/http.
type readerSource struct {
	r    io.Reader
	left int64 // -1: not known
	buf  *[32 << 10]byte
	// watch ends the exchange where the upstream is silent for longer.
	watch   *watch
	silence time.Duration
}

func (s *readerSource) next() ([]byte, error) {
	if s.buf == nil {
		s.buf = buffers.Get().(*[32 << 10]byte)
	}
	s.watch.wait(s.silence)
	n, err := s.r.Read(s.buf[:])
	s.watch.rest()
	if s.left > 0 {
		s.left -= int64(n)
	}
	return s.buf[:n], s.watch.because(err)
}

// ready is true only at the end: an io.Reader does not say whether it would block.
func (s *readerSource) ready() bool { return s.left == 0 }

func (*readerSource) joined() int { return 1 }

func (s *readerSource) release() {
	if s.buf != nil {
		buffers.Put(s.buf)
		s.buf = nil
	}
}
