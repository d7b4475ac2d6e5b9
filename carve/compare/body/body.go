// Package body converts bodies of other formats to one JSON text, so that they are compared by the same
// places: JSON behind a byte order mark or a guard against inclusion, JSON Lines, multipart bodies, XML.
package body

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonscan"
)

const (
	mark  = "\ufeff"
	guard = ")]}'" // Angular, Gerrit and others put it before JSON
	// most bounds the parts of a multipart body; a part may have half as many. A body with more is a text,
	// as is XML too deep for JSON with two levels for an element, or of names too long for a path.
	most = 1000
)

// Exchange is x with the bodies to compare; x itself where they need no change.
func Exchange(x *whittle.Exchange) *whittle.Exchange {
	guarded := before(&x.Monolith)
	monolith, a := response(&x.Monolith, guarded)
	candidate, b := response(&x.Candidate, guarded)
	if a && !b && before(&x.Candidate) != guarded { // a lost guard is a difference
		other := x.Candidate
		other.Body = jsonscan.AppendString(nil, other.Body)
		candidate, b = &other, true
	}
	repeat, c := x.Repeat, false
	if repeat != nil {
		repeat, c = response(repeat, guarded)
	}
	if !a && !b && !c {
		return x
	}
	y := *x
	y.Monolith, y.Candidate, y.Repeat = *monolith, *candidate, repeat
	return &y
}

// before is what stands before the JSON of a response: a byte order mark, a guard, or both.
func before(a *whittle.Response) string {
	rest := bytes.TrimPrefix(a.Body, []byte(mark))
	if r, ok := bytes.CutPrefix(rest, []byte(guard)); ok {
		rest = bytes.TrimPrefix(r, []byte(","))
	}
	if text := bytes.TrimLeft(rest, " \t\r\n"); len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return ""
	}
	return string(a.Body[:len(a.Body)-len(rest)])
}

// response is a with the body to compare, and whether that is another one. guarded is what stands before
// the monolith's JSON. Another start is a difference, since clients take off what they know.
func response(a *whittle.Response, guarded string) (*whittle.Response, bool) {
	text, ok := rewritten(a, guarded, most)
	if !ok {
		return a, false
	}
	b := *a
	b.Body = text
	return &b, true
}

// rewritten is the body to compare of a response or of a part, which has limit parts at most.
func rewritten(a *whittle.Response, guarded string, limit int) ([]byte, bool) {
	if len(a.Body) == 0 || a.Truncated {
		return nil, false
	}
	kind := a.Header.Get("Content-Type")
	if kind == "application/json" && (a.Body[0] == '{' || a.Body[0] == '[') {
		return nil, false // the everyday body
	}
	kind, params, err := mime.ParseMediaType(kind)
	switch {
	case err != nil:
	case strings.HasSuffix(kind, "ndjson"), strings.HasSuffix(kind, "json-seq"), strings.HasSuffix(kind, "jsonl"),
		strings.HasSuffix(kind, "jsonlines"), strings.HasSuffix(kind, "json-lines"), kind == "application/stream+json":
		return lines(a.Body)
	case strings.HasPrefix(kind, "multipart/"):
		return parts(a.Body, params["boundary"], limit)
	case kind == "text/xml", kind == "application/xml", strings.HasSuffix(kind, "+xml") && kind != "application/xhtml+xml":
		return tree(a.Body)
	}
	if guarded == "" || before(a) != guarded {
		return nil, false
	}
	return a.Body[len(guarded):], true
}

// lines is a list of the lines' values.
func lines(b []byte) ([]byte, bool) {
	out := []byte{'['}
	for line := range bytes.SplitSeq(b, []byte("\n")) {
		if line = bytes.Trim(line, " \t\r\x1e"); len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			return nil, false
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, line...)
	}
	return append(out, ']'), true
}

// parts is a list of the parts, each with its fields and its body.
func parts(b []byte, boundary string, limit int) ([]byte, bool) {
	if boundary == "" {
		return nil, false
	}
	list := []any{}
	for r := multipart.NewReader(bytes.NewReader(b), boundary); ; {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return encoded(list)
		}
		if err != nil || len(list) == limit {
			return nil, false
		}
		text, err := io.ReadAll(p)
		if err != nil {
			return nil, false
		}
		part, kind := map[string]json.RawMessage{}, ""
		for name, values := range p.Header {
			v := strings.Join(values, ", ")
			if name == "Content-Type" || name == "Content-Disposition" {
				v = Normal(v)
			}
			if name == "Content-Type" {
				kind, _, _ = strings.Cut(v, ";")
			}
			part[name] = jsonscan.AppendString(nil, v)
		}
		of := whittle.Response{Header: whittle.Header(p.Header), Body: text}
		if other, ok := rewritten(&of, "", limit/2); ok {
			text = other
		}
		b := bytes.TrimSpace(text)
		if len(b) > 0 && (b[0] == '{' || b[0] == '[' || strings.HasSuffix(kind, "json")) && json.Valid(b) {
			part["body"] = text
		} else {
			part["body"] = jsonscan.AppendString(nil, text) // also one that is not UTF-8
		}
		list = append(list, part)
	}
}

