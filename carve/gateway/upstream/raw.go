package upstream

import (
	"context"
	"net/http"
	"strings"

	"whittle/internal/http1"
)

// Raw is a client's request in bytes, on its way to an upstream.
type Raw struct {
	// Head is the request's as it came: its target is in origin form.
	Head *http1.RequestHead
	// Fields are all lines that go upstream but Host, each with its line end.
	Fields []byte
	Body   []byte
	// Inform is as in Request.
	Inform func(status int, reason string, fields map[string][]string)
}

// TakesRaw reports whether SendRaw can be called: the upstream speaks HTTP/1.1.
func (u *Upstream) TakesRaw() bool { return u.http1.Load() }

// MaxRaw is the longest body of a Raw.
const MaxRaw = maxLeanBody

// SendRaw is Send for a request in bytes.
func (u *Upstream) SendRaw(ctx context.Context, q *Raw) (*Response, error) {
	h := q.Head
	call := rawCall(h)
	call.limit, call.inform = u.timeout, q.Inform
	c, err := u.lean(ctx, &call, func(b []byte) ([]byte, error) {
		b = append(b, h.Method()...)
		b = append(b, ' ')
		b = append(b, u.prefix...)
		b = append(b, h.Target()...)
		b = append(b, " HTTP/1.1\r\nHost: "...)
		b = append(b, u.hostFor(string(h.Host()))...)
		b = append(b, "\r\n"...)
		b = append(b, q.Fields...)
		return append(http1.EndHead(b), q.Body...), nil
	})
	if err != nil {
		return nil, err
	}
	return c.begun(), nil
}

// rawCall is what the head of a request in bytes says of its call.
func rawCall(h *http1.RequestHead) (call leanCall) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace} {
		if string(h.Method()) == method {
			call.method, call.again = method, true
		}
	}
	for i := range h.Len() {
		f := h.Field(i)
		if len(f.Name) > len("X-Idempotency-Key") {
			continue
		}
		switch name := string(f.Name); {
		case strings.EqualFold(name, "Authorization"):
			call.last = call.last || forConn(f.Value)
		case strings.EqualFold(name, "Idempotency-Key"), strings.EqualFold(name, "X-Idempotency-Key"):
			call.again = true
		}
	}
	return call
}

// Whole takes the response's body where it has come in whole, is of known length and
// has no trailer. It is valid until Close. False: nothing has been taken.
func (a *Response) Whole() (body []byte, ok bool) {
	c := a.conn
	if c == nil || c.framed.kind != http1.Length && c.framed.kind != http1.NoBody || len(c.head.announced) > 0 ||
		c.framed.advance() != nil || !c.framed.framed.Done() {
		return nil, false
	}
	body = c.framed.piece
	c.framed.piece, c.framed.done = nil, true
	return body, true
}

// AppendFields writes the end-to-end header lines of a response to SendRaw. It reports
// whether Date is among them, and false for ok where one cannot be written.
func (a *Response) AppendFields(b []byte) (out []byte, dated, ok bool) {
	for _, f := range a.conn.head.fields {
		if f.name == "Upgrade" {
			return b, dated, false // it goes with Connection
		}
		if b, ok = http1.AppendField(b, f.name, f.value); !ok {
			return b, dated, false
		}
		dated = dated || f.name == "Date"
	}
	return b, dated, true
}
