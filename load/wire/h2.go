package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"whittle/load/engine"
)

// countingConn counts the bytes of a connection.
type countingConn struct {
	net.Conn
	sent, received atomic.Int64
}

func (c *countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

func (c *countingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}

// http2Conn is an HTTP/2 connection, for many requests at once.
type http2Conn struct {
	*countingConn
	client *http.ClientConn
	// draining says that the server takes no more requests while it still responds
	// to others that are in flight.
	draining atomic.Bool
}

// Close closes the connection and aborts the requests on it.
func (d *http2Conn) Close() error { return errors.Join(d.client.Close(), d.countingConn.Close()) }

// dialHTTP2 opens an HTTP/2 connection, TLS included.
func (d *dialer) dialHTTP2(ctx context.Context, e *endpoint) (*conn, error) {
	x := &http2Conn{}
	t := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			raw, err := e.connect(ctx)
			if err != nil {
				return nil, err
			}
			x.countingConn = &countingConn{Conn: raw}
			return x.countingConn, nil
		},
		Protocols: new(http.Protocols), DisableCompression: true, MaxResponseHeaderBytes: maxHead,
	}
	scheme := "http"
	if e.tls != nil {
		// Each connection has a transport, and a transport changes its TLS config.
		scheme, t.TLSClientConfig = "https", e.tls.Clone()
		t.Protocols.SetHTTP2(true)
	} else {
		t.Protocols.SetUnencryptedHTTP2(true)
	}
	client, err := t.NewClientConn(ctx, scheme, e.address)
	if err != nil {
		if x.countingConn != nil {
			x.countingConn.Close()
		}
		return nil, err
	}
	x.client = client
	return &conn{stream: x}, nil
}

// sharedRetries is how often a request is sent again whose shared connection ended,
// as it may by any other user's request, before the first byte of its response.
const sharedRetries = 3

// exchangeHTTP2 sends one request over HTTP/2: on the user's own connection or,
// with a pool, on one that is shared with other users.
func (c *Client) exchangeHTTP2(ctx context.Context, q *request, deadline time.Time, t *Timing) error {
	call, err := c.newHTTP2Request(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deadline.Sub(c.net.now()))
	defer cancel()
	again := 0 // how often the request may be sent again
	if q.repeatable {
		again = 1
		if c.conns == nil {
			again = sharedRetries
		}
	}
	for ; ; again-- {
		k, fresh, err := c.http2Connection(ctx, q, deadline, t)
		if err != nil {
			return err
		}
		err = c.roundTripHTTP2(ctx, k, call, c.net.bodyLimit(q), t)
		x := k.stream.(*http2Conn)
		if err != nil && ctx.Err() == nil && t.First.IsZero() && x.client.Available() <= 0 {
			x.draining.Store(true) // the server said GOAWAY before it took this request
		}
		broken := x.unusable()
		if broken && c.conns != nil {
			c.net.dialer.close(k)
			c.conns[q.slot] = nil
		}
		// A connection that was opened for this request alone says by its end how the
		// server took it. A shared one may have ended by another user's.
		own := fresh && c.conns != nil
		if err == nil || own || !broken || again == 0 || ctx.Err() != nil || !t.First.IsZero() {
			return err
		}
	}
}

// unusable reports whether a connection takes no more requests: it is closed, or
// the server has sent GOAWAY, which may come after the last response.
func (d *http2Conn) unusable() bool {
	return d.draining.Load() || d.client.Err() != nil || d.client.Available() <= 0 && d.client.InFlight() == 0
}

// http2Connection returns a connection to send on; fresh: it was opened now.
func (c *Client) http2Connection(ctx context.Context, q *request, deadline time.Time, t *Timing) (k *conn, fresh bool, err error) {
	dial := func() (*conn, error) {
		began := c.net.now()
		t.Sent = began
		k, err := c.net.dialer.dial(ctx, q.endpoint, deadline)
		if err != nil {
			return nil, &dialError{q.endpoint.reached(), err}
		}
		t.Connect, fresh = c.net.now().Sub(began), true
		return k, nil
	}
	if c.conns == nil {
		k, err = c.net.dialer.sharedConn(ctx, q.endpoint, c.Number, dial)
		if !fresh {
			t.Sent = c.net.now() // the wait for a shared connection is not the target's time
		}
		return k, fresh, err
	}
	c.growSlots(q.slot)
	if k = c.conns[q.slot]; k != nil && k.stream.(*http2Conn).unusable() {
		c.net.dialer.close(k)
		k = nil
	}
	if k == nil {
		k, err = dial()
		c.conns[q.slot] = k
	}
	return k, fresh, err
}

// http2Request is a request for net/http, and how its response is decoded.
type http2Request struct {
	request *http.Request
	body    []byte
	// decode turns the response into the one that the plan sees; nil: it is that.
	decode func(*http.Response, []byte) (status int, header http.Header, body []byte, err error)
	// read reads a response that is a stream, of which it says that a message came, and ends
	// it with stop; nil: it is none.
	read func(resp *http.Response, keep int, came, stop func()) (*streamed, error)
	// pause is how long there is between two messages of the body, whose ends are frames;
	// turns is how many of the server's each waits for.
	pause  time.Duration
	turns  int
	frames []int
}

