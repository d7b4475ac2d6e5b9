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

// The protocols of a run, as Options.Protocol names them.
const (
	HTTP1 = "http/1.1"
	// HTTP2 is agreed on by ALPN where the target's scheme is https, and known
	// beforehand ("h2c") where it is http.
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

// counted counts what passes over a connection.
type counted struct {
	net.Conn
	sent, received atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}

// duplex is a connection that speaks HTTP/2: many requests at once.
type duplex struct {
	*counted
	client *http.ClientConn
}

// Close ends the connection with all that is under way on it.
func (d *duplex) Close() error { return errors.Join(d.client.Close(), d.counted.Close()) }

// dialHTTP2 opens a connection that speaks HTTP/2, TLS included.
func (d *dialer) dialHTTP2(ctx context.Context, e *endpoint) (*conn, error) {
	x := &duplex{}
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			raw, err := new(net.Dialer).DialContext(ctx, network, e.address)
			if err != nil {
				return nil, err
			}
			x.counted = &counted{Conn: raw}
			return x.counted, nil
		},
		Protocols: new(http.Protocols), DisableCompression: true, MaxResponseHeaderBytes: maxHead,
	}
	scheme := "http"
	if e.tls != nil {
		// A transport writes into its configuration, and each connection has one.
		scheme, t.TLSClientConfig = "https", e.tls.Clone()
		t.Protocols.SetHTTP2(true)
	} else {
		t.Protocols.SetUnencryptedHTTP2(true)
	}
	client, err := t.NewClientConn(ctx, scheme, e.address)
	if err != nil {
		if x.counted != nil {
			x.counted.Close()
		}
		return nil, err
	}
	x.client = client
	return &conn{stream: x, endpoint: e}, nil
}

// converse exchanges one request over HTTP/2: on the user's own connection or,
// with a pool, on one that it shares with others.
func (w *worker) converse(ctx context.Context, q *prepared, deadline time.Time, o *observed) error {
	call, err := w.outgoing(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, deadline.Sub(w.run.now()))
	defer cancel()
	for again := q.repeatable; ; again = false {
		c, fresh, err := w.connection(ctx, q, deadline, o)
		if err != nil {
			return err
		}
		err = w.call(ctx, c, call, w.run.keep(q), o)
		broken := c.stream.(*duplex).gone()
		if broken && w.own != nil {
			w.run.dialer.close(c)
			w.own[q.slot] = nil
		}
		if err == nil || fresh || !broken || !again || ctx.Err() != nil || !o.first.IsZero() {
			return err
		}
	}
}

// gone says that a connection takes no more requests: it is closed, or its server
// has said that it will be (GOAWAY), which may come after the last answer.
func (d *duplex) gone() bool {
	return d.client.Err() != nil || d.client.Available() <= 0 && d.client.InFlight() == 0
}

// connection gives one to send on; fresh says that it was opened for that.
func (w *worker) connection(ctx context.Context, q *prepared, deadline time.Time, o *observed) (c *conn, fresh bool, err error) {
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
	if w.own == nil {
		c, err = w.run.dialer.shared(ctx, q.endpoint, w.index, dial)
		if !fresh {
			o.sent = w.run.now() // what it waited for was not the target's doing
		}
		return c, fresh, err
	}
	for len(w.own) <= q.slot { // a server that a redirect led to
		w.own = append(w.own, nil)
	}
	if c = w.own[q.slot]; c != nil && c.stream.(*duplex).gone() {
		w.run.dialer.close(c)
		c = nil
	}
	if c == nil {
		c, err = dial()
		w.own[q.slot] = c
	}
	return c, fresh, err
}

// outgoing is a request for net/http, and how its answer is to be read.
type outgoing struct {
	request *http.Request
	body    []byte
	// read makes the plan's answer of what came; nil: it is that.
	read func(*http.Response, []byte) (status int, header http.Header, body []byte, err error)
}

// outgoing makes a request for HTTP/2 of the one that was rendered.
func (w *worker) outgoing(q *prepared) (*outgoing, error) {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(w.out)))
	if err != nil {
		return nil, &contractError{err}
	}
	head := bytes.Index(w.out, []byte("\r\n\r\n")) + 4
	out := &outgoing{request: r, body: w.out[head:]}
	r.RequestURI, r.URL.Host, r.URL.Scheme = "", q.endpoint.host, strings.TrimSuffix(scheme(q.endpoint), "://")
	if w.run.calls != nil {
		return out, w.run.calls.translate(out, q)
	}
	return out, nil
}

// call sends a request and reads its answer into w.ans.
func (w *worker) call(ctx context.Context, c *conn, call *outgoing, keep int, o *observed) error {
	x := c.stream.(*duplex)
	defer func() {
		// On a shared connection the sums are right, and each request has about
		// its part.
		o.up += x.sent.Swap(0)
		o.down += x.received.Swap(0)
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
		return ofContext(ctx, err)
	}
	defer resp.Body.Close()
	if resp.ProtoMajor != 2 {
		return malformed("an answer in %s to a request in HTTP/2", resp.Proto)
	}
	whole := keep
	if call.read != nil {
		whole = maxMessage
	}
	body, size, err := readKeeping(resp.Body, w.ans.body[:0], whole)
	if err != nil {
		return ofContext(ctx, err)
	}
	status, header := resp.StatusCode, resp.Header
	if call.read != nil {
		if size > maxMessage {
			return malformed("a message of more than %d bytes", maxMessage)
		}
		if status, header, body, err = call.read(resp, body); err != nil {
			return err
		}
		size = int64(len(body))
		body = body[:min(len(body), keep)]
	}
	w.ans = answer{status: status, head: flatten(w.ans.head[:0], header), body: body, size: size, reusable: true}
	return nil
}

// maxMessage bounds a message that has to be whole to be read.
const maxMessage = 16 << 20

// readKeeping reads to the end, and keeps at most keep bytes.
func readKeeping(r io.Reader, into []byte, keep int) (kept []byte, size int64, err error) {
	buf := bytes.NewBuffer(into)
	n, err := io.Copy(buf, io.LimitReader(r, int64(keep)))
	if err != nil {
		return nil, n, err
	}
	rest, err := io.Copy(io.Discard, r)
	return buf.Bytes(), n + rest, err
}

// flatten writes a header section as HTTP/1.1 has it, for whoever looks.
func flatten(dst []byte, h http.Header) []byte {
	for name, values := range h {
		for _, v := range values {
			dst = append(dst, strings.ToLower(name)...)
			dst = append(append(append(dst, ": "...), v...), "\r\n"...)
		}
	}
	return dst
}

// ofContext names what ended a request: the time that it had, or the run.
func ofContext(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return malformed("%v", err)
	}
	return err
}
