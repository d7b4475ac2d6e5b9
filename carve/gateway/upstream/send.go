package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle"
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
	Inform func(status int, reason string, fields map[string][]string)
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
		h["Trailer"] == nil && len(r.Trailer) == 0
}

// maxLeanBody is the longest request body that the pool's own client sends. It
// is read whole and goes out in one write with the head.
const maxLeanBody = 4 << 10

// requests are buffers in which heads and short bodies are put together.
var requests = sync.Pool{New: func() any {
	b := make([]byte, 0, 2<<10)
	return &b
}}

// sendLean goes through the pool, on this goroutine alone.
func (u *Upstream) sendLean(ctx context.Context, q *Request) (*Response, error) {
	c, err := u.lean(ctx, &leanCall{
		method: q.In.Method, again: replayable(q.In.Request), limit: u.timeout, last: authenticates(q.In.Header), inform: q.Inform,
	}, func(b []byte) ([]byte, error) { return u.compose(b, q) })
	if err != nil {
		return nil, err
	}
	return c.begun(), nil
}

// lean does a call whose request is put together by compose, in a buffer that is the call's.
func (u *Upstream) lean(ctx context.Context, call *leanCall, compose func(b []byte) ([]byte, error)) (*conn, error) {
	buf := requests.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= 64<<10 {
			requests.Put(buf)
		}
	}()
	var err error
	if *buf, err = compose((*buf)[:0]); err != nil {
		return nil, err
	}
	call.request = *buf
	return u.do(ctx, call)
}

// begun is the response whose head has been read.
func (c *conn) begun() *Response {
	return &Response{Status: c.head.status, Length: c.head.length, body: &c.framed, conn: c}
}

// compose puts the request as it goes upstream into b, body included.
func (u *Upstream) compose(b []byte, q *Request) ([]byte, error) {
	w := headWriter{b: b}
	w.line(q.In.Method, u.target(q.In.RequestURI), u.hostFor(q.In.Host))
	q.In.EachOutbound(w.field)
	if q.In.ContentLength > 0 || q.In.Header["Content-Length"] != nil {
		w.field("Content-Length", strconv.FormatInt(q.In.ContentLength, 10))
	}
	b, err := w.end()
	if err != nil || q.Body == nil {
		return b, err
	}
	at := len(b)
	b = append(b, make([]byte, q.In.ContentLength)...)
	_, err = io.ReadFull(q.Body, b[at:])
	return b, err
}

// target is what stands on the request line for a target as the client sent
// it.
func (u *shared) target(sent string) string {
	if i := strings.Index(sent, "://"); i > 0 && sent[0] != '/' { // absolute form
		rest := sent[i+len("://"):]
		j := strings.IndexAny(rest, "/?")
		switch {
		case j < 0:
			sent = "/"
		case rest[j] == '?':
			sent = "/" + rest[j:]
		default:
			sent = rest[j:]
		}
	}
	if u.prefix == "" || sent == "*" {
		return sent
	}
	return u.prefix + sent
}

// headWriter puts an HTTP/1.1 request head together. Whatever could be read as
// more than one line is refused, wherever it came from.
type headWriter struct {
	b   []byte
	bad bool
}

func (w *headWriter) line(method, target, host string) {
	var line bool
	w.b, line = http1.AppendRequestLine(w.b, method, target)
	w.bad = !line
	w.field("Host", host)
}

func (w *headWriter) field(name, value string) {
	var ok bool
	w.b, ok = http1.AppendField(w.b, name, value)
	w.bad = w.bad || !ok
}

func (w *headWriter) end() ([]byte, error) {
	if w.bad {
		return w.b, ErrTarget
	}
	return http1.EndHead(w.b), nil
}

// replayable reports whether a request may be sent a second time without
// asking: net/http's rule.
func replayable(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return r.Header["Idempotency-Key"] != nil || r.Header["X-Idempotency-Key"] != nil
}

