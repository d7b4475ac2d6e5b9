package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/bodycopy"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/upstream"
)

// userRequest is one user's request on a route, on its way to the comparison. The user's
// goroutine owns it until it is enqueued, and then a worker.
type userRequest struct {
	ledgerEntry
	copies
	rt *route
	at time.Time
	// user is the hash of the sticky key.
	user uint64
	// chance is that of the candidate's being asked first among those compared.
	chance float64
	// handed says that the queue has it; only the user's goroutine asks.
	handed bool
	// unmirrored says that nothing was being mirrored when the request came.
	unmirrored bool

	facts                inbound.Facts
	method, target, host string
	header               http.Header

	// served says who gave the response, or is asked first where unserved: it is a mirror's, and
	// whittle asks both sides.
	served   whittle.Side
	unserved bool
	// broken is what the candidate did where the monolith had to respond in its
	// place; nil where it has not been asked.
	broken *whittle.Response
}

// copies are what is kept of an exchange's two messages, within the route's budget. They are
// the tap of their exchange.
type copies struct {
	budget *bodycopy.Budget
	// body is the request's, where it was read before anyone was asked
	// (whole); else requestCopy has it.
	body        []byte
	whole       bool
	requestCopy bodycopy.Copy
	// length is the body's announced length, −1 where none was.
	length int64
	ended  atomic.Bool // a body of unknown length was read to its end

	response     whittle.Response
	responseCopy bodycopy.Copy
	mostCompared int64 // of a response
	// reserved is what is held of the budget in addition.
	reserved int64
}

func newUserRequest(rt *route, r *inbound.Request) *userRequest {
	v := &userRequest{
		rt: rt, at: time.Now(), unmirrored: !rt.mirrorQueue.Busy(), facts: r.Facts,
		method: r.Method, target: r.RequestURI, host: r.Host, header: r.Header,
	}
	v.facts.Conn = nil // the request may outlive it
	v.budget, v.length, v.mostCompared = &rt.budget, r.Length, rt.mostCompared(rt.env.candidate)
	v.requestCopy = bodycopy.Copy{Limit: rt.spec.Mirror.MaxBody, Budget: v.budget}
	v.responseCopy = bodycopy.Copy{Limit: v.mostCompared, Budget: v.budget}
	return v
}

// mostResponse bounds a mirrored request's response, so that a route with little memory
// can hold a few at once.
func (rt *route) mostResponse(u *upstream.Upstream) int64 {
	return min(u.MaxResponse(), max(rt.spec.Mirror.MaxMemory/4, 1))
}

// mostCompared bounds the copy of a user's response, if the other side is asked as
// well. The bound is the same for both sides: otherwise equal long responses would be
// a failure of one side only.
func (rt *route) mostCompared(other *upstream.Upstream) int64 {
	return min(rt.spec.Mirror.MaxBody, rt.mostResponse(other))
}

// watchEnd lets the request see the end of a body whose length is not announced.
func (v *copies) watchEnd(r *http.Request) {
	if v.length < 0 {
		r.Body = &forward.Observed{ReadCloser: r.Body, See: func(_ []byte, err error) {
			if errors.Is(err, io.EOF) {
				v.ended.Store(true)
			}
		}}
	}
}

// The following are the tap.

func (v *copies) RequestBody(p []byte) {
	if !v.whole {
		v.requestCopy.Add(p)
	}
}

func (v *copies) ResponseHead(status int, h whittle.Header) {
	v.response.Status, v.response.Header = status, h
}

func (v *copies) ResponseBody(p []byte)            { v.responseCopy.Add(p) }
func (v *copies) ResponseTrailer(h whittle.Header) { v.response.Trailer = h }

// noResponse puts a failure in the place of what was copied of a response; if one
// follows, it is the monolith's.
func (v *copies) noResponse(a whittle.Response) {
	v.response = a
	v.responseCopy.Drop()
	v.responseCopy = bodycopy.Copy{Limit: v.mostCompared, Budget: v.budget}
}