// newHTTP2Request turns the rendered request into one for HTTP/2.
func (c *Client) newHTTP2Request(q *request) (*http2Request, error) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(c.out)))
	if err != nil {
		return nil, &contractError{err}
	}
	head := bytes.Index(c.out, []byte("\r\n\r\n")) + 4
	out := &http2Request{request: r, body: c.out[head:]}
	r.RequestURI, r.URL.Host, r.URL.Scheme = "", q.endpoint.host, strings.TrimSuffix(scheme(q.endpoint), "://")
	if c.net.grpc != nil {
		return out, c.net.grpc.encode(out, q)
	}
	return out, nil
}

// roundTripHTTP2 sends a request and reads its response into c.resp.
func (c *Client) roundTripHTTP2(ctx context.Context, k *conn, call *http2Request, keep int, t *Timing) error {
	x := k.stream.(*http2Conn)
	defer func() {
		// On a shared connection only the sums are exact: a request is given the
		// bytes since the last one ended.
		t.SentBytes += x.sent.Swap(0)
		t.ReceivedBytes += x.received.Swap(0)
	}()
	whole, stop, came := ctx, func() {}, func() {} // the call's own end, what ends a stream before it, and counts its messages
	if call.read != nil {
		ctx, stop = context.WithCancel(ctx)
		defer stop()
	}
	var first atomic.Int64 // the trace's goroutine may outlive an ended request
	began := c.net.now()
	r := call.request.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotFirstResponseByte: func() { first.CompareAndSwap(0, int64(max(c.net.now().Sub(began), 1))) },
	}))
	r.Body, r.ContentLength = http.NoBody, int64(len(call.body))
	switch {
	case len(call.frames) > 0:
		body := newPacedBody(ctx, call)
		r.Body, r.ContentLength, came = body, -1, body.reply
	case len(call.body) > 0:
		r.Body = io.NopCloser(bytes.NewReader(call.body))
	}
	resp, err := x.client.RoundTrip(r)
	if d := first.Load(); d > 0 {
		t.First = began.Add(time.Duration(d))
	}
	if err != nil {
		return contextError(ctx, err)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 {
		return malformed("the response to an HTTP/2 request is %s", resp.Proto)
	}
	if call.read != nil {
		got, err := call.read(resp, keep, came, stop)
		if err != nil {
			return contextError(whole, err)
		}
		c.resp = response{status: got.status, head: flattenHeader(c.resp.head[:0], got.header), body: got.body, size: got.size, reusable: true}
		return nil
	}
	most := keep
	if call.decode != nil {
		most = maxMessage
	}
	body, size, err := readKeepingFirst(resp.Body, c.resp.body[:0], most)
	if err != nil {
		return contextError(ctx, err)
	}
	status, header := resp.StatusCode, resp.Header
	if call.decode != nil {
		if size > maxMessage {
			return malformed("a message of more than %d bytes", maxMessage)
		}
		if status, header, body, err = call.decode(resp, body); err != nil {
			return err
		}
		size = int64(len(body))
		body = body[:min(len(body), keep)]
	}
	c.resp = response{status: status, head: flattenHeader(c.resp.head[:0], header), body: body, size: size, reusable: true}
	return nil
}

// maxMessage bounds a gRPC message, which has to be whole to be decoded.
const maxMessage = 16 << 20

// readKeepingFirst reads to the end, and keeps at most the first keep bytes.
func readKeepingFirst(r io.Reader, into []byte, keep int) (kept []byte, size int64, err error) {
	buf := bytes.NewBuffer(into)
	n, err := io.Copy(buf, io.LimitReader(r, int64(keep)))
	if err != nil {
		return nil, n, err
	}
	rest, err := io.Copy(io.Discard, r)
	return buf.Bytes(), n + rest, err
}

// flattenHeader writes a header section in the form of HTTP/1.1.
func flattenHeader(dst []byte, h http.Header) []byte {
	for name, values := range h {
		for _, v := range values {
			dst = append(dst, strings.ToLower(name)...)
			dst = append(append(append(dst, ": "...), v...), "\r\n"...)
		}
	}
	return dst
}

// contextError returns why a request ended: its timeout, the end of the run, or
// err itself.
func contextError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return malformed("%v", err)
	}
	return err
}

// sharedSlot is a slot of a pool for one connection that many requests share.
type sharedSlot struct {
	// lock guards conn, and is held while it is dialled again. It is a channel so
	// that waiting for it can be cancelled.
	lock chan struct{}
	conn *conn
}

// sharedConn returns the pool's connection for user i, and dials it where it is
// missing or unusable.
func (d *dialer) sharedConn(ctx context.Context, e *endpoint, i int64, dial func() (*conn, error)) (*conn, error) {
	d.mu.Lock()
	if d.shared[e] == nil {
		for range d.pool {
			d.shared[e] = append(d.shared[e], &sharedSlot{lock: make(chan struct{}, 1)})
		}
	}
	b := d.shared[e][int(i)%d.pool]
	d.mu.Unlock()
	select {
	case b.lock <- struct{}{}:
	case <-d.aborted:
		return nil, engine.ErrAborted
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-b.lock }()
	if b.conn != nil {
		x := b.conn.stream.(*http2Conn)
		if !x.unusable() {
			return b.conn, nil
		}
		if x.client.InFlight() == 0 {
			d.close(b.conn)
		} // else the server closes it after its last response
		b.conn = nil
	}
	c, err := dial()
	b.conn = c
	return c, err
}

// closeShared closes the shared connections once nothing uses them. The caller
// holds d.mu.
func (d *dialer) closeShared() {
	for _, slots := range d.shared {
		for _, b := range slots {
			if b.conn != nil {
				delete(d.open, b.conn)
				b.conn.Close()
				b.conn = nil
			}
		}
	}
}
