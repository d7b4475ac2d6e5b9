package front

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"

	"whittle"
	"whittle/systems/ingest/event"
)

// response is a response's status and header. The body is the call's out.
type response struct {
	status int
	// retry is after how many seconds to come back. 0: nothing is said.
	retry int
	// last closes the connection.
	last bool
}

// version is the version of the response format. Fields may be added within a
// version; existing ones keep their name and meaning.
const version = "1"

// statusOf is the HTTP status for a fault of the whole body. A body over a
// limit gets 413, upon which SDKs halve their batch.
func statusOf(code whittle.Code) int {
	switch code {
	case whittle.Invalid:
		return http.StatusBadRequest
	case whittle.ResourceExhausted:
		return http.StatusRequestEntityTooLarge
	}
	return code.HTTPStatus()
}

// The seconds of Retry-After: at least, at most, and where no rate is measured.
const (
	retryMin     = 1
	retryMax     = 60
	retryUnknown = 5
)

// retryAfter estimates in how many seconds the stream has capacity for so many
// bytes: the missing bytes divided by the rate at which capacity becomes free.
func (f *Front) retryAfter(need int64) int {
	capacity := f.o.Stream.Capacity()
	return retryIn(need+slack+f.appendBytes.Load()-capacity.Free, capacity.Rate)
}

func retryIn(missing int64, rate float64) int {
	switch {
	case rate <= 0:
		return retryUnknown
	case missing <= 0:
		return retryMin
	}
	return int(max(retryMin, min(retryMax, math.Ceil(float64(missing)/rate))))
}

// refusalResponse is the response to a request of which nothing was stored.
func (c *call) refusalResponse(no refusal) response {
	c.f.metrics.refused.WithLabelValues(strconv.Itoa(no.status)).Inc()
	a := response{status: no.status, last: no.status == http.StatusRequestTimeout}
	s := rejected
	if no.status == http.StatusTooManyRequests || no.status == http.StatusRequestTimeout || no.status >= 500 {
		s = unavailable
		a.retry = c.f.retryAfter(c.need)
		if no.retry > 0 {
			a.retry = no.retry
		}
	}
	c.f.metrics.refusedOf.WithLabelValues(c.source.name, strconv.Itoa(no.status)).Inc()
	c.out = appendRefusal(nil, s, no, c.id)
	return a
}

// refuse responds to a request that is not for an endpoint. Somebody who sent events
// there is told apart from one who only looks by the method.
func (f *Front) refuse(w http.ResponseWriter, r *http.Request, kind event.Kind, id string, no refusal) {
	c := call{f: f, kind: kind, id: id, received: f.o.Now(), source: f.stranger()}
	if key, ok := credential(r); ok {
		c.identify(key)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		c.noteUnread(r, &no)
	}
	a := c.refusalResponse(no)
	f.metrics.request(kind, a.status)
	f.send(w, r, id, a, c.out)
}

func appendRefusal(b []byte, s status, no refusal, id string) []byte {
	b = append(b, `{"v":`+version+`,"success":false,"status":"`...)
	b = append(append(b, statusNames[s]...), `","reason":`...)
	b = appendLetter(appendString(b, no.reason), no.letter)
	b = append(b, `,"requestId":`...)
	return append(appendString(b, id), "}\n"...)
}

// buildResponse makes the response from the events' outcomes.
func (c *call) buildResponse(r *http.Request) response {
	var t tally
	for i := range c.outcomes {
		t.add(&c.outcomes[i])
	}
	c.f.metrics.count(&t)
	c.source.count(&t)
	a := response{status: t.httpStatus(c.batch)}
	if a.status == http.StatusTooManyRequests || a.status >= 500 {
		a.retry = c.f.retryAfter(c.need)
	}
	b := append(c.response, `{"v":`+version+`,"success":`...)
	b = strconv.AppendBool(b, t.worst <= duplicate)
	b = append(b, `,"status":"`...)
	b = append(append(b, statusNames[t.worst]...), '"')
	if t.of[accepted]+t.of[duplicate] > 0 {
		b = append(b, `,"durability":"`...)
		b = append(append(b, c.f.o.Stream.Durability()...), '"')
	}
	if c.batch {
		b = c.appendBatch(b, &t, r)
	} else {
		b = c.outcomes[0].appendDetail(b)
	}
	b = append(b, `,"requestId":`...)
	c.out = append(appendString(b, c.id), "}\n"...)
	return a
}

