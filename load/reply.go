package load

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"

	"golang.org/x/net/html"
)

// reply is an answer as captures and expectations look at it. Whatever they
// need of the body is made once, and only when the first of them asks.
type reply struct {
	*answer
	scope *scope

	text          *string
	doc           *document
	page          *html.Node
	tree          *markup
	noDoc, noTree bool
	whole         bool
}

// bodyText is the body, decompressed where it came so. False: it is longer than
// what is kept, or broken.
func (r *reply) bodyText() (string, bool) {
	if r.text != nil {
		return *r.text, r.whole
	}
	body := r.body
	r.whole = int64(len(body)) == r.size
	if strings.EqualFold(r.header("content-encoding"), "gzip") && r.whole {
		body, r.whole = gunzip(body)
	}
	s := string(body)
	r.text = &s
	return s, r.whole
}

// gunzip decompresses at most maxKept bytes.
func gunzip(b []byte) ([]byte, bool) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, false
	}
	out, err := io.ReadAll(io.LimitReader(z, maxKept+1))
	return out[:min(len(out), maxKept)], err == nil && len(out) <= maxKept
}

// json is the body as JSON, nil where it is none.
func (r *reply) json() *document {
	if r.doc == nil && !r.noDoc {
		text, whole := r.bodyText()
		doc, ok := parseDocument(text)
		if r.noDoc = !whole || !ok; !r.noDoc {
			r.doc = doc
		}
	}
	return r.doc
}

// html is the body as a browser would read it, nil where it is not whole.
func (r *reply) html() *html.Node {
	if r.page == nil {
		if text, whole := r.bodyText(); whole {
			r.page, _ = html.Parse(strings.NewReader(text))
		}
	}
	return r.page
}

// xml is the body as XML, nil where it is none.
func (r *reply) xml() *markup {
	if r.tree == nil && !r.noTree {
		text, whole := r.bodyText()
		tree, err := parseMarkup(text)
		if r.noTree = !whole || err != nil; !r.noTree {
			r.tree = tree
		}
	}
	return r.tree
}

// each calls with every value of a header named in lower case.
func (a *answer) each(name string, yield func(value []byte)) {
	for rest := a.head; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, crlf)
		rest = after
		if len(line) > len(name) && line[len(name)] == ':' && strings.EqualFold(string(line[:len(name)]), name) {
			yield(bytes.Trim(line[len(name)+1:], " \t"))
		}
	}
}
