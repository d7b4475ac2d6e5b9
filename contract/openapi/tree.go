package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"whittle"
)

// Bounds of a document.
const (
	maxBytes = 16 << 20
	maxNodes = 1 << 20
	maxDepth = 100
)

type kind uint8

const (
	isNull kind = iota
	isBool
	isNumber
	isText
	isList
	isObject
)

// node is a value of a document, with where it begins.
type node struct {
	at   place
	kind kind
	// text is a scalar's.
	text string
	keys []string
	// items are a list's, or an object's in the order of keys.
	items []*node
}

// get gives an object's member, nil where there is none, or n is nil.
func (n *node) get(key string) *node {
	if n == nil || n.kind != isObject {
		return nil
	}
	if i := slices.Index(n.keys, key); i >= 0 {
		return n.items[i]
	}
	return nil
}

// str is a member's text, "" where there is none.
func (n *node) str(key string) string {
	if m := n.get(key); m != nil && m.kind >= isBool && m.kind <= isText {
		return m.text
	}
	return ""
}

// is reports whether a member is true.
func (n *node) is(key string) bool {
	m := n.get(key)
	return m != nil && m.kind == isBool && m.text == "true"
}

// place is where a value begins. file is empty in the document itself.
type place struct {
	file string
	line int
}

func (p place) String() string {
	if p.file == "" {
		return fmt.Sprintf("line %d", p.line)
	}
	return fmt.Sprintf("%s, line %d", p.file, p.line)
}

func invalid(at place, format string, args ...any) error {
	return whittle.Errorf(whittle.Invalid, "%s: %s", at, fmt.Sprintf(format, args...))
}

// parse reads JSON, or YAML. file is what its values say of where they are.
func parse(data []byte, file string) *node {
	if len(data) > maxBytes {
		panic(whittle.Errorf(whittle.ResourceExhausted, "the document is longer than %d MiB", maxBytes>>20))
	}
	if t := bytes.TrimLeft(data, " \t\r\n\ufeff"); len(t) > 0 && t[0] == '{' && json.Valid(t) {
		return parseJSON(t, place{file, bytes.Count(data[:len(data)-len(t)], []byte("\n"))})
	}
	return parseYAML(data, file)
}

type jsonParser struct {
	d       *json.Decoder
	data    []byte
	before  place // with the lines above what was counted
	counted int   // bytes of data
	n       int
}

// parseJSON reads a text that is known to be JSON; before has the lines above it.
func parseJSON(data []byte, before place) *node {
	p := jsonParser{d: json.NewDecoder(bytes.NewReader(data)), data: data, before: before}
	p.d.UseNumber()
	return p.value(0)
}

// place is that of the token that was read last.
func (p *jsonParser) place() place {
	end := max(int(p.d.InputOffset())-1, p.counted)
	p.before.line += bytes.Count(p.data[p.counted:end], []byte("\n"))
	p.counted = end
	return place{p.before.file, p.before.line + 1}
}

func (p *jsonParser) value(depth int) *node {
	t, err := p.d.Token()
	n := &node{at: p.place()}
	switch p.n++; {
	case err != nil:
		panic(invalid(n.at, "%v", err))
	case p.n > maxNodes:
		panic(invalid(n.at, "the document has more than %d values", maxNodes))
	case depth > maxDepth:
		panic(invalid(n.at, "the document nests deeper than %d", maxDepth))
	}
	switch t := t.(type) {
	case bool:
		n.kind, n.text = isBool, fmt.Sprint(t)
	case json.Number:
		n.kind, n.text = isNumber, string(t)
	case string:
		n.kind, n.text = isText, t
	case json.Delim:
		n.kind = isList
		if t == '{' {
			n.kind = isObject
		}
		for p.d.More() {
			if n.kind == isObject {
				k, _ := p.d.Token()
				key, _ := k.(string)
				n.keys = append(n.keys, key)
			}
			n.items = append(n.items, p.value(depth+1))
		}
		_, _ = p.d.Token() // the end
	}
	return n
}