// incomplete says why the copies cannot be compared: a reason to skip, or that
// the route's memory was used up.
func (v *copies) incomplete() (skip string, shed bool) {
	if !v.whole {
		state, size := v.requestCopy.Now()
		switch {
		case state == bodycopy.Cut:
			return whittle.SkipTooLarge, false
		case state == bodycopy.Exhausted:
			return "", true
		case v.length >= 0 && size != v.length, v.length < 0 && !v.ended.Load():
			return whittle.SkipUnread, false
		}
	}
	switch state, _ := v.responseCopy.Now(); state {
	case bodycopy.Cut:
		return whittle.SkipTooLarge, false
	case bodycopy.Exhausted:
		return "", true
	}
	return "", false
}

// finish accounts for a request that ends without having been handed over: by
// then it is settled, unless the request's goroutine panicked.
func (v *userRequest) finish() {
	if !v.handed {
		v.skip(whittle.SkipInterrupted)
		v.free()
	}
}

// reserve takes n more bytes of the route's budget.
func (v *copies) reserve(n int64) bool {
	if !v.budget.Take(n) {
		return false
	}
	v.reserved += n
	return true
}

// room is reserve for a call that may ask several times. It sets outOfMemory to
// whether the last was refused.
func (v *copies) room(outOfMemory *bool) func(more int64) bool {
	return func(more int64) bool {
		*outOfMemory = !v.reserve(more)
		return !*outOfMemory
	}
}

// free releases everything that the request holds of the budget.
func (v *copies) free() {
	v.requestCopy.Drop()
	v.responseCopy.Drop()
	v.budget.Give(v.reserved)
	v.reserved = 0
}

// exchange moves the copies into an exchange of its own memory. False: the
// budget has no room for that.
func (v *userRequest) exchange() (*whittle.Exchange, bool) {
	x := &whittle.Exchange{
		Route: v.rt.spec.Name, Conn: v.facts.ConnNumber, User: v.user, FirstChance: v.chance, At: v.at, Served: v.served, Unserved: v.unserved,
		Request: whittle.Request{Method: v.method, Target: v.target, Host: v.host, Header: whittle.Header(v.header), Body: v.body},
	}
	if !v.whole && !v.flatten(&v.requestCopy, &x.Request.Body) {
		return nil, false
	}
	served := v.response
	if served.Body == nil && !v.flatten(&v.responseCopy, &served.Body) {
		return nil, false
	}
	if v.served == whittle.Candidate {
		x.Candidate = served
	} else {
		x.Monolith = served
	}
	if v.broken != nil {
		x.Candidate, x.FellBack = *v.broken, true
	}
	return x, true
}

func (v *copies) flatten(c *bodycopy.Copy, into *[]byte) bool {
	body, ok := c.Flatten()
	*into = body
	v.reserved += int64(len(body))
	return ok
}

// outbound is the header that either side gets alongside the user's request: the
// user's, as it is passed on.
func (v *userRequest) outbound() whittle.Header {
	q := inbound.Request{Request: &http.Request{Header: v.header, Host: v.host}, Facts: v.facts}
	return q.Outbound()
}

// headerCost estimates what a header holds, in bytes: its text, and what the
// map and the slices take per field.
func headerCost(h map[string][]string) int64 {
	const perField = 64
	n := int64(0)
	for name, values := range h {
		n += perField + int64(len(name))
		for _, v := range values {
			n += int64(len(v))
		}
	}
	return n
}

// user is the user's side of a request.
type user struct {
	w http.ResponseWriter
	r inbound.Request
	// ahead read the body for r, each in place of the one before. They end with the
	// request.
	ahead []*inbound.Body
}

// end ends what reads the user's body.
func (u *user) end() {
	for _, b := range u.ahead {
		b.Detach()
	}
}

// holdBody puts the body that has been read in the place of the client's.
func (u *user) holdBody(body []byte) {
	r := *u.r.Request
	u.r.Request = &r
	u.r.Body, u.r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	u.r.HoldsBody(int64(len(body)))
	u.w = &holder{w: u.w, through: true}
}

// failing returns a reader that gives an error again; nil: nothing.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