// authenticates reports whether a request authenticates its connection and not only
// itself: NTLM, and Negotiate, which may be NTLM. Another user's request on that
// connection would be taken for the first user's.
func authenticates(h map[string][]string) bool {
	return slices.ContainsFunc(h["Authorization"], forConn[string])
}

// forConn reports whether an Authorization field is for the connection.
func forConn[V string | []byte](authorization V) bool {
	for _, scheme := range []string{"NTLM", "Negotiate"} {
		n := len(scheme)
		if len(authorization) >= n && strings.EqualFold(string(authorization[:n]), scheme) && (len(authorization) == n || authorization[n] == ' ') {
			return true
		}
	}
	return false
}

// leanCall is one request through a pool.
type leanCall struct {
	request []byte
	method  string
	// again says that the request may be repeated on a new connection, where a
	// kept one turned out to be closed.
	again bool
	// limit is for everything up to the head, and for the body as well where
	// total is set.
	limit time.Duration
	total bool
	// last says that no other request may follow on the connection.
	last bool
	// aside says that no user waits: a connection is taken only where one is to
	// spare.
	aside bool
	// inform gets the 1xx responses before the final one. Nil: nobody does.
	inform func(status int, reason string, fields map[string][]string)
}

// do sends a request over a pooled connection, by another instance where none could
// be opened to the one that was chosen, and reads the response's head. The caller
// finishes the connection.
func (u *Upstream) do(ctx context.Context, call *leanCall) (*conn, error) {
	if err := u.slots.acquire(ctx, call.aside); err != nil {
		return nil, err
	}
	var tries attempts
	for {
		i, err := u.choose(ctx, &tries, call.aside)
		if err != nil {
			u.slots.release()
			return nil, err
		}
		c, err := i.pool.do(ctx, call)
		if err == nil {
			u.saw(ctx, i, c.head.status, nil)
			return c, nil
		}
		u.saw(ctx, i, 0, err)
		if !tries.further(ctx, u, i, err, call.again) {
			u.slots.release()
			return nil, err
		}
	}
}

// do sends a request and reads the response's head. The caller, who has a slot,
// finishes the connection.
func (p *pool) do(ctx context.Context, call *leanCall) (*conn, error) {
	may := reuseAny
	if !call.again {
		may = reuseTrusted
	}
	for {
		c, err := p.get(ctx, may)
		if err != nil {
			return nil, err
		}
		err = c.exchange(ctx, call.request, call.method == http.MethodHead, call.limit, call.total, call.inform)
		if err == nil {
			c.head.last = c.head.last || call.last
			return c, nil
		}
		stale := c.reused && !c.heard && Classify(err) == whittle.FailedReset
		again := call.again || !c.sent
		c.framed.done = false // nobody uses the connection again
		c.leave()
		if !stale || !again {
			if errors.Is(err, io.EOF) {
				err = errNoHead
			}
			return nil, err
		}
		may = reuseNone
	}
}

// holding is a body that is read whole. Memory is asked for as it grows, since
// to reserve the longest response allowed for each call would leave room for few.
type holding struct {
	body  []byte
	limit int64
	// room takes so many more bytes of a budget. Nil: there is always room.
	room func(more int64) bool
	// aside is as in leanCall.
	aside bool
	// more is how much longer than the timeout the whole may take.
	more time.Duration
	// paced counts the reading of what no user waits for; nil: a user does.
	paced *paced
}

// leastHeld is the first memory that a body gets, in bytes.
const leastHeld = 2 << 10