// respond writes the response.
func (c *call) respond(w http.ResponseWriter, r *http.Request, a response) {
	c.f.metrics.request(c.kind, a.status)
	now := c.appended // what came after it is next to nothing
	if now.IsZero() {
		now = c.f.o.Now()
	}
	c.f.metrics.duration.Observe(now.Sub(c.received).Seconds())
	if c.direct != nil && c.f.cors.any && c.direct.respond(a, c.id, c.out) {
		return
	}
	c.f.send(w, r, c.id, a, c.out)
}

var (
	jsonType  = []string{"application/json"}
	challenge = []string{`Bearer realm="ingest"`}
	closing   = []string{"close"}
)

// drain reads what is left of a short body, so that the next request can be found behind it,
// and reports whether it did. A client that asks first is told by the response not to send it.
func drain(w http.ResponseWriter, r *http.Request) bool {
	if r.Header["Expect"] != nil {
		return true // net/http sees to it
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyGrace)) // as in read
	n, err := io.CopyN(io.Discard, r.Body, maxDrained)
	return n < maxDrained && errors.Is(err, io.EOF)
}

// maxDrained is as much as net/http reads of a body that nobody wants.
const maxDrained = 256 << 10

func (f *Front) send(w http.ResponseWriter, r *http.Request, id string, a response, body []byte) {
	h := f.mark(w, r, id)
	h["Content-Type"] = jsonType
	if a.retry > 0 {
		h["Retry-After"] = []string{strconv.Itoa(a.retry)}
	}
	if a.status == http.StatusUnauthorized {
		// Not Basic, for which a browser would ask the user for a password.
		h["Www-Authenticate"] = challenge
	}
	if a.last || a.status >= http.StatusBadRequest && !drain(w, r) {
		h["Connection"] = closing
	}
	// net/http counts for itself what fits its buffer.
	if len(body) > 2<<10 {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body) // a client that is gone will ask again
}

// tally adds the outcomes of one request up.
type tally struct {
	of    [statuses]int
	worst status
	// late and full say of all unknown and all unavailable events that time
	// ran out and that there was no room; of the rejected, that they are too large.
	late, full, large int
}

func (t *tally) add(o *outcome) {
	t.of[o.status]++
	t.worst = max(t.worst, o.status)
	switch {
	case o.status == unknown && o.code == whittle.DeadlineExceeded:
		t.late++
	case o.status == unavailable && o.code == whittle.ResourceExhausted:
		t.full++
	case o.status == rejected && o.code == whittle.ResourceExhausted:
		t.large++
	}
}

// httpStatus is 200 only when every event is stored. While any event can still
// be stored by sending it again, it is a status upon which clients retry: the
// stored ones are then duplicates. When only rejected events are left it is
// 400, upon which clients do not retry. A single event that is too large gets
// 413, but not one in a batch, whose client would halve the batch in vain.
func (t *tally) httpStatus(batch bool) int {
	switch {
	case t.of[unknown] > 0 && t.late == t.of[unknown] && t.of[unavailable] == 0:
		return http.StatusGatewayTimeout
	case t.of[unknown] > 0:
		return http.StatusServiceUnavailable
	case t.of[unavailable] > 0 && t.full == t.of[unavailable]:
		return http.StatusTooManyRequests
	case t.of[unavailable] > 0:
		return http.StatusServiceUnavailable
	case t.of[rejected] > 0 && t.large > 0 && !batch:
		return http.StatusRequestEntityTooLarge
	case t.of[rejected] > 0:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
