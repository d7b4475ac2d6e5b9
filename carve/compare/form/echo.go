package form

import (
	"net/url"
	"strings"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
)

// Bounds of what is looked at of one request.
const (
	requestMost = 256 // values
	echoLeast   = 4   // bytes of a value that can be an echo: shorter ones are the same by chance
)

// echoes are the values of one request, and in which part of it they stand.
type echoes struct {
	at  map[uint64]string
	doc walker
}

// read takes the values of a request; of one that stands in two parts the last counts.
func (e *echoes) read(q *whittle.Request) {
	if e.at == nil {
		e.at = map[uint64]string{}
	}
	clear(e.at)
	path, query, _ := strings.Cut(q.Target, "?")
	if e.doc.doc.Scan(q.Body) == jsondoc.Scanned && !q.Truncated {
		e.doc.leaves(func(x uint32, _ at) {
			if k := e.doc.doc.Nodes[x].Kind; k == jsondoc.Number || k == jsondoc.String {
				e.add(e.doc.text(x), "the request's body")
			}
		})
	} else if strings.HasPrefix(q.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		e.pairs("the request's form", string(q.Body[:min(len(q.Body), pieceTextMost)]))
	}
	for name, values := range q.Header {
		for _, v := range values {
			if name != "Cookie" {
				e.add([]byte(v), "the request's headers")
			}
		}
	}
	for _, v := range q.Header["Cookie"] {
		for pair := range strings.SplitSeq(v, ";") {
			_, v, _ := strings.Cut(pair, "=")
			e.add([]byte(strings.TrimSpace(v)), "the request's cookies")
		}
	}
	e.pairs("the request's query", query)
	for part := range strings.SplitSeq(path, "/") {
		if s, err := url.PathUnescape(part); err == nil {
			e.add([]byte(s), "the request's path")
		}
	}
}

func (e *echoes) pairs(where, s string) {
	for pair := range strings.SplitSeq(s, "&") {
		_, v, _ := strings.Cut(pair, "=")
		if v, err := url.QueryUnescape(v); err == nil {
			e.add([]byte(v), where)
		}
	}
}

func (e *echoes) add(s []byte, where string) {
	if len(s) >= echoLeast && len(e.at) < requestMost {
		e.at[digest.FNV(s)] = where
	}
}
