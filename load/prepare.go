package load

import (
	"strconv"
	"time"
)

// prepared is a request made ready for its target: all that does not change
// from one virtual user to the next is one literal.
type prepared struct {
	*request
	endpoint *endpoint
	slot     int // the endpoint's place among a virtual user's own connections
	// head is the request line and the headers, without content-length, without
	// cookies and without the empty line.
	head template
	// cookie is the cookie header that the plan gives, with its line's end, for
	// where the user's jar has none.
	cookie template
	// whole is the entire request where nothing in it varies, else nil.
	whole []byte
	// repeatable requests may be sent again when a kept-alive connection turns
	// out to have been closed (RFC 9110, section 9.2.2).
	repeatable bool
	keep       int  // bytes of the answer's body that somebody reads
	reads      bool // somebody looks at the answer beyond its status
}

// prepare makes all requests of a plan ready for a target.
func prepare(p *Plan, target, protocol string) (map[*request]*prepared, *origins, error) {
	all := newOrigins(target, p.HTTP.Insecure)
	all.protocol = protocol
	out := map[*request]*prepared{}
	for _, r := range p.requests() {
		if r.address != nil {
			out[r] = &prepared{request: r}
			continue
		}
		at, err := all.find(r.origin)
		if err != nil {
			return nil, nil, err
		}
		out[r] = prepareOne(r, at)
	}
	return out, all, nil
}

func prepareOne(r *request, at origin) *prepared {
	q := &prepared{request: r, endpoint: at.endpoint, slot: at.slot}
	q.repeatable = r.method == "GET" || r.method == "HEAD" || r.method == "PUT" || r.method == "DELETE" || r.method == "OPTIONS"
	q.reads = len(r.captures) > 0 || len(r.expect) > 0
	if r.readsBody() {
		q.keep = maxKept
	}
	q.head = template(nil).literal(r.method + " " + at.prefix).join(r.path).literal(" HTTP/1.1\r\n")
	if !r.has("host") {
		q.head = q.head.literal("host: " + at.host + "\r\n")
	}
	for _, h := range r.headers {
		if h.name == "cookie" {
			q.cookie = q.cookie.literal(h.name + ": ").join(h.value).literal("\r\n")
			continue
		}
		q.head = q.head.literal(h.name + ": ").join(h.value).literal("\r\n")
	}
	if !r.has("user-agent") {
		q.head = q.head.literal("user-agent: whittle\r\n")
	}
	if !r.has("accept") {
		q.head = q.head.literal("accept: */*\r\n")
	}
	head, fixedHead := q.head.join(q.cookie).constant()
	body, fixedBody := r.body.constant()
	if fixedHead && fixedBody {
		b := []byte(head)
		if r.sendsLength() {
			b = appendLength(b, len(body))
		}
		q.whole = append(append(b, "\r\n"...), body...)
	}
	return q
}

func (r *request) has(header string) bool {
	for _, h := range r.headers {
		if h.name == header {
			return true
		}
	}
	return false
}

// sendsLength says whether content-length is sent: always with a body, and
// without one where a method that usually has one would leave servers waiting.
func (r *request) sendsLength() bool {
	return r.hasBody || r.method == "POST" || r.method == "PUT" || r.method == "PATCH"
}

func appendLength(b []byte, n int) []byte {
	b = append(b, "content-length: "...)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, "\r\n"...)
}

// render writes the request for one virtual user. extra are headers of the
// caller's; scratch is for the body; cookies are the user's, nil for none.
func (q *prepared) render(dst, scratch []byte, s *scope, extra []string, cookies *jar, now time.Time) (request, body []byte) {
	if q.whole != nil && len(extra) == 0 && cookies == nil {
		return append(dst, q.whole...), scratch
	}
	dst = q.head.render(dst, s)
	plain := len(dst)
	if cookies != nil {
		dst = cookies.appendHeader(dst, q.endpoint, requestTarget(dst), now)
	}
	if len(dst) == plain {
		dst = q.cookie.render(dst, s)
	}
	for i := 0; i+1 < len(extra); i += 2 {
		dst = append(append(dst, extra[i]...), ": "...)
		dst = append(appendHeader(dst, extra[i+1]), "\r\n"...)
	}
	scratch = q.body.render(scratch[:0], s)
	if q.sendsLength() {
		dst = appendLength(dst, len(scratch))
	}
	dst = append(append(dst, "\r\n"...), scratch...)
	return dst, scratch
}
