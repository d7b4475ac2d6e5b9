package gateway

import (
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/carve/gateway/breaker"
	"whittle/carve/gateway/extproc"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/mirror"
)

// observe takes what Envoy's ext_proc filter says of one user's request and the response to
// it, and hands both on as if whittle had forwarded the request. Envoy waits for nothing of
// it. A stream that ends before the response does leaves the request unknown.
func (g *Gateway) observe(w http.ResponseWriter, by *inbound.Request) {
	if by.URL.Path != extproc.Procedure || by.ProtoMajor != 2 {
		http.Error(w, "Not Found: Envoy's ext_proc filter sends here, over HTTP/2", http.StatusNotFound)
		return
	}
	o := observed{g: g, by: by}
	defer o.end()
	in, deadline := extproc.NewReader(by.Body, o.room), http.NewResponseController(w)
	for more := true; more; {
		_ = deadline.SetReadDeadline(time.Now().Add(g.opts.Limits.UpgradeIdle)) // HTTP/2 has one
		m, err := in.Next()
		if errors.Is(err, extproc.ErrNoRoom) && o.v != nil {
			o.v.shed()
		}
		more = err == nil && o.take(&m)
	}
	h := w.Header()
	h["Content-Type"], h["Grpc-Status"] = []string{"application/grpc"}, []string{"0"}
	w.WriteHeader(http.StatusOK)
}

// observed is a user's request whose exchange goes by at Envoy.
type observed struct {
	g  *Gateway
	by *inbound.Request // the stream
	rt *route           // nil: until the request's header has come
	v  *userRequest
	e  *entry
	p  plan
	c  candidateCall
	// streams says that the response has no end that could be waited for.
	streams bool
	// held is what messages hold of the bound on all copies.
	held int64
}

// room takes memory for a message.
func (o *observed) room(more int64) bool {
	took := o.g.copies.Take(more)
	if took {
		o.held += more
	}
	return took
}

// take takes a message. False: no more of them are needed.
func (o *observed) take(m *extproc.Message) (more bool) {
	switch {
	case m.Waits:
		if more, due := o.g.failureLog.due(failureKey{failure: "ext_proc"}, time.Now()); due {
			o.g.log.Warn("an ext_proc filter waits for whittle, which only looks on: set observability_mode: true", "peer", o.by.Peer, "more_since_the_last_line", more)
		}
		return false // by which Envoy goes on without whittle
	case o.v == nil:
		return m.Kind == extproc.RequestHeaders && o.begin(m)
	}
	switch v := o.v; m.Kind {
	case extproc.RequestBody:
		v.RequestBody(m.Body)
		v.ended.Store(m.End)
	case extproc.RequestTrailers:
		v.ended.Store(true)
	case extproc.ResponseHeaders:
		o.head(m)
		return !o.finish(m.End || o.streams)
	case extproc.ResponseBody:
		v.ResponseBody(m.Body)
		return !o.finish(m.End)
	case extproc.ResponseTrailers:
		v.ResponseTrailer(whittle.Header(headerOf(m.Fields)))
		return !o.finish(true)
	}
	return true
}

// begin opens the account of a request on a route with a candidate. False: it is on none.
func (o *observed) begin(m *extproc.Message) bool {
	r, ok := o.request(m)
	if !ok {
		return false
	}
	q := o.g.read(r)
	if o.e = o.g.table.Load().match(r); o.e.route == nil || q.Looped { // what whittle itself asks is nobody's
		return false
	}
	rt := o.e.route
	if rt.dryRunHeader != "" {
		delete(r.Header, rt.dryRunHeader) // as in serve
	}
	o.rt, o.v = rt, newUserRequest(rt, &q)
	o.e.meter.running.Add(1)
	rt.ledgerCounts.open(&o.v.ledgerEntry)
	set := rt.inForce()
	at := rt.place(o.v, &q, set)
	o.p = rt.plan(o.v, &q, set, at)
	o.v.ended.Store(m.End)
	o.c = candidateCall{rt: rt, v: o.v}
	o.c.watched = rt.safe(o.v.method) && !mirror.OneTime(r.URL.RawQuery)
	return true
}

