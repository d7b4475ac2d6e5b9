package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/listener"
	"whittle/carve/gateway/mirror"
	"whittle/carve/gateway/upstream"
	"whittle/internal/http1"
	"whittle/internal/httpfield"
	"whittle/internal/notify"
)

// This file follows one request, from its arrival to the hand-over of its copy.
// Each step calls the package that does the work.

// ServeHTTP serves one request: it finds the route, computes the request's facts, gets a
// response, and counts the result.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.active.enter()
	defer g.active.exit()
	if g.clients.Draining() {
		maps.Copy(w.Header(), forward.Closing(r))
	}
	q := g.read(r)
	if q.Origin.Candidates != nil {
		g.observe(w, &q)
		return
	}
	t := g.table.Load()
	e := t.match(r)
	previewed := e.route != nil && e.route.preview != nil && e.route.takePreview(&q)
	c := g.begin(e, q)
	defer e.meter.running.Add(-1)
	c.preview = previewed
	if g.opts.Access != nil || g.opts.RequestID != "" {
		c.accessed, w = g.newAccessed(w, &c.request)
	}
	var rec *recording
	if share := g.recordedShare(e); share > 0 {
		if rec = g.newRecording(w, &c, share); rec != nil {
			w = rec.observe()
			defer rec.drop()
		}
	}
	res := g.respond(w, &c, t)
	if r.ProtoMajor == 2 { // what is left is written when this returns, and would wait for ever
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(g.opts.Limits.StallTimeout))
	}
	g.end(&c, &res)
	if rec != nil {
		rec.finish(&res)
	}
	if res.Abort {
		panic(http.ErrAbortHandler)
	}
}

// read works out a request's facts, and sees a proxy that is not trusted.
func (g *Gateway) read(r *http.Request) inbound.Request {
	q := g.requests.Read(r)
	if !q.Trusted && q.Claims() {
		g.seeProxy(q.Peer)
	}
	return q
}

// tracked is one request between begin and end.
type tracked struct {
	entry   *entry
	request inbound.Request
	at      time.Time
	preview bool // a tester's, for the candidate
	// accessed is nil where no request is logged or named.
	accessed *accessed
}

func (g *Gateway) begin(e *entry, r inbound.Request) tracked {
	e.meter.running.Add(1)
	return tracked{entry: e, request: r, at: time.Now()}
}

// respond refuses the request, or has its route or the monolith respond.
func (g *Gateway) respond(w http.ResponseWriter, c *tracked, t *table) forward.Result {
	r, limit := &c.request, g.opts.Limits.BodyBytes
	switch {
	case r.Origin.Redirect != nil:
		return redirect(w, r)
	case r.Looped:
		g.logLoop(r, c.entry.name)
		return refuse(w, r, http.StatusLoopDetected, loopText)
	case r.TwoHosts: // the upstream may choose the other one
		return refuse(w, r, http.StatusBadRequest, "Bad Request: the host field names another host than :authority.\n")
	case r.ProtoMajor == 2 && r.Host == "":
		return refuse(w, r, http.StatusBadRequest, "Bad Request: there is neither :authority nor a host field.\n")
	case r.Method == http.MethodConnect: // only forward proxies serve it
		return refuse(w, r, http.StatusNotImplemented, http.StatusText(http.StatusNotImplemented)+"\n")
	case limit >= 0 && r.ContentLength > limit:
		return refuse(w, r, http.StatusRequestEntityTooLarge, http.StatusText(http.StatusRequestEntityTooLarge)+"\n")
	case r.Origin.Sink:
		return g.sink(w, c)
	case c.entry.route != nil:
		return c.entry.route.serve(w, *r, c.preview)
	}
	return g.forwarder.Forward(w, *r, c.entry.monolith, forward.Options{})
}

// recordedShare is the share of a rule's requests that are recorded.
func (g *Gateway) recordedShare(e *entry) whittle.Share {
	switch {
	case g.opts.Record == nil:
		return 0
	case e.name == "":
		return whittle.Share(g.records.rest.Load())
	}
	return e.record
}

