package gateway

import (
	"cmp"
	"net/http"
	"time"

	"whittle/carve/gateway/listener"
	"whittle/carve/gateway/upstream"
	"whittle/internal/http1"
)

// ServeRaw serves a request that only passes through, in bytes from one side to the
// other: no header is taken apart into a map, and no route, recorder or tracer looks
// at it. Where the response turns out not to be everyday, it goes on as any other.
func (g *Gateway) ServeRaw(r *listener.Raw) bool {
	if g.opts.Tracer != nil || g.opts.Access != nil || g.opts.RequestID.Header != "" || g.clients.Draining() || r.Origin.Certificate != "" {
		return false
	}
	t := g.table.Load()
	e := t.matchRaw(r)
	if e == nil || e.route != nil || g.recordedShare(e) > 0 || !e.monolith.TakesRaw() || len(r.Body) > upstream.MaxRaw ||
		g.opts.Limits.BodyBytes >= 0 && int64(len(r.Body)) > g.opts.Limits.BodyBytes {
		return false
	}
	fields, ok := g.door.AppendRaw(r.Scratch(), r.Head, r.Peer, r.HTTPS)
	if !ok {
		return false
	}
	admitted := g.admitRaw(e, r.Peer)
	defer g.leave(&admitted)
	if admitted.late != "" {
		return false // it is refused by name
	}
	g.active.enter()
	defer g.active.exit()
	at := time.Now()
	e.meter.running.Add(1)
	a, err := e.monolith.SendRaw(r.Context(), &upstream.Raw{
		Head: r.Head, Fields: fields, Body: r.Body, Peer: r.Peer, Inform: r.Inform,
	})
	if err == nil && passRaw(r, a) {
		g.counts.inBytes.Add(1)
		e.meter.running.Add(-1)
		e.meter.add(a.Status, time.Since(at))
		return true
	}
	w, full := r.Full()
	c := tracked{entry: e, request: g.door.Read(full), at: at}
	res := g.forwarder.Respond(w, c.request, e.monolith, a, err, at)
	g.end(&c, &res)
	if res.Abort {
		panic(http.ErrAbortHandler)
	}
	return true
}

// passRaw passes a response on that is at hand in whole; false: nothing is done.
func passRaw(r *listener.Raw, a *upstream.Response) bool {
	if !r.Bytes() || a.Status == http.StatusNoContent || a.Status == http.StatusNotModified {
		return false
	}
	b, ok := http1.AppendStatusLine(r.Scratch(), a.Status, cmp.Or(a.Reason(), http.StatusText(a.Status)))
	if !ok {
		return false
	}
	b, dated, ok := a.AppendFields(b)
	if !ok {
		return false
	}
	body, ok := a.Whole()
	if !ok {
		return false
	}
	b = r.EndHead(b, dated)
	b = append(b, body...)
	a.Close() // whatever the client takes, the upstream is done
	r.Send(b)
	return true
}

// matchRaw is match for a request in bytes; nil where a header decides.
func (t *table) matchRaw(r *listener.Raw) *entry {
	if len(t.entries) == 1 {
		return t.rest
	}
	method := r.Head.Method()
	switch e := t.index.find(string(r.Path), false, func(e *entry) bool { return e.admitsMethod(method) }); {
	case e == nil:
		return t.rest
	case e.match.HeaderName != "":
		return nil
	default:
		return e
	}
}

func (e *entry) admitsMethod(method []byte) bool {
	return e.match.Method == "" || string(method) == e.match.Method
}
