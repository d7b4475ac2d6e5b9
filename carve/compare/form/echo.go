package form

import (
	"net/url"
	"strings"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondoc"
)

// Bounds of what is looked at of one request.
const (
	requestMost  = 256 // values
	echoLeast    = 4   // bytes of a value that can be an echo: shorter ones are the same by chance
	aroundLeast  = 3   // bytes of one that can be found within a text
	echoNameMost = 64
)

// echoes are the values of one request and where they are.
type echoes struct {
	at  map[uint64]string
	doc walker
}

// read takes the values of a request.
func (e *echoes) read(q *whittle.Request) {
	if e.at == nil {
		e.at = map[uint64]string{}
	}
	clear(e.at)
	path, query, _ := strings.Cut(q.Target, "?")
	if e.doc.doc.Scan(q.Body) == jsondoc.Scanned && !q.Truncated {
		e.body()
	} else if strings.HasPrefix(q.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		e.pairs("form value ", string(q.Body[:min(len(q.Body), 1<<14)]))
	}
	for name, values := range q.Header {
		for _, v := range values {
			if name != "Cookie" {
				e.add([]byte(v), "header "+name)
			}
		}
	}
	for _, v := range q.Header["Cookie"] {
		e.cookies(v)
	}
	e.pairs("query parameter ", query)
	for part := range strings.SplitSeq(path, "/") {
		if s, err := url.PathUnescape(part); err == nil {
			e.add([]byte(s), "path")
		}
	}
}

func (e *echoes) pairs(what, s string) {
	for pair := range strings.SplitSeq(s, "&") {
		name, v, _ := strings.Cut(pair, "=")
		if v, err := url.QueryUnescape(v); err == nil {
			e.add([]byte(v), what+name)
		}
	}
}

// cookies takes the values of the cookies in a header of the request.
func (e *echoes) cookies(header string) {
	for pair := range strings.SplitSeq(header, ";") {
		name, v, _ := strings.Cut(strings.TrimSpace(pair), "=")
		e.add([]byte(v), "cookie "+name)
	}
}

// body takes the values of a JSON body.
func (e *echoes) body() {
	e.doc.each(func(uint64) bool { return len(e.at) < requestMost }, func(x uint32, _ uint64) {
		if k := e.doc.doc.Nodes[x].Kind; k == jsondoc.Number || k == jsondoc.String {
			e.add(e.doc.text(x), "body")
		}
	})
}

// add keeps a value; of two equal ones the later, which says more,
// and of two headers the one that comes first in the alphabet.
func (e *echoes) add(s []byte, where string) {
	if len(s) < aroundLeast || len(e.at) >= requestMost {
		return
	}
	h := digest.FNV(s)
	where = "the request's " + display.Snippet([]byte(where), echoNameMost)
	if old, ok := e.at[h]; ok && strings.HasPrefix(old, "the request's header") && strings.HasPrefix(where, "the request's header") && old < where {
		return
	}
	e.at[h] = where
}
