package expr

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Bounds on what is captured from a response.
const (
	MaxCaptured  = 64 << 10 // bytes of one captured value
	MaxDocuments = 200_000  // values in one JSON body
)

// Document is a JSON value with its keys in their order. It points into the
// text that it was read from.
type Document struct {
	Kind  Kind
	raw   string
	names []string // the keys of a mapping, beside items
	Items []Document
}

// ParseDocument reads JSON. False: it is none, or has too many values.
func ParseDocument(raw string) (*Document, bool) {
	if !json.Valid([]byte(raw)) {
		return nil, false
	}
	p := documentParser{text: raw}
	d := p.value()
	return &d, p.count <= MaxDocuments
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

func (p *documentParser) value() Document {
	p.space()
	p.count++
	begin := p.at
	var d Document
	switch p.text[p.at] {
	case '{', '[':
		d = p.container()
	case '"':
		d.Kind = KindString
		p.skipString()
	default:
		d.Kind = map[byte]Kind{'t': KindBool, 'f': KindBool, 'n': KindNull}[p.text[p.at]]
		if d.Kind == KindNull && p.text[p.at] != 'n' {
			d.Kind = KindNumber
		}
		for p.at < len(p.text) && strings.IndexByte(",]} \t\r\n", p.text[p.at]) < 0 {
			p.at++
		}
	}
	d.raw = p.text[begin:p.at]
	return d
}

func (p *documentParser) container() Document {
	d := Document{Kind: KindList}
	end := byte(']')
	if p.text[p.at] == '{' {
		d.Kind, end = KindMap, '}'
	}
	for p.at++; ; p.at++ {
		if p.space(); p.text[p.at] == end { // only where it is empty
			break
		}
		if d.Kind == KindMap {
			begin := p.at
			p.skipString()
			d.names = append(d.names, unquote(p.text[begin:p.at]))
			p.space()
			p.at++ // the colon
		}
		v := p.value()
		if p.count > MaxDocuments {
			p.at = len(p.text)
			return d
		}
		d.Items = append(d.Items, v)
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
func (d *Document) get(name string) *Document {
	for i := len(d.names) - 1; i >= 0; i-- {
		if d.names[i] == name {
			return &d.Items[i]
		}
	}
	return nil
}

// at finds an item of a list, counted from the end where i is negative.
func (d *Document) at(i int) *Document {
	if i < 0 {
		i += len(d.Items)
	}
	if d.Kind != KindList || i < 0 || i >= len(d.Items) {
		return nil
	}
	return &d.Items[i]
}

// Walk follows keys and indices, as lodash's get does. Nil: nothing is there.
func (d *Document) Walk(path []string) *Document {
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
func (d *Document) length() *Document {
	var n int
	switch d.Kind {
	case KindList:
		n = len(d.Items)
	case KindString:
		n = len([]rune(unquote(d.raw)))
	default:
		return nil
	}
	return &Document{Kind: KindNumber, raw: strconv.Itoa(n)}
}

// Value makes a variable's value of it, sharing the document's text.
func (d *Document) Value() Value {
	switch d.Kind {
	case KindString:
		return Value{Text: unquote(d.raw), JSON: d.raw}
	case KindList, KindMap:
		return Value{Text: d.raw, JSON: d.raw, Doc: d}
	}
	return Value{Text: d.raw, JSON: d.raw}
}

// copied is Value without a reference to the document's text, for variables
// that outlive their response.
func (d *Document) copied() Value {
	copied := strings.Clone(d.raw)
	if d.Kind == KindList || d.Kind == KindMap {
		if own, ok := ParseDocument(copied); ok {
			return own.Value()
		}
	}
	return (&Document{Kind: d.Kind, raw: copied}).Value()
}
