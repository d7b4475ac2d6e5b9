package plan

import (
	"slices"
	"strings"

	"whittle/load/expr"
)

// ExpectsStatus reports whether an expectation is about the status.
func (r *Request) ExpectsStatus() bool {
	for i := range r.Expect {
		if r.Expect[i].Status {
			return true
		}
	}
	return false
}

// HasHeader reports whether the request has a header of that name, in lower case.
func (r *Request) HasHeader(header string) bool {
	for _, h := range r.Headers {
		if h.Name == header {
			return true
		}
	}
	return false
}

// OriginLength is the length of scheme and host of an absolute URL; 0 for a
// relative one.
func OriginLength(text string) int {
	i := strings.Index(text, "://")
	if i < 0 || strings.ContainsAny(text[:i], "/?") {
		return 0
	}
	if j := strings.IndexAny(text[i+3:], "/?"); j >= 0 {
		return i + 3 + j
	}
	return len(text)
}

// Relative reports whether a request of the plan is sent to the target.
func (p *Plan) Relative() bool {
	return slices.ContainsFunc(p.Requests(), func(q *Request) bool { return q.Origin == "" && q.Address == nil })
}

// SendsLength reports whether content-length is sent: always with a body, and also
// without one for methods that usually have a body, which servers would wait for.
func (r *Request) SendsLength() bool {
	return r.HasBody || MethodHasBody(r.Method)
}

// MethodHasBody reports whether requests of a method usually have a body.
func MethodHasBody(method string) bool {
	return method == "POST" || method == "PUT" || method == "PATCH"
}

// MergeHeaders adds the fields of b to those of a and replaces fields of the same
// name. Neither argument is changed.
func MergeHeaders(a, b []HeaderField) []HeaderField {
	out := append([]HeaderField(nil), a...)
next:
	for _, h := range b {
		for i := range out {
			if out[i].Name == h.Name {
				out[i] = h
				continue next
			}
		}
		out = append(out, h)
	}
	return out
}

// WithQuery appends a query to a URL, which may have one already.
func WithQuery(t expr.Template, text string, query expr.Template) expr.Template {
	if len(query) == 0 {
		return t
	}
	sep := "?"
	if strings.Contains(text, "?") {
		sep = "&"
	}
	return t.Literal(sep).Join(query)
}
