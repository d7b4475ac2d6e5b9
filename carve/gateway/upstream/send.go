package upstream

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"sync/atomic"
	"time"

	"whittle/carve/gateway/inbound"
	"whittle/internal/http1"
	"whittle/internal/httpfield"
)

// Request is a client's request on its way to an upstream.
type Request struct {
	In *inbound.Request
	// Body is the request's; nil where it has none.
	Body *inbound.Body
	// Upgrade asks the upstream to change to the protocol of In.Upgrade.
	Upgrade bool
	// Inform gets the informational responses before the final one, but for 100:
	// reading the client's body is what makes the server send that one. Nil:
	// nobody does. It is not called after Send has returned.
	Inform func(status int, fields map[string][]string)
}

// Short reports whether Send reads the body of a request, if it has one, in whole
// before it sends anything.
func (u *Upstream) Short(q *Request) bool { return !q.Upgrade && u.http1.Load() && lean(q.In.Request) }

// Send sends a request and reads the response's head. Its error says, by
// Classify, how the upstream failed, unless the request could not be sent
// (ErrTarget) or the body's own reading failed.
func (u *Upstream) Send(ctx context.Context, q *Request) (*Response, error) {
	switch {
	case q.Upgrade:
		return u.sendTransport(ctx, wayUpgrade, q)
	case u.Short(q):
		return u.sendLean(ctx, q)
	case q.Body == nil && replayable(q.In.Request):
		return u.sendTransport(ctx, wayKept, q)
	}
	return u.sendTransport(ctx, wayOnce, q)
}

// lean reports whether the pool's own client can send a request: no body or a
// short one of known length, and nothing that must be negotiated.
func lean(r *http.Request) bool {
	h := r.Header
	return r.ContentLength >= 0 && r.ContentLength <= maxLeanBody &&
		h["Expect"] == nil && h["Trailer"] == nil && len(r.Trailer) == 0
}

// sendTransport goes through net/http.
func (u *Upstream) sendTransport(ctx context.Context, by way, q *Request) (*Response, error) {
	target := u.target(q.In.RequestURI)
	if !http1.IsTarget(target) {
		return nil, ErrTarget
	}
	header := http.Header(q.In.Outbound())
	if q.Upgrade {
		header["Connection"], header["Upgrade"] = []string{"Upgrade"}, []string{q.In.Upgrade}
	}
	if header["User-Agent"] == nil {
		header["User-Agent"] = nil // keeps net/http from putting in its own
	}
	out := &http.Request{
		Method: q.In.Method, URL: u.url(target), Host: q.In.Host, Header: header, Trailer: q.In.Trailer,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: q.In.ContentLength,
		Close: authenticates(header),
	}
	if u.host != "" {
		out.Host = u.host
	}
	ctx, w := watched(ctx, q.Body, &u.patience)
	if q.Body == nil {
		w.await(u.timeout)
	}
	trace := httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { w.sent(u.timeout) }}
	if q.Body != nil {
		body := &upload{Body: q.Body}
		out.Body, trace.GotConn = body, func(httptrace.GotConnInfo) { body.begun.Store(true) }
	}
	hints := &informer{inform: q.Inform}
	defer hints.mute()
	expects := q.Body != nil && httpfield.HasToken(header["Expect"], "100-continue")
	if expects {
		hints.goOn = q.Body.Open
	}
	if q.Inform != nil || expects {
		trace.Got1xxResponse = hints.relay
	}
	held := &u.slots
	if q.Upgrade {
		held = &u.upgraded
	}
	if err := held.acquire(ctx, false, q.In); err != nil {
		w.end()
		return nil, err
	}
	if q.Body != nil {
		slow := &loan{cut: q.Body.Hurry, waited: q.Body.Awaited}
		held.lend(slow)
		defer held.unlend(slow)
	}
	if expects {
		q.Body.Gate()
		defer time.AfterFunc(continueTimeout, q.Body.Open).Stop()
	}
	resp, i, err := u.roundTrip(out.WithContext(httptrace.WithClientTrace(ctx, &trace)), by, u.clientOf(q.In), false) //nolint:bodyclose // Response.Close does
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

// roundTrip sends a request through net/http, by another instance where no
// connection could be opened to the one that was chosen. It counts as running there
// until its response is closed.
func (u *Upstream) roundTrip(out *http.Request, by way, client string, aside bool) (*http.Response, *instance, error) {
	ctx := out.Context()
	if client != "" {
		out.URL.Host = hostOf(client)
	}
	var tries attempts
	for {
		i, err := u.choose(ctx, &tries, aside)
		if err != nil {
			return nil, nil, err
		}
		i.running.Add(1)
		resp, err := i.transport(by).RoundTrip(out)
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

// clientOf is whose connection a request has to go over; "": anybody's.
func (u *shared) clientOf(q *inbound.Request) string {
	if u.spec.ProxyProtocol == 0 {
		return ""
	}
	local := ""
	if a, ok := q.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		local = a.String()
	}
	return u.preface(q.RemoteAddr, local)
}

// upload is a request's body that outlives attempts of which none of it was sent:
// net/http closes it after each.
type upload struct {
	*inbound.Body
	begun atomic.Bool // there is a connection to send it over
}

// Close implements io.Closer.
func (u *upload) Close() error {
	if !u.begun.Load() {
		return nil
	}
	return u.Body.Close()
}

// informer passes informational responses on until the final one has come.
type informer struct {
	inform func(status int, fields map[string][]string) // nil: nobody wants them
	// goOn is called where the upstream says 100.
	goOn func()

	mu    sync.Mutex // guards the following
	muted bool
}

// relay is called by net/http's reading goroutine. A 100 is left out: reading
// the client's body is what makes the server send one.
func (i *informer) relay(code int, h textproto.MIMEHeader) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.muted:
	case code != http.StatusContinue:
		if i.inform != nil {
			i.inform(code, h)
		}
	case i.goOn != nil:
		i.goOn()
	}
	return nil
}

func (i *informer) mute() {
	i.mu.Lock()
	i.muted = true
	i.mu.Unlock()
}
