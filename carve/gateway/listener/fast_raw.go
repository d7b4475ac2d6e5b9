package listener

import (
	"context"
	"net/http"
	"sync"

	"whittle/internal/http1"
	"whittle/internal/lifetime"
)

// RawHandler is a handler that can serve some requests in bytes.
type RawHandler interface {
	http.Handler
	// ServeRaw serves a request that has come in whole, by Send or by Full. False: it
	// has done nothing, and ServeHTTP is to serve the request.
	ServeRaw(r *Raw) bool
}

// Raw is a request on the fast path in bytes, which are valid until Release or the end of
// ServeRaw.
type Raw struct {
	Head *http1.RequestHead
	// Path is the target's. Nothing in it is escaped, or needs to be.
	Path []byte
	Body []byte
	// Inform sends an informational response.
	Inform func(status int, reason string, fields map[string][]string)

	c       *fastConn
	ctx     *lifetime.Context
	scratch *[]byte // nil until something is written
	full    *fastRequest
	closes  bool // the connection ends with the response
	failed  bool
}

var raws = sync.Pool{New: func() any {
	r := new(Raw)
	r.Inform = r.inform
	return r
}}

// Release gives the memory of the request back, for others while this one waits. Full may
// not be called after it.
func (r *Raw) Release() {
	if r.Head == nil {
		return
	}
	c := r.c
	c.from += len(r.Head.Raw()) + len(r.Body)
	r.Head, r.Path, r.Body = nil, nil, nil
	if c.from == c.to {
		c.release()
	}
}

// Close has the connection closed after the response. It is called before EndHead.
func (r *Raw) Close() { r.closes = true }

// end gives all memory back.
func (r *Raw) end() {
	if r.scratch != nil {
		fastOut.Put(r.scratch)
	}
	*r = Raw{Inform: r.Inform}
	raws.Put(r)
}

// Remote is the client's address with its port.
func (r *Raw) Remote() string { return r.c.remote }

// Peer is the client's address without its port.
func (r *Raw) Peer() string { return PeerOf(r.c.remote) }

// TLS is the version; 0: nothing is encrypted.
func (r *Raw) TLS() uint16 {
	if r.c.tls == nil {
		return 0
	}
	return r.c.tls.Version
}

// HTTPS reports whether the client encrypts, to here or to the load balancer in front.
func (r *Raw) HTTPS() bool { return r.c.tls != nil || r.Origin().HTTPS }

// Context ends when the client goes. It may not be used after ServeRaw unless Full was
// called.
func (r *Raw) Context() context.Context { return r.ctx }

// Scratch gives an empty buffer, in which what an earlier call gave is overwritten.
func (r *Raw) Scratch() []byte {
	if r.scratch == nil {
		r.scratch = fastOut.Get().(*[]byte)
	}
	return (*r.scratch)[:0]
}

// Bytes reports whether the response may still be sent by Send: Full was not called.
func (r *Raw) Bytes() bool { return r.full == nil }

// EndHead ends the head of a response; dated says that it has a Date.
func (r *Raw) EndHead(b []byte, dated bool) []byte {
	if !dated {
		b = r.c.l.dateLine(b)
	}
	if r.closes = r.closes || r.c.l.s.Draining(); r.closes {
		b = append(b, "Connection: close\r\n"...)
	}
	return http1.EndHead(b)
}

// Send sends the whole response, which the handler has put together in Scratch.
func (r *Raw) Send(b []byte) {
	if cap(b) <= 2*fastBuffer {
		*r.scratch = b[:0]
	}
	_, err := r.c.net.Write(b)
	r.failed = err != nil
}

// Full gives the request and its writer in net/http's form, its body taken.
func (r *Raw) Full() (http.ResponseWriter, *http.Request) {
	if r.full == nil {
		c := r.c
		r.full = newFastRequest(c, r.ctx) // a plain path is always read
		r.full.Body, r.full.body = http.NoBody, fastBody{}
		c.from += len(r.Body)
	}
	return &r.full.w, &r.full.Request
}

func (r *Raw) inform(status int, reason string, fields map[string][]string) {
	r.Full()
	w := &r.full.w
	h := w.Header()
	for name, values := range fields {
		h[name] = values
	}
	w.SetReason(reason)
	w.WriteHeader(status)
	clear(h) // they belong to this head only
}
