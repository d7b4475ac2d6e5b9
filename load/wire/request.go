package wire

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// request is a request of the plan with all that does not change between virtual users
// rendered for its target.
type request struct {
	*plan.Request
	endpoint *endpoint
	slot     int    // the endpoint's index among a virtual user's own connections
	login    string // what is sent as authorization, unless the request has its own
	// head is the request line and the headers, without content-length, without
	// cookies and without the empty line.
	head expr.Template
	// cookie is the plan's cookie header line, sent where the user's jar has no
	// cookie to send.
	cookie expr.Template
	// whole is the entire request where all of it is constant, else nil.
	whole []byte
	// repeatable requests may be sent again when a kept-alive connection turns
	// out to have been closed (RFC 9110, section 9.2.2).
	repeatable bool
	// closes requests say that their connection is closed: a server does that, whether its
	// response says so too or not.
	closes bool
	keep   int // bytes of the response's body that are needed
}

// idempotent are the methods that may be retried (RFC 9110, section 9.2.2).
var idempotent = []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions}

func prepareRequest(r *plan.Request, at origin) *request {
	q := &request{Request: r, endpoint: at.endpoint, slot: at.slot, login: at.login}
	q.repeatable = slices.Contains(idempotent, r.Method)
	if r.ReadsBody() {
		q.keep = expr.MaxBody
	}
	q.head = expr.Template(nil).Literal(r.Method + " " + at.prefix).Join(r.Path).Literal(" HTTP/1.1\r\n")
	if !r.HasHeader("host") {
		q.head = q.head.Literal("host: " + at.host + "\r\n")
	}
	for _, h := range r.Headers {
		if text, _ := h.Value.Constant(); h.Name == "connection" && strings.EqualFold(text, "close") {
			q.closes = true
		}
		if h.Name == "cookie" {
			q.cookie = q.cookie.Literal(h.Name + ": ").Join(h.Value).Literal("\r\n")
			continue
		}
		line := expr.Template(nil).Literal(h.Name + ": ").Join(h.Value).Literal("\r\n")
		q.head = q.head.Join(optional(line, h.Absent))
	}
	if r.HasBody && r.ContentType != "" {
		q.head = q.head.Literal("content-type: " + r.ContentType + "\r\n")
	}
	if q.login != "" && !r.HasHeader("authorization") && r.Logins == nil {
		q.head = q.head.Literal("authorization: " + q.login + "\r\n")
	}
	if !r.HasHeader("user-agent") {
		q.head = q.head.Literal("user-agent: whittle\r\n")
	}
	if !r.HasHeader("accept") {
		q.head = q.head.Literal("accept: */*\r\n")
	}
	head, fixedHead := q.head.Join(q.cookie).Constant()
	body, fixedBody := r.Body.Constant()
	if fixedHead && fixedBody {
		b := []byte(head)
		if r.SendsLength() {
			b = appendLength(b, len(body))
		}
		q.whole = append(append(b, "\r\n"...), body...)
	}
	return q
}

// optional is a line that is not there where absent says so.
func optional(line expr.Template, absent func(*expr.Scope) bool) expr.Template {
	if absent == nil {
		return line
	}
	return expr.Template(nil).Expression(expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		if absent(s) {
			return expr.TextValue("")
		}
		return expr.TextValue(string(line.Render(nil, s)))
	}}, expr.AsText)
}

func appendLength(b []byte, n int) []byte {
	b = append(b, "content-length: "...)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, "\r\n"...)
}

// render writes the request for one virtual user. extra are further headers, as
// name and value in turn; scratch is a buffer for the body; cookies are the
// user's, nil for none.
func (q *request) render(dst, scratch []byte, s *expr.Scope, extra []string, cookies *jar, now time.Time) (request, body []byte) {
	if q.NoCookies {
		cookies = nil
	}
	if q.whole != nil && len(extra) == 0 && cookies == nil {
		return append(dst, q.whole...), scratch
	}
	dst = q.head.Render(dst, s)
	plain := len(dst)
	if cookies != nil {
		dst = cookies.appendHeader(dst, q.endpoint, requestTarget(dst), now)
	}
	if len(dst) == plain {
		dst = q.cookie.Render(dst, s)
	}
	for i := 0; i+1 < len(extra); i += 2 {
		dst = append(append(dst, extra[i]...), ": "...)
		dst = append(expr.AppendHeader(dst, extra[i+1]), "\r\n"...)
	}
	scratch = q.Body.Render(scratch[:0], s)
	if q.SendsLength() {
		dst = appendLength(dst, len(scratch))
	}
	dst = append(append(dst, "\r\n"...), scratch...)
	return dst, scratch
}
