package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

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

// parseYAML reads one YAML document. Whatever the bytes, it ends with a node or with
// an error of this package: the parser is not ours, and may panic.
func parseYAML(data []byte) *node {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *whittle.Error:
			panic(r)
		default:
			panic(invalid(1, "not readable as YAML: %v", r))
		}
	}()
	tokens := lexer.Tokenize(string(data))
	boundTokens(tokens)
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
			panic(invalid(lineOf(e.GetToken()), "not readable as YAML: %s", e.GetMessage()))
		}
		panic(invalid(1, "not readable as YAML: %v", err))
	}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			return convert(doc.Body, 0)
		}
	}
	panic(invalid(1, "the document is empty"))
}

// boundTokens refuses what is too much for a parser that recurses, and anchors
// and aliases, a few lines of which can stand for billions of values.
func boundTokens(tokens token.Tokens) {
	if len(tokens) > 2*maxNodes {
		panic(invalid(lineOf(tokens[2*maxNodes]), "the document has more than %d words and signs", 2*maxNodes))
	}
	flow, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if lineOf(t) != line {
			line, dashes = lineOf(t), 0
		}
		switch t.Type {
		case token.InvalidType:
			panic(invalid(lineOf(t), "not readable as YAML: %s", t.Error))
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			panic(invalid(lineOf(t), "anchors and aliases (&, *, <<) are not read here; use $ref"))
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if flow > maxDepth || dashes > maxDepth || t.Position != nil && t.Position.IndentNum > 8*maxDepth {
			panic(invalid(lineOf(t), "the document nests deeper than %d", maxDepth))
		}
	}
}

func lineOf(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 1
	}
	return max(t.Position.Line, 1)
}

func convert(a ast.Node, depth int) *node {
	if a == nil {
		return &node{line: 1}
	}
	n := &node{line: lineOf(a.GetToken())}
	if depth > maxDepth {
		panic(invalid(n.line, "the document nests deeper than %d", maxDepth))
	}
	switch v := a.(type) {
	case *ast.NullNode:
	case *ast.MappingNode:
		n.fill(v.Values, depth)
	case *ast.MappingValueNode:
		n.fill([]*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		n.kind = isList
		for _, item := range v.Values {
			n.items = append(n.items, convert(item, depth+1))
		}
	case *ast.StringNode:
		n.kind, n.text = isText, v.Value
	case *ast.LiteralNode:
		n.kind, n.text = isText, v.Value.Value
	case *ast.BoolNode:
		n.kind, n.text = isBool, fmt.Sprint(v.Value)
	case *ast.IntegerNode, *ast.FloatNode:
		n.kind, n.text = isNumber, a.GetToken().Value
	case *ast.TagNode:
		return convert(v.Value, depth+1)
	default:
		n.kind, n.text = isText, a.GetToken().Value
	}
	return n
}

func (n *node) fill(values []*ast.MappingValueNode, depth int) {
	n.kind = isObject
	for _, v := range values {
		n.keys, n.items = append(n.keys, v.Key.GetToken().Value), append(n.items, convert(v.Value, depth+1))
	}
	if len(values) > 0 {
		n.line = lineOf(values[0].Key.GetToken())
	}
}
