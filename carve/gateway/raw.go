package gateway

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"whittle"
	"whittle/carve/gateway/accesslog"
	"whittle/carve/gateway/listener"
	"whittle/carve/gateway/upstream"
	"whittle/internal/http1"
)

// ServeRaw serves a request that only passes through, in bytes from one side to the
// other: no header is taken apart into a map, and no route or recorder looks
// at it. Where the response turns out not to be everyday, it goes on as any other.
func (g *Gateway) ServeRaw(r *listener.Raw) bool {
	if g.opts.RequestID.Respond || g.clients.Draining() || r.Origin.Certificate != "" ||
		g.opts.Access != nil && g.opts.Access.WantsResponse() {
		return false
	}
	t := g.table.Load()
	e := t.matchRaw(r)
	if e == nil || e.route != nil || g.recordedShare(e) > 0 || !e.monolith.TakesRaw() || len(r.Body) > upstream.MaxRaw ||
		g.opts.Limits.BodyBytes >= 0 && int64(len(r.Body)) > g.opts.Limits.BodyBytes {
		return false
	}
	fields, claim, ok := g.requests.AppendRaw(r.Scratch(), r.Head, r.Peer, r.HTTPS)
	if !ok {
		return false
	}
	if claim != nil {
		g.seeProxy(r.Peer, string(claim))
	}
	fields, id := g.nameRaw(fields)
	g.active.enter()
	defer g.active.exit()
	at := time.Now()
	e.meter.running.Add(1)
	defer e.meter.running.Add(-1)
	a, err := e.monolith.SendRaw(r.Context(), &upstream.Raw{
		Head: r.Head, Fields: fields, Body: r.Body, Inform: r.Inform,
	})
	if err == nil {
		latency := time.Since(at)
		if sent, passed := passRaw(r, a); passed {
			took := time.Since(at)
			g.counts.inBytes.Add(1)
			e.meter.add(a.Status, took)
			if g.opts.Access != nil {
				g.logRaw(r, a, e.name, id, sent, took, latency)
			}
			return true
		}
	}
	g.serveFull(r, e, a, err, id, at)
	return true
}

// serveFull goes on with a request that was sent in bytes as with any other. It is apart
// from ServeRaw for its frame: an idle connection keeps the stack that its requests took.
func (g *Gateway) serveFull(r *listener.Raw, e *entry, a *upstream.Response, err error, id string, at time.Time) {
	w, full := r.Full()
	c := tracked{entry: e, request: g.requests.Read(full), at: at}
	if g.opts.Access != nil {
		c.accessed = &accessed{id: id}
		c.accessed.in.Add(int64(len(r.Body)))
		w = c.accessed.observe(w, "")
	}
	res := g.forwarder.Respond(w, c.request, e.monolith, a, err, at)
	g.end(&c, &res)
	if res.Abort {
		panic(http.ErrAbortHandler)
	}
}

// nameRaw adds the request's id to its fields.
func (g *Gateway) nameRaw(fields []byte) (named []byte, id string) {
	name := g.opts.RequestID.Header
	if name == "" {
		return fields, ""
	}
	id = newRequestID()
	named, _ = http1.AppendField(fields, name, id) // both are of this package's making
	return named, id
}

// logRaw writes the line of a request in bytes.
func (g *Gateway) logRaw(r *listener.Raw, a *upstream.Response, route, id string, sent int, took, latency time.Duration) {
	e := accesslog.Entry{RequestID: id, Route: route, Out: int64(sent), Took: took, UpstreamTime: latency}
	e.Method, e.Host, e.Path, e.Proto = string(r.Head.Method()), string(r.Head.Host()), string(r.Path), "HTTP/1.1"
	e.Peer, e.Client, e.TLS = r.Remote, strings.Trim(r.Peer, "[]"), r.TLS
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

// passRaw passes a response on that is at hand in whole, and says how long its body was;
// false: nothing is done.
func passRaw(r *listener.Raw, a *upstream.Response) (sent int, passed bool) {
	if !r.Bytes() || a.Status == http.StatusNoContent || a.Status == http.StatusNotModified {
		return 0, false
	}
	b, ok := http1.AppendStatusLine(r.Scratch(), a.Status, cmp.Or(a.Reason(), http.StatusText(a.Status)))
	if !ok {
		return 0, false
	}
	b, dated, ok := a.AppendFields(b)
	if !ok {
		return 0, false
	}
	body, ok := a.Whole()
	if !ok {
		return 0, false
	}
	sent = len(body)
	b = r.EndHead(b, dated)
	b = append(b, body...)
	a.Close() // whatever the client takes, the upstream is done
	r.Send(b)
	return sent, true
}
