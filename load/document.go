package load

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Bounds on what is taken out of an answer.
const (
	maxCaptured  = 64 << 10 // bytes of one captured value
	maxDocuments = 200_000  // values in one JSON body
)

// document is a JSON value with its keys in their order. It points into the
// text that it was read from.
type document struct {
	kind  kind
	raw   string
	names []string // the keys of a mapping, beside items
	items []document
}

// parseDocument reads JSON. False: it is none, or has too many values.
func parseDocument(raw string) (*document, bool) {
	if !json.Valid([]byte(raw)) {
		return nil, false
	}
	p := documentParser{text: raw}
	d := p.value()
	return &d, p.count <= maxDocuments
}

// documentParser walks a text that is known to be valid.
type documentParser struct {
	text  string
	at    int
	count int
}

func (p *documentParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

func (p *documentParser) value() document {
	p.space()
	p.count++
	begin := p.at
	var d document
	switch p.text[p.at] {
	case '{', '[':
		d = p.container()
	case '"':
		d.kind = kindString
		p.skipString()
	default:
		d.kind = map[byte]kind{'t': kindBool, 'f': kindBool, 'n': kindNull}[p.text[p.at]]
		if d.kind == kindNull && p.text[p.at] != 'n' {
			d.kind = kindNumber
		}
		for p.at < len(p.text) && strings.IndexByte(",]} \t\r\n", p.text[p.at]) < 0 {
			p.at++
		}
	}
	d.raw = p.text[begin:p.at]
	return d
}

func (p *documentParser) container() document {
	d := document{kind: kindList}
	end := byte(']')
	if p.text[p.at] == '{' {
		d.kind, end = kindMap, '}'
	}
	for p.at++; ; p.at++ {
		if p.space(); p.text[p.at] == end { // only where it is empty
			break
		}
		if d.kind == kindMap {
			begin := p.at
			p.skipString()
			d.names = append(d.names, unquote(p.text[begin:p.at]))
			p.space()
			p.at++ // the colon
		}
		v := p.value()
		if p.count > maxDocuments {
			p.at = len(p.text)
			return d
		}
		d.items = append(d.items, v)
		if p.space(); p.text[p.at] == end {
			break
		}
	}
	p.at++
	return d
}

func (p *documentParser) skipString() {
	for p.at++; p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			p.at++
		}
	}
	p.at++
}

func unquote(raw string) string {
	if !strings.ContainsRune(raw, '\\') {
		return raw[1 : len(raw)-1]
	}
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return raw
	}
	return s
}

// get finds a key of a mapping, the last where it is there twice.
func (d *document) get(name string) *document {
	for i := len(d.names) - 1; i >= 0; i-- {
		if d.names[i] == name {
			return &d.items[i]
		}
	}
	return nil
}

// at finds an item of a list, counted from the end where i is negative.
func (d *document) at(i int) *document {
	if i < 0 {
		i += len(d.items)
	}
	if d.kind != kindList || i < 0 || i >= len(d.items) {
		return nil
	}
	return &d.items[i]
}

// walk follows keys and indices, as lodash's get does. Nil: nothing is there.
func (d *document) walk(path []string) *document {
	for _, key := range path {
		if d == nil {
			return nil
		}
		next := d.get(key)
		if i, err := strconv.Atoi(key); next == nil && err == nil && i >= 0 {
			next = d.at(i)
		}
		if next == nil && key == "length" {
			next = d.length()
		}
		d = next
	}
	return d
}

// length is a list's or a text's, as JavaScript has it; nil for others.
func (d *document) length() *document {
	var n int
	switch d.kind {
	case kindList:
		n = len(d.items)
	case kindString:
		n = len([]rune(unquote(d.raw)))
	default:
		return nil
	}
	return &document{kind: kindNumber, raw: strconv.Itoa(n)}
}

// value makes a variable's value of it, sharing the document's text.
func (d *document) value() value {
	switch d.kind {
	case kindString:
		return value{text: unquote(d.raw), json: d.raw}
	case kindList, kindMap:
		return value{text: d.raw, json: d.raw, doc: d}
	}
	return value{text: d.raw, json: d.raw}
}

// owned is value without the text that the document came from, for variables
// that outlive their answer.
func (d *document) owned() value {
	copied := strings.Clone(d.raw)
	if d.kind == kindList || d.kind == kindMap {
		if own, ok := parseDocument(copied); ok {
			return own.value()
		}
	}
	return (&document{kind: d.kind, raw: copied}).value()
}