// redirect sends a request to the same URL by HTTPS.
func redirect(w http.ResponseWriter, r *inbound.Request) forward.Result {
	to := r.Origin.Redirect
	host := r.Host
	if h, port, err := net.SplitHostPort(host); err == nil && port != "" {
		if host = h; strings.Contains(h, ":") {
			host = "[" + h + "]"
		}
	}
	target := r.URL.RequestURI()
	if host == "" || r.Method == http.MethodConnect || !strings.HasPrefix(target, "/") {
		return refuse(w, r, http.StatusBadRequest, "Bad Request: there is no URL to redirect to.\n")
	}
	if to.Port != httpsPort {
		host += ":" + strconv.Itoa(to.Port)
	}
	extra := http.Header{"Location": {"https://" + host + target}}
	if r.Length != 0 {
		maps.Copy(extra, lastOf(r))
	}
	forward.WriteError(w, extra, to.Status)
	return forward.Result{Sent: to.Status, Wrote: true}
}

// httpsPort is the one that a URL need not name.
const httpsPort = 443

// refuse is whittle's own response to a request that no upstream gets.
func refuse(w http.ResponseWriter, r *inbound.Request, status int, text string) forward.Result {
	forward.WriteErrorText(w, lastOf(r), status, text)
	return forward.Result{Sent: status, Wrote: true, Failure: whittle.FailedCanceled, Detail: "refused with " + strconv.Itoa(status)}
}

// lastOf makes a request the last on its connection if its unread body would be read as the
// next request. It returns the fields that say so.
func lastOf(r *inbound.Request) http.Header {
	if r.Conn != nil {
		r.Conn.EndRequests()
	}
	return forward.Closing(r.Request)
}

func (g *Gateway) end(c *tracked, res *forward.Result) {
	took := time.Since(c.at)
	c.entry.meter.add(res.Sent, took)
	g.logFailure(c.request.Context(), c.entry.name, res.Side, res.Failure, res.Detail, res.Sent)
	if g.opts.Access != nil {
		g.logAccess(c, res, took)
	}
}

// ServeRaw serves a request that only passes through, in bytes from one side to the
// other: no header is taken apart into a map, and no route or recorder looks
// at it. Where the response turns out not to be everyday, it goes on as any other.
func (g *Gateway) ServeRaw(r *listener.Raw) bool {
	if r.Origin().Certificate != "" {
		return false
	}
	t := g.table.Load()
	e := t.matchRaw(r)
	if e == nil || e.route != nil || g.recordedShare(e) > 0 || !e.monolith.TakesRaw() || len(r.Body) > upstream.MaxRaw ||
		g.opts.Limits.BodyBytes >= 0 && int64(len(r.Body)) > g.opts.Limits.BodyBytes {
		return false
	}
	fields, claims, ok := g.requests.AppendRaw(r.Scratch(), r.Head, r.Peer(), r.HTTPS())
	if !ok {
		return false
	}
	if claims {
		g.seeProxy(r.Peer())
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
		w = c.accessed.observe(w)
	}
	res := g.forwarder.Respond(w, c.request, e.monolith, a, err, at)
	g.end(&c, &res)
	if res.Abort {
		panic(http.ErrAbortHandler)
	}
}

