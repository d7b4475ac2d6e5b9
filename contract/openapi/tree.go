package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"

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

// node is a value of the document, with the line it begins in.
type node struct {
	line int
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
	for i, k := range n.keys {
		if k == key {
			return n.items[i]
		}
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

func invalid(line int, format string, args ...any) error {
	return whittle.Errorf(whittle.Invalid, "line %d: %s", line, fmt.Sprintf(format, args...))
}

// parse reads JSON, or YAML.
func parse(data []byte) *node {
	if len(data) > maxBytes {
		panic(whittle.Errorf(whittle.ResourceExhausted, "the document is longer than %d MiB", maxBytes>>20))
	}
	if t := bytes.TrimLeft(data, " \t\r\n\ufeff"); len(t) > 0 && t[0] == '{' && json.Valid(t) {
		return parseJSON(t, bytes.Count(data[:len(data)-len(t)], []byte("\n")))
	}
	return parseYAML(data)
}

// lines finds the line of an offset.
type lines []int

func newLines(data []byte) lines {
	var l lines
	for i, c := range data {
		if c == '\n' {
			l = append(l, i)
		}
	}
	return l
}

func (l lines) of(offset int64) int { return 1 + sort.SearchInts(l, int(offset)) }

type jsonParser struct {
	d      *json.Decoder
	lines  lines
	before int
	n      int
}

// parseJSON reads a text that is known to be JSON; before counts the lines
// above it.
func parseJSON(data []byte, before int) *node {
	p := jsonParser{d: json.NewDecoder(bytes.NewReader(data)), lines: newLines(data), before: before}
	p.d.UseNumber()
	return p.value(0)
}

func (p *jsonParser) value(depth int) *node {
	t, err := p.d.Token()
	n := &node{line: p.before + p.lines.of(p.d.InputOffset()-1)}
	switch p.n++; {
	case err != nil:
		panic(invalid(n.line, "%v", err))
	case p.n > maxNodes:
		panic(invalid(n.line, "the document has more than %d values", maxNodes))
	case depth > maxDepth:
		panic(invalid(n.line, "the document nests deeper than %d", maxDepth))
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
