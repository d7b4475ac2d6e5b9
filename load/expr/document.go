package expr

import (
	"strconv"
	"strings"

	"whittle/internal/jsonscan"
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
	names []string // the keys of a mapping; items holds its values
	Items []Document
}

// Names are the keys of a mapping, in the order of Items.
func (d *Document) Names() []string { return d.names }

// ParseDocument reads JSON. False: it is none, or has too many values.
func ParseDocument(raw string) (*Document, bool) {
	p := documentParser{text: raw}
	p.scan.Reset([]byte(raw), 0, jsonscan.MaxDepth)
	d := p.value(p.scan.Next())
	if p.count > MaxDocuments || p.scan.Finish() != nil {
		return nil, false
	}
	return &d, true
}

// documentParser makes documents of what the scanner reads.
type documentParser struct {
	text  string
	scan  jsonscan.Scanner
	count int
}

var kinds = [...]Kind{
	jsonscan.Null: KindNull, jsonscan.Bool: KindBool, jsonscan.Number: KindNumber, jsonscan.String: KindString,
	jsonscan.Array: KindList, jsonscan.Object: KindMap,
}

// value makes a document of the value that was begun; where the text is wrong,
// of as much as there is.
func (p *documentParser) value(kind jsonscan.Kind) Document {
	p.count++
	begin := p.scan.Start()
	d := Document{Kind: kinds[kind]}
	if kind == jsonscan.Array || kind == jsonscan.Object {
		p.fill(&d)
	}
	d.raw = p.text[begin:p.scan.End()]
	return d
}

// fill reads the items of a container, and the names that they have.
func (p *documentParser) fill(d *Document) {
	for p.count <= MaxDocuments {
		kind := p.scan.Next()
		if kind == jsonscan.Key {
			d.names = append(d.names, p.name())
			kind = p.scan.Next()
		}
		if kind == jsonscan.End || kind == jsonscan.None {
			return
		}
		d.Items = append(d.Items, p.value(kind))
	}
}

// name is the key in hand; without escapes it shares the document's text.
func (p *documentParser) name() string {
	raw := p.text[p.scan.Start():p.scan.End()]
	if p.scan.Escaped() {
		return unquote(raw)
	}
	return raw[1 : len(raw)-1]
}

// unquote is what a JSON string stands for.
func unquote(raw string) string {
	inside := raw[1 : len(raw)-1]
	if strings.IndexByte(inside, '\\') < 0 {
		return inside
	}
	text, _ := jsonscan.AppendText(nil, []byte(inside))
	return string(text)
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

// Kind is what sort of value something is, in JSON, YAML and conditions.
type Kind uint8

// The kinds of values. A missing value is of KindNull too.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindList
	KindMap
)

func (k Kind) String() string {
	return [...]string{"nothing", "a boolean", "a number", "a text", "a list", "a mapping"}[k]
}