// Normal is a content type or disposition with its parameters in one order and form, without those that are
// new in each multipart body.
func Normal(v string) string {
	kind, params, err := mime.ParseMediaType(v)
	if err != nil || strings.Contains(v, "*") && !strings.HasPrefix(kind, "multipart/") { // of which some are dropped
		return strings.TrimSpace(v)
	}
	delete(params, "boundary")
	if strings.HasPrefix(kind, "multipart/") {
		delete(params, "start")
	}
	if c := params["charset"]; c != "" {
		params["charset"] = strings.ToLower(c)
	}
	return cmp.Or(mime.FormatMediaType(kind, params), strings.TrimSpace(v))
}

// element is an element of XML being read. It holds a list of its attributes, by name, and of its texts
// and elements in order.
type element struct {
	in     []any
	nested bool // it holds more than text
	parent bool // it holds elements
}

// tree is the tree of XML: {"feed": [{"@lang": "en"}, {"title": "x"}, …]}, without prefixes, comments,
// the order of attributes and the white space between elements.
func tree(b []byte) ([]byte, bool) {
	var document element
	ok := document.read(xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte(mark)))), "", 0)
	list, _ := document.content().([]any)
	if !ok || len(list) != 1 {
		return nil, false
	}
	return encoded(list[0])
}

// read reads to the end of an element within a namespace, depth elements deep.
func (e *element) read(d *xml.Decoder, space string, depth int) bool {
	for {
		token, err := d.Token()
		if err != nil || depth >= jsondoc.MaxDepth/2 {
			return errors.Is(err, io.EOF) && depth == 0
		}
		switch t := token.(type) {
		case xml.StartElement:
			if isLong(t.Name) || slices.ContainsFunc(t.Attr, func(a xml.Attr) bool { return isLong(a.Name) }) {
				return false
			}
			var child element
			child.attributes(t.Attr)
			if !child.read(d, t.Name.Space, depth+1) {
				return false
			}
			e.nested, e.parent = true, true
			e.in = append(e.in, map[string]any{named(t.Name, space): child.content()})
		case xml.EndElement:
			return true
		case xml.CharData:
			e.say(string(t))
		}
	}
}

// attributes adds all but the declarations of prefixes, which the names include.
func (e *element) attributes(list []xml.Attr) {
	slices.SortFunc(list, func(a, b xml.Attr) int { return strings.Compare(named(a.Name, ""), named(b.Name, "")) })
	for _, a := range list {
		if a.Name.Space != "xmlns" && (a.Name.Space != "" || a.Name.Local != "xmlns") {
			e.nested = true
			e.in = append(e.in, map[string]any{"@" + named(a.Name, ""): a.Value})
		}
	}
}

// isLong reports whether a name with its namespace would be cut in a path.
func isLong(n xml.Name) bool { return len(n.Space)+len(n.Local) > display.KeyShown }

// named is a name with its namespace, unless that is the one around it.
func named(n xml.Name, within string) string {
	if n.Space == within {
		return n.Local
	}
	return "{" + n.Space + "}" + n.Local
}

// say adds a text. Two texts with a comment between them are one.
func (e *element) say(text string) {
	if n := len(e.in); n > 0 {
		if last, ok := e.in[n-1].(string); ok {
			e.in[n-1] = last + text
			return
		}
	}
	e.in = append(e.in, text)
}

// content is an element's text if it has nothing else, or the list of its content. White space alone,
// with a line break, counts as none: some writers put it into an empty list.
func (e *element) content() any {
	list := slices.DeleteFunc(e.in, func(v any) bool {
		s, ok := v.(string)
		return ok && strings.Trim(s, " \t\r\n") == "" && (e.parent || strings.Contains(s, "\n"))
	})
	switch {
	case e.nested:
		return list
	case len(list) == 0:
		return ""
	}
	return list[0]
}

func encoded(v any) ([]byte, bool) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return nil, false
	}
	return bytes.TrimRight(out.Bytes(), "\n"), true
}