// request is the user's request as net/http has one.
func (o *observed) request(m *extproc.Message) (_ *http.Request, ok bool) {
	r := &http.Request{Header: headerOf(m.Fields), RemoteAddr: o.by.RemoteAddr, Body: io.NopCloser(strings.NewReader("")), ContentLength: -1}
	for _, f := range m.Fields {
		switch f.Name {
		case ":method":
			r.Method = f.Value
		case ":path":
			r.RequestURI = f.Value
		case ":authority":
			r.Host = f.Value
		}
	}
	if n, err := strconv.ParseInt(r.Header.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		r.ContentLength = n
	}
	if m.End {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	var err error
	r.URL, err = url.ParseRequestURI(r.RequestURI)
	return r, err == nil && r.Method != ""
}

// head takes the header of the response, and with it which side gave it.
func (o *observed) head(m *extproc.Message) {
	v, c, h := o.v, &o.c, headerOf(m.Fields)
	status := 0
	for _, f := range m.Fields {
		if f.Name == ":status" {
			status, _ = strconv.Atoi(f.Value) // 0 is a failure
		}
	}
	c.res.Status, c.res.Sent = status, status
	c.res.Streamed = forward.IsStream(h) || status == http.StatusSwitchingProtocols
	if status == 0 {
		c.res.Failure = whittle.FailedMalform
	}
	o.streams = c.res.Streamed
	v.ResponseHead(status, whittle.Header(h))
	if !slices.Contains(o.by.Origin.Candidates, m.Cluster) {
		return
	}
	rt := o.rt
	c.res.Side = whittle.Candidate
	c.watched = c.watched && evenly(rt.watched.Add(1), rt.watch())
	v.responseCopy.Limit = rt.mostCompared(rt.env.monolith)
	rt.counts.served.Add(1)
	if permit, ok := rt.breaker.Admit(v.at, rt.bounds); ok {
		permit.User = v.user
		c.permit = permit
	} else {
		c.judged.Store(true) // nothing is to be released
	}
}

// finish hands the exchange on where the response is whole.
func (o *observed) finish(whole bool) bool {
	if !whole {
		return false
	}
	rt, v, c := o.rt, o.v, &o.c
	c.res.Latency = time.Since(v.at)
	o.e.meter.add(c.res.Sent, c.res.Latency)
	switch {
	case o.p.skip == whittle.SkipOff, o.p.skip == whittle.SkipStreaming:
		v.skip(o.p.skip)
	case c.res.Side == whittle.Monolith:
		rt.monolithServed(v, o.p, &c.res)
	default:
		c.first = whittle.Outcome{Side: whittle.Candidate, Status: c.res.Status, Failure: c.res.Failure, Latency: c.res.Latency}
		how := breaker.Good
		if c.first.Bad() {
			how = breaker.Bad
		}
		c.release(how)
		c.report()
	}
	return true
}

// end settles what has no end: what became of it is not known.
func (o *observed) end() {
	o.g.copies.Give(o.held)
	if o.v == nil {
		return
	}
	if o.c.res.Side == whittle.Candidate {
		o.c.release(breaker.Unknown)
	}
	o.e.meter.running.Add(-1)
	if !o.v.handed {
		o.v.skip(whittle.SkipUnknown)
		o.v.free()
	}
}

// headerOf is the fields as net/http has them, without those of HTTP/2's own.
func headerOf(fields []extproc.Field) http.Header {
	h := make(http.Header, len(fields))
	for _, f := range fields {
		if !strings.HasPrefix(f.Name, ":") {
			name := textproto.CanonicalMIMEHeaderKey(f.Name)
			h[name] = append(h[name], f.Value)
		}
	}
	return h
}
