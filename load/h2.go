package load

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
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"whittle"
)

// The values of Options.Protocol.
const (
	HTTP1 = "http/1.1"
	// HTTP2 is negotiated by ALPN for https targets, and used with prior knowledge
	// ("h2c") for http targets.
	HTTP2 = "h2"
	// GRPC sends a plan's JSON bodies as unary calls: a request's path is
	// /package.Service/Method, of Options.Descriptor.
	GRPC = "grpc"
)

func checkProtocol(o *Options) error {
	switch {
	case o.Protocol != "" && !slices.Contains([]string{HTTP1, HTTP2, GRPC}, o.Protocol):
		return whittle.Errorf(whittle.Invalid, "the protocol %q is none of %s, %s and %s", o.Protocol, HTTP1, HTTP2, GRPC)
	case o.Protocol == GRPC && len(o.Descriptor) == 0:
		return whittle.Errorf(whittle.Invalid, "gRPC needs the contract's descriptor").
			WithHint("buf build --as-file-descriptor-set -o service.binpb, or protoc --include_imports --descriptor_set_out=service.binpb")
	case o.Protocol != GRPC && len(o.Descriptor) > 0:
		return whittle.Errorf(whittle.Invalid, "a descriptor goes with the protocol %s", GRPC)
	}
	return nil
}

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
}

// Close closes the connection and aborts the requests on it.
func (d *http2Conn) Close() error { return errors.Join(d.client.Close(), d.countingConn.Close()) }

// dialHTTP2 opens an HTTP/2 connection, TLS included.
func (d *dialer) dialHTTP2(ctx context.Context, e *endpoint) (*conn, error) {
	x := &http2Conn{}
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			raw, err := new(net.Dialer).DialContext(ctx, network, e.address)
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
	return &conn{stream: x, endpoint: e}, nil
}

// exchangeHTTP2 sends one request over HTTP/2: on the user's own connection or,
// with a pool, on one that is shared with other users.
func (w *worker) exchangeHTTP2(ctx context.Context, q *prepared, deadline time.Time, o *observation) error {
	call, err := w.newHTTP2Request(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deadline.Sub(w.run.now()))
	defer cancel()
	for again := q.repeatable; ; again = false {
		c, fresh, err := w.http2Connection(ctx, q, deadline, o)
		if err != nil {
			return err
		}
		err = w.roundTripHTTP2(ctx, c, call, w.run.bodyLimit(q), o)
		broken := c.stream.(*http2Conn).unusable()
		if broken && w.conns != nil {
			w.run.dialer.close(c)
			w.conns[q.slot] = nil
		}
		if err == nil || fresh || !broken || !again || ctx.Err() != nil || !o.first.IsZero() {
			return err
		}
	}
}

// unusable reports whether a connection takes no more requests: it is closed, or
// the server has sent GOAWAY, which may come after the last response.
func (d *http2Conn) unusable() bool {
	return d.client.Err() != nil || d.client.Available() <= 0 && d.client.InFlight() == 0
}

// http2Connection returns a connection to send on; fresh: it was opened now.
func (w *worker) http2Connection(ctx context.Context, q *prepared, deadline time.Time, o *observation) (c *conn, fresh bool, err error) {
	dial := func() (*conn, error) {
		began := w.run.now()
		o.sent = began
		c, err := w.run.dialer.dial(ctx, q.endpoint, deadline)
		if err != nil {
			return nil, &dialError{err}
		}
		o.connect, fresh = w.run.now().Sub(began), true
		return c, nil
	}
	if w.conns == nil {
		c, err = w.run.dialer.sharedConn(ctx, q.endpoint, w.index, dial)
		if !fresh {
			o.sent = w.run.now() // the wait for a shared connection is not the target's time
		}
		return c, fresh, err
	}
	for len(w.conns) <= q.slot { // the server of a redirect
		w.conns = append(w.conns, nil)
	}
	if c = w.conns[q.slot]; c != nil && c.stream.(*http2Conn).unusable() {
		w.run.dialer.close(c)
		c = nil
	}
	if c == nil {
		c, err = dial()
		w.conns[q.slot] = c
	}
	return c, fresh, err
}

// http2Request is a request for net/http, and how its response is decoded.
type http2Request struct {
	request *http.Request
	body    []byte
	// decode turns the response into the one that the plan sees; nil: it is that.
	decode func(*http.Response, []byte) (status int, header http.Header, body []byte, err error)
}

// newHTTP2Request turns the rendered request into one for HTTP/2.
func (w *worker) newHTTP2Request(q *prepared) (*http2Request, error) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(w.out)))
	if err != nil {
		return nil, &contractError{err}
	}
	head := bytes.Index(w.out, []byte("\r\n\r\n")) + 4
	out := &http2Request{request: r, body: w.out[head:]}
	r.RequestURI, r.URL.Host, r.URL.Scheme = "", q.endpoint.host, strings.TrimSuffix(scheme(q.endpoint), "://")
	if w.run.grpc != nil {
		return out, w.run.grpc.encode(out, q)
	}
	return out, nil
}

// roundTripHTTP2 sends a request and reads its response into w.resp.
func (w *worker) roundTripHTTP2(ctx context.Context, c *conn, call *http2Request, keep int, o *observation) error {
	x := c.stream.(*http2Conn)
	defer func() {
		// On a shared connection only the sums are exact: a request is given the
		// bytes since the last one ended.
		o.sentBytes += x.sent.Swap(0)
		o.receivedBytes += x.received.Swap(0)
	}()
	var first atomic.Int64 // the trace's goroutine may outlive an ended request
	began := w.run.now()
	r := call.request.Clone(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotFirstResponseByte: func() { first.CompareAndSwap(0, int64(max(w.run.now().Sub(began), 1))) },
	}))
	r.Body, r.ContentLength = http.NoBody, int64(len(call.body))
	if len(call.body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(call.body))
	}
	resp, err := x.client.RoundTrip(r)
	if d := first.Load(); d > 0 {
		o.first = began.Add(time.Duration(d))
	}
	if err != nil {
		return contextError(ctx, err)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 {
		return malformed("the response to an HTTP/2 request is %s", resp.Proto)
	}
	whole := keep
	if call.decode != nil {
		whole = maxMessage
	}
	body, size, err := readKeepingFirst(resp.Body, w.resp.body[:0], whole)
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
	w.resp = response{status: status, head: flattenHeader(w.resp.head[:0], header), body: body, size: size, reusable: true}
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
