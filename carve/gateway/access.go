package gateway

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/accesslog"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/listener"
	"whittle/carve/gateway/upstream"
)

// loggedDetail is why a request failed, without secrets.
func (g *Gateway) loggedDetail(detail string) string {
	if g.opts.Redact == nil || detail == "" {
		return detail
	}
	a := whittle.Response{Detail: detail}
	g.opts.Redact.Response(&a)
	return a.Detail
}

// accessed counts what a request comes to for the access log.
type accessed struct {
	id      string
	in, out atomic.Int64
}

// newAccessed gives the request its id, and begins to count: what w writes, and what is read
// of the body.
func (g *Gateway) newAccessed(w http.ResponseWriter, q *inbound.Request) (*accessed, http.ResponseWriter) {
	id := ""
	if name := g.opts.RequestID; name != "" {
		id = requestID(q, name)
		q.Header[name] = []string{id}
		if slices.Contains(q.Named, name) { // it is for everybody, whatever the client says
			q.Named = slices.DeleteFunc(slices.Clone(q.Named), func(n string) bool { return n == name })
		}
	}
	a := &accessed{id: id}
	if q.Body != nil && q.Body != http.NoBody {
		q.Body = &forward.Observed{ReadCloser: q.Body, See: func(p []byte, _ error) { a.in.Add(int64(len(p))) }}
	}
	return a, a.observe(w)
}

// observe counts what w writes.
func (a *accessed) observe(w http.ResponseWriter) http.ResponseWriter {
	return &forward.Observer{ResponseWriter: w, Body: func(p []byte) { a.out.Add(int64(len(p))) }}
}

// maxRequestID is the longest id that is taken from a proxy.
const maxRequestID = 200

// requestID is the id that a trusted proxy gave the request, or a new one.
func requestID(q *inbound.Request, name string) string {
	if ids := q.Header[name]; q.Trusted && len(ids) == 1 && ids[0] != "" && len(ids[0]) <= maxRequestID &&
		!strings.ContainsFunc(ids[0], func(c rune) bool { return c <= ' ' || c > '~' }) {
		return ids[0]
	}
	return newRequestID()
}

func newRequestID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], rand.Uint64())
	binary.BigEndian.PutUint64(b[8:], rand.Uint64())
	return hex.EncodeToString(b[:])
}

// logAccess writes a request's line. The query is left out: it is where secrets end up.
func (g *Gateway) logAccess(c *tracked, res *forward.Result, took time.Duration) {
	r, a := &c.request, c.accessed
	e := accesslog.Entry{
		RequestID: a.id, Method: r.Method, Host: r.Host, Path: r.URL.Path, Proto: r.Proto, Peer: r.RemoteAddr, Client: strings.Trim(r.Client(), "[]"),
		Route: c.entry.name, Status: res.Sent, In: a.in.Load() + res.In, Out: a.out.Load() + res.Out, Took: took,
		Upstream: res.Upstream, UpstreamTime: res.Latency, Preview: c.preview, Failure: res.Failure, Detail: res.Detail,
		Header: r.Header,
	}
	if sent := r.URL.EscapedPath(); sent != e.Path {
		e.Escaped = sent
	}
	if res.Upstream != "" {
		e.Side = res.Side.String()
	}
	if r.TLS != nil {
		e.TLS = r.TLS.Version
	}
	g.opts.Access.Write(r.Context(), &e)
}

// logRaw writes the line of a request in bytes.
func (g *Gateway) logRaw(r *listener.Raw, a *upstream.Response, route, id string, sent int, took, latency time.Duration) {
	e := accesslog.Entry{RequestID: id, Route: route, Out: int64(sent), Took: took, UpstreamTime: latency}
	e.Method, e.Host, e.Path, e.Proto = string(r.Head.Method()), string(r.Head.Host()), string(r.Path), "HTTP/1.1"
	e.Peer, e.Client, e.TLS = r.Remote(), strings.Trim(r.Peer(), "[]"), r.TLS()
	e.Side, e.Status, e.In, e.Upstream = whittle.Monolith.String(), a.Status, int64(len(r.Body)), a.Address()
	for _, name := range g.opts.Access.Headers() {
		for i := range r.Head.Len() {
			if f := r.Head.Field(i); len(f.Name) == len(name) && strings.EqualFold(string(f.Name), name) {
				if e.Header == nil {
					e.Header = map[string][]string{}
				}
				e.Header[name] = append(e.Header[name], string(f.Value))
			}
		}
	}
	g.opts.Access.Write(r.Context(), &e)
}
