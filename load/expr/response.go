package expr

import (
	"bytes"
	"strings"
	"time"

	"golang.org/x/net/html"

	"whittle/internal/coding"
)

// Response is a response as captures and expectations see it. The body is decoded
// and parsed at most once, and only when one of them needs it.
type Response struct {
	Status int
	// Head is the header section, one "name: value\r\n" after the other.
	Head []byte
	// Body is what was kept of a body of size bytes.
	Body  []byte
	Size  int64
	Scope *Scope
	// Elapsed is from sending to the last byte.
	Elapsed time.Duration
	// URL is where the request was sent to.
	URL string
	// Code, Message and Label stand in place of the status, its words and the request's
	// name; nil and empty: they are those.
	Code, Message *string
	Label         string
	// Verdict is what those that look at it have said so far.
	Verdict Verdict
	// Why says what has made it fail; empty: nobody has said.
	Why string
	// Unseen says that it is looked at no further, and changes nothing for its user.
	Unseen bool

	text  *string
	doc   *Document
	page  *html.Node
	noDoc bool
	whole bool
}

// Verdict is whether a response counts as a success, where that is not for its status alone
// to say.
type Verdict int

// What is said of a response.
const (
	Undecided Verdict = iota
	Succeeded
	Failed
)

// Rewrite puts another text in the place of the body.
func (r *Response) Rewrite(text string) {
	r.text, r.whole = &text, true
	r.doc, r.page, r.noDoc = nil, nil, false
}

// BodyText is the body, decompressed where it is compressed. False: it is
// malformed, or longer than the part that is kept.
func (r *Response) BodyText() (string, bool) {
	if r.text != nil {
		return *r.text, r.whole
	}
	body := r.Body
	r.whole = int64(len(body)) == r.Size
	if coded := r.Header("content-encoding"); coded != "" && r.whole {
		plain, err := coding.Decode(map[string][]string{"Content-Encoding": {coded}}, body, MaxBody)
		body, r.whole = plain, err == nil
	}
	s := string(body)
	r.text = &s
	return s, r.whole
}

// JSON is the body as JSON, nil where it is none.
func (r *Response) JSON() *Document {
	if r.doc == nil && !r.noDoc {
		text, whole := r.BodyText()
		doc, ok := ParseDocument(text)
		if r.noDoc = !whole || !ok; !r.noDoc {
			r.doc = doc
		}
	}
	return r.doc
}

// html is the body as a browser would read it, nil where it is not whole.
func (r *Response) html() *html.Node {
	if r.page == nil {
		if text, whole := r.BodyText(); whole {
			r.page, _ = html.Parse(strings.NewReader(text))
		}
	}
	return r.page
}

// Header is the first value of a header named in lower case, empty where there
// is none.
func (r *Response) Header(name string) string {
	first, found := "", false
	EachField(r.Head, name, func(value []byte) {
		if !found {
			first, found = string(value), true
		}
	})
	return first
}

// Has reports whether there is a header of that name, in lower case.
func (r *Response) Has(name string) bool {
	found := false
	EachField(r.Head, name, func([]byte) { found = true })
	return found
}

// EachField calls with every value of a header, named in lower case, of a
// header section.
func EachField(head []byte, name string, yield func(value []byte)) {
	for rest := head; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte("\r\n"))
		rest = after
		if len(line) > len(name) && line[len(name)] == ':' && strings.EqualFold(string(line[:len(name)]), name) {
			yield(bytes.Trim(line[len(name)+1:], " \t"))
		}
	}
}

// Property follows a path such as user.names[0] into a JSON body. Nil: the
// body has no such property, or is not JSON.
func (r *Response) Property(path string) *Document {
	doc := r.JSON()
	if doc == nil {
		return nil
	}
	return doc.Walk(SplitPath(path))
}

// MaxBody bounds the part of a body that is kept for captures and callbacks.
const MaxBody = 1 << 20
