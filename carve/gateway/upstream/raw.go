package upstream

import (
	"context"
	"net/http"

	"whittle/internal/http1"
)

// Raw is a client's request in bytes, on its way to an upstream.
type Raw struct {
	Method, Target, Host []byte
	// Fields are all lines but Host, each with its line end.
	Fields []byte
	Body   []byte
	// Repeatable says that the request may be sent again on a new connection.
	Repeatable bool
	// Inform is as in Request.
	Inform func(status int, fields map[string][]string)
}

// TakesRaw reports whether SendRaw can be called: the upstream speaks plain HTTP/1.1.
func (u *Upstream) TakesRaw() bool { return u.pool != nil }

// MaxRaw is the longest body of a Raw.
const MaxRaw = maxLeanBody

// SendRaw is Send for a request in bytes, whose target is in origin form.
func (u *Upstream) SendRaw(ctx context.Context, q *Raw) (*Response, error) {
	buf := requests.Get().(*[]byte)
	defer func() {
		*buf = (*buf)[:0]
		requests.Put(buf)
	}()
	b := (*buf)[:0]
	b = append(b, q.Method...)
	b = append(b, ' ')
	b = append(b, u.prefix...)
	b = append(b, q.Target...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	if u.host != "" {
		b = append(b, u.host...)
	} else {
		b = append(b, q.Host...)
	}
	b = append(b, "\r\n"...)
	b = append(b, q.Fields...)
	b = append(http1.EndHead(b), q.Body...)
	*buf = b
	method := http.MethodGet
	if string(q.Method) == http.MethodHead {
		method = http.MethodHead
	}
	c, err := u.pool.do(ctx, leanCall{request: b, method: method, again: q.Repeatable, limit: u.timeout, inform: q.Inform})
	if err != nil {
		return nil, err
	}
	return &Response{Status: c.head.status, Length: c.head.length, body: &c.framed, conn: c}, nil
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
		if b, ok = http1.AppendField(b, f.name, f.value); !ok {
			return b, dated, false
		}
		dated = dated || f.name == "Date"
	}
	return b, dated, true
}