// nameRaw adds the request's id to its fields.
func (g *Gateway) nameRaw(fields []byte) (named []byte, id string) {
	name := g.opts.RequestID
	if name == "" {
		return fields, ""
	}
	id = newRequestID()
	named, _ = http1.AppendField(fields, name, id) // both are of this package's making
	return named, id
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

// active counts the requests under way. Unlike a WaitGroup it may grow during a wait,
// and a wait has a time limit.
type active struct {
	n     atomic.Int64
	empty atomic.Pointer[notify.Signal] // set while somebody waits
}

func (a *active) enter() { a.n.Add(1) }

func (a *active) exit() {
	if a.n.Add(-1) > 0 {
		return
	}
	if s := a.empty.Load(); s != nil {
		s.Notify()
	}
}

// wait returns when nothing is under way, or after limit.
func (a *active) wait(limit time.Duration) {
	none := notify.New()
	a.empty.Store(&none)
	none.Await(limit, func() bool { return a.n.Load() <= 0 })
}

// logFailure logs an upstream's failure. A request that its client ended is none.
func (g *Gateway) logFailure(ctx context.Context, route string, side whittle.Side, failure whittle.Failure, detail string, sent int) {
	if failure == whittle.NoFailure || failure == whittle.FailedCanceled {
		return
	}
	more, due := g.failureLog.due(failureKey{route, side, failure}, time.Now())
	if !due {
		return
	}
	g.log.LogAttrs(ctx, slog.LevelWarn, "an upstream failed a request",
		slog.String("route", route), slog.String("side", side.String()), slog.String("failure", string(failure)),
		slog.String("detail", g.loggedDetail(detail)), slog.Int("client_got", sent), slog.Int64("more_since_the_last_line", more))
}

// serve lets the candidate or the monolith respond on a route that has both, and
// accounts for the request.
func (rt *route) serve(w http.ResponseWriter, r inbound.Request, preview bool) forward.Result {
	if rt.dryRunHeader != "" {
		delete(r.Header, rt.dryRunHeader) // a client must not declare its write a dry run
		delete(r.Trailer, rt.dryRunHeader)
	}
	if r.Header["X-Idempotency-Key"] == nil && rt.idempotent(r.Method) {
		r.Header["X-Idempotency-Key"] = noValues
	}
	v := newUserRequest(rt, &r)
	rt.ledgerCounts.open(&v.ledgerEntry)
	defer v.finish()
	set := rt.inForce()
	u := user{w: w, r: r}
	defer u.end()
	if preview {
		if res, ok := rt.byPreview(v, &u); ok {
			return res
		}
	}
	at := rt.place(v, &r, set)
	plan := rt.plan(v, &r, set, at)
	if set.share > 0 && at.in(set.share, forShare) {
		if res, ok := rt.byCandidate(v, &u, &plan); ok {
			return res
		}
	}
	if rt.spec.Group != "" && at.in(rt.setting.Load().share, forShare) && !at.in(set.share, forShare) {
		rt.counts.heldByGroup.Add(1)
	}
	return rt.byMonolith(v, &u, plan)
}

// place finds the user's sticky position. It logs a warning where users cannot be
// distinguished.
func (rt *route) place(v *userRequest, r *inbound.Request, set *setting) position {
	at, keyed := rt.split.placeOf(r)
	v.user, v.chance = uint64(at), firstChance(set.share, rt.spec.Mirror.Sample)
	if !keyed {
		rt.unkeyed.Do(func() {
			rt.env.g.log.Warn("a request has no sticky key; such users are placed by their address",
				"route", rt.name, "by", rt.spec.Rollout.Sticky.By, "name", rt.spec.Rollout.Sticky.Name)
		})
	}
	return at
}

// plan says whether a request is mirrored. The zero plan mirrors it; otherwise it is
// skipped for a reason, or shed.
type plan struct {
	skip string
	shed bool
}

// plan decides before the request is forwarded, so that nothing is copied that will
// not be mirrored.
func (rt *route) plan(v *userRequest, r *inbound.Request, set *setting, at position) plan {
	m := &rt.spec.Mirror
	switch {
	case set.phase == whittle.PhaseOff:
		return plan{skip: whittle.SkipOff}
	case !rt.mirrorable(r.Method), mirror.Overrides(r.Request):
		return plan{skip: whittle.SkipNotSafe}
	case r.Streams:
		return plan{skip: whittle.SkipStreaming}
	case !at.in(m.Sample, forSample):
		return plan{skip: whittle.SkipSampled}
	case v.length > m.MaxBody:
		return plan{skip: whittle.SkipTooLarge}
	}
	return plan{shed: rt.shedder.Sheds(v.at)}
}

// safe reports whether a request may be mirrored as it is: its method is safe (RFC
// 9110, section 9.2.1), or the config says that the route is.
func (rt *route) safe(method string) bool { return rt.spec.Safe || httpfield.IsSafe(method) }

// mirrorable adds to safe requests the writes that carry the dry-run header.
func (rt *route) mirrorable(method string) bool { return rt.safe(method) || rt.dryRunHeader != "" }

// idempotent reports whether the monolith may be asked after the candidate may have
// acted: the request is safe, or repeating it changes nothing (RFC 9110, section
// 9.2.2).
func (rt *route) idempotent(method string) bool {
	return rt.safe(method) || method == http.MethodPut || method == http.MethodDelete
}

// noValues stands for net/http's silent sign that a request may be repeated on
// a new connection, where a kept one turned out to be closed: the field is
// there and has no value, so nothing of it is sent.
var noValues = []string{}

// byMonolith passes the request to the monolith and mirrors it as planned.
func (rt *route) byMonolith(v *userRequest, u *user, p plan) forward.Result {
	var how forward.Options
	mirrors := p == plan{}
	if mirrors {
		how.Tap = &v.copies
		v.watchEnd(u.r.Request)
	}
	res := rt.env.g.forwarder.Forward(u.w, u.r, rt.env.monolith, how)
	rt.monolithServed(v, p, &res)
	return res
}

// monolithServed reports what the monolith gave a user, and mirrors the request as planned.
func (rt *route) monolithServed(v *userRequest, p plan, res *forward.Result) {
	rt.observeMonolith(v, res)
	rt.report(whittle.Outcome{Side: whittle.Monolith, Status: res.Status, Failure: res.Failure, Latency: res.Latency}, v)
	switch {
	case p.skip != "":
		v.skip(p.skip)
	case p.shed:
		v.shed()
	default:
		rt.mirror(v, res)
	}
}

// observeMonolith gives the monolith's latency to the shedder, if it responded.
func (rt *route) observeMonolith(v *userRequest, res *forward.Result) {
	if res.Failure == whittle.NoFailure && !res.Streamed {
		rt.shedder.Observe(res.Latency, v.unmirrored, v.at.Add(res.Latency))
	}
}

// report reports the outcome of a user's request.
func (rt *route) report(o whittle.Outcome, v *userRequest) {
	if f := rt.env.g.opts.Outcome; f != nil {
		o.Route, o.User, o.At = rt.name, v.user, v.at
		f(o)
	}
}

// mirror enqueues a request that the monolith has served, or settles it with the
// reason why it cannot be mirrored.
func (rt *route) mirror(v *userRequest, res *forward.Result) {
	switch {
	case res.Failure == whittle.FailedCanceled:
		v.skip(whittle.SkipCanceled)
		return
	case res.Failure == whittle.FailedBusy: // the monolith was not asked, and has enough to do
		v.shed()
		return
	case res.Streamed:
		v.skip(whittle.SkipStreaming)
		return
	case res.Failure != whittle.NoFailure:
		// The candidate is asked anyway. If only requests counted to which the
		// monolith responds, two sides that fail alike would seem to differ.
		v.noResponse(whittle.Response{Failure: res.Failure, Detail: res.Detail})
	}
	v.served = whittle.Monolith
	v.response.Latency = res.Latency
	rt.submit(v)
}

// submit offers a request with complete copies to the queue. It does not block. The
// caller must not use the request afterwards.
func (rt *route) submit(v *userRequest) {
	skip, shed := v.incomplete()
	switch {
	case skip != "":
		v.skip(skip)
		return
	case shed, !v.reserve(headerCost(v.header) + headerCost(v.response.Header) + headerCost(v.response.Trailer)):
		v.shed()
		return
	}
	v.handed = true
	switch m := &rt.spec.Mirror; rt.mirrorQueue.Offer(v, m.Concurrency, m.Queue) {
	case mirror.Full:
		v.handed = false
		v.shed()
	case mirror.Closed:
		v.handed = false
		v.skip(whittle.SkipInterrupted)
	}
}