// read takes all of a source.
func (h *holding) read(s source) error {
	for {
		p, err := s.next()
		if add := h.add(p); add != nil {
			return add
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.paced != nil {
			if err := h.paced.did(len(p), s.joined()); err != nil {
				return err
			}
		}
	}
}

func (h *holding) add(p []byte) error {
	need := int64(len(h.body) + len(p))
	if need > h.limit {
		return errResponseSize
	}
	if had := int64(cap(h.body)); need > had {
		size := min(max(2*had, need, leastHeld), h.limit)
		if h.room != nil && !h.room(size-had) {
			return errNoRoom
		}
		h.body = append(make([]byte, 0, size), h.body...)
	}
	h.body = append(h.body, p...)
	return nil
}

// Call asks u and holds the whole response: within one deadline for all of it,
// and with a bound on its length (0: the upstream's own). It never follows
// redirects. room is asked before the body's memory grows; nil: there is always
// room. What goes wrong is in the response.
func (u *Upstream) Call(ctx context.Context, q *whittle.Request, maxResponse int64, room func(more int64) bool) whittle.Response {
	a, _ := u.call(ctx, q, &holding{limit: maxResponse, room: room})
	return a
}

// Aside is Call where no user waits. It has the time that a user's response to the same
// took in addition, since one that comes in pieces is as long as it is. It waits for no
// connection, and leaves half of them to users; false: there was none to spare, and nothing
// was sent.
func (u *Upstream) Aside(
	ctx context.Context, q *whittle.Request, took time.Duration, maxResponse int64, room func(more int64) bool,
) (_ whittle.Response, spared bool) {
	a, err := u.call(ctx, q, &holding{limit: maxResponse, room: room, aside: true, more: took})
	return a, !errors.Is(err, errNoSpare)
}

func (u *Upstream) call(ctx context.Context, q *whittle.Request, h *holding) (a whittle.Response, err error) {
	if h.limit <= 0 {
		h.limit = u.MaxResponse()
	}
	ctx, cancel := context.WithTimeout(ctx, u.timeout+h.more)
	defer cancel()
	at := time.Now()
	if h.aside {
		h.paced = &paced{ctx: ctx, pace: &asides}
	}
	if u.http1.Load() {
		a, err = u.callLean(ctx, q, h)
	} else {
		a, err = u.callTransport(ctx, q, h)
	}
	a.Latency = time.Since(at)
	if h.paced != nil {
		a.Latency -= h.paced.waits
		if err != nil && ctx.Err() != nil && h.paced.waits > u.timeout/4 {
			err = errNoSpare // its time was ours
		}
	}
	if err != nil {
		a.Status, a.Failure, a.Detail = 0, Classify(err), err.Error()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			a.Failure = whittle.FailedTimeout
		}
	}
	return a, err
}

// MaxResponse bounds the response of a Call, in bytes.
func (u *shared) MaxResponse() int64 {
	return above0(u.spec.MaxResponse, defaultResponse)
}

// hostFor is the Host that goes upstream for a client's.
func (u *shared) hostFor(client string) string {
	switch {
	case u.host != "":
		return u.host
	case client == "":
		return u.base.Host
	}
	return client
}

func (u *Upstream) callLean(ctx context.Context, q *whittle.Request, hold *holding) (whittle.Response, error) {
	c, err := u.lean(ctx, &leanCall{
		method: q.Method, again: again(q), limit: u.timeout + hold.more, total: true, last: authenticates(q.Header), aside: hold.aside,
	}, func(b []byte) ([]byte, error) {
		w := headWriter{b: b}
		w.line(q.Method, u.target(q.Target), u.hostFor(q.Host))
		for name, values := range q.Header {
			if httpfield.HopByHop(name) || name == "Content-Length" || name == "Expect" || name == "Host" {
				continue
			}
			for _, v := range values {
				w.field(name, v)
			}
		}
		expected := q.Method == http.MethodPost || q.Method == http.MethodPut || q.Method == http.MethodPatch // so that the absence of a body must be said
		if len(q.Body) > 0 || q.Header["Content-Length"] != nil || expected {
			w.field("Content-Length", strconv.Itoa(len(q.Body)))
		}
		b, err := w.end()
		return append(b, q.Body...), err
	})
	if err != nil {
		return whittle.Response{}, err
	}
	defer c.finish()
	return c.response(hold)
}

// again reports whether a call may be sent a second time without asking.
func again(q *whittle.Request) bool {
	return replayable(&http.Request{Method: q.Method, Header: http.Header(q.Header)})
}
