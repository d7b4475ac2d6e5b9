package gateway

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"whittle"
	"whittle/internal/httpfield"
)

// maxLeanBody is the longest request body that the pool's own client sends. It
// is read whole and goes out in one write with the head.
const maxLeanBody = 4 << 10

// requests are buffers in which heads and short bodies are put together.
var requests = sync.Pool{New: func() any {
	b := make([]byte, 0, 2<<10)
	return &b
}}

// askLean goes through the pool, on this goroutine alone.
func (f *forwarder) askLean() (*upstreamResponse, error) {
	buf := requests.Get().(*[]byte)
	defer func() {
		*buf = (*buf)[:0]
		requests.Put(buf)
	}()
	var err error
	if *buf, err = f.compose((*buf)[:0]); err != nil {
		return nil, err
	}
	if f.body != nil {
		f.started = time.Now() // the client's part is over
	}
	call := leanCall{request: *buf, method: f.r.Method, again: replayable(f.r), limit: f.u.timeout}
	if f.accept == nil && f.r.ProtoAtLeast(1, 1) {
		call.inform = func(h *responseHead) {
			fields := http.Header{}
			h.copyTo(fields)
			writeInformational(f.w, h.status, fields)
		}
	}
	c, err := f.u.pool.do(f.r.Context(), call)
	if err != nil {
		return nil, err
	}
	a := &upstreamResponse{status: c.head.status, length: c.head.length, body: &c.framed, conn: c}
	return a, nil
}

// compose puts the request as it goes upstream into b, body included.
func (f *forwarder) compose(b []byte) ([]byte, error) {
	w := headWriter{b: b}
	w.line(f.r.Method, f.u.target(f.r.RequestURI), f.u.hostFor(f.r.Host))
	o := f.g.outboundOf(f.r)
	o.each(w.field)
	if f.r.ContentLength > 0 || f.r.Header["Content-Length"] != nil {
		w.field("Content-Length", strconv.FormatInt(f.r.ContentLength, 10))
	}
	b, err := w.end()
	if err != nil || f.body == nil {
		return b, err
	}
	at := len(b)
	b = append(b, make([]byte, f.r.ContentLength)...)
	_, err = io.ReadFull(f.body, b[at:])
	return b, err
}

// headWriter puts an HTTP/1.1 request head together. Whatever could be read as
// more than one line is refused, wherever it came from.
type headWriter struct {
	b   []byte
	bad bool
}

func (w *headWriter) line(method, target, host string) {
	w.bad = !httpfield.IsToken(method) || !httpfield.IsTarget(target) || !httpfield.IsValue(host)
	w.b = append(w.b, method...)
	w.b = append(w.b, ' ')
	w.b = append(w.b, target...)
	w.b = append(w.b, " HTTP/1.1\r\nHost: "...)
	w.b = append(w.b, host...)
	w.b = append(w.b, "\r\n"...)
}

func (w *headWriter) field(name, value string) {
	if !httpfield.IsToken(name) || !httpfield.IsValue(value) {
		w.bad = true
		return
	}
	w.b = append(w.b, name...)
	w.b = append(w.b, ": "...)
	w.b = append(w.b, value...)
	w.b = append(w.b, "\r\n"...)
}

func (w *headWriter) end() ([]byte, error) {
	if w.bad {
		return w.b, errTarget
	}
	w.b = append(w.b, "\r\n"...)
	return w.b, nil
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
	// inform gets the 1xx responses before the final one. Nil: nobody does.
	inform func(*responseHead)
}

// do sends a request and reads the response's head. The caller finishes or
// abandons the connection.
func (p *pool) do(ctx context.Context, call leanCall) (*conn, error) {
	may := reuseAny
	if !call.again {
		may = reuseTrusted
	}
	for {
		c, err := p.get(ctx, may, call.limit)
		if err != nil {
			return nil, err
		}
		err = c.exchange(ctx, call.request, call.method == http.MethodHead, call.limit, call.total, call.inform)
		if err == nil {
			return c, nil
		}
		stale := c.reused && !c.heard && classify(err) == whittle.FailedReset
		again := call.again || !c.sent
		c.abandon()
		if !stale || !again {
			return nil, cutShort(err)
		}
		may = reuseNone
	}
}
