// Package yamltree reads one YAML document, of which JSON is a part, into values with their
// places. Aliases and merges are resolved, and what comes from outside is bounded.
package yamltree

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Place is where something begins; both count from 1.
type Place struct{ Line, Column int }

// Kind is a value's.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	Text
	List
	Map
)

// Node is a value.
type Node struct {
	Place
	Kind Kind
	// Text is a single value as it is written, without quotes and escapes; Value is a Bool's
	// or a Number's as YAML reads it.
	Text  string
	Value any
	// Plain says of a Text that it has no quotes, Anchored that aliases may mean the value.
	Plain, Anchored bool
	Items           []*Node
	// Fields are a Map's in their order. One that is given twice is there twice.
	Fields []Field
}

// Field is a key with its value.
type Field struct {
	Place
	Name  string
	Value *Node
}

// Limits bound a document: its tokens, its values (aliases counted each time), and how deep
// they are nested. The parser recurses, and a stack that runs out ends the process.
type Limits struct {
	Tokens, Nodes, Depth int
	// Refuse says what is wrong with a token; empty: nothing is.
	Refuse func(*token.Token) string
}

// Error is a fault in a document.
type Error struct {
	Place
	Text string
}

func (e *Error) Error() string { return e.Text }

// top is where a document begins.
var top = Place{1, 1}

func fail(at Place, format string, args ...any) { panic(&Error{at, fmt.Sprintf(format, args...)}) }

// unreadable fails with the parser's words, and with what to do about the commonest of them.
func unreadable(at Place, text string) {
	switch {
	case strings.Contains(text, "'\t'"):
		text = "there is a tab; indent by spaces"
	case strings.Contains(text, "not allowed in this context"):
		text += "; indent it like its neighbors, or put quotes around a text with a colon"
	}
	fail(at, "not readable as YAML: %s", text)
}

// Parse reads a document; nil: it is empty. Its errors are *Error, whatever the bytes: the
// parser is not ours, and may panic.
func Parse(src []byte, l Limits) (root *Node, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			root, err = nil, r
		default:
			root, err = nil, &Error{top, fmt.Sprintf("not readable as YAML: %v", r)}
		}
	}()
	tokens := lexer.Tokenize(string(src))
	l.check(tokens)
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at, text := top, err.Error()
		if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
			at, text = placeOf(e.GetToken()), e.GetMessage()
		}
		unreadable(at, text)
	}
	b := builder{limits: l, anchors: map[string]ast.Node{}, open: map[string]bool{}}
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case root != nil:
			fail(begin(doc.Body), "a second document begins here, and only one is read")
		default:
			root = b.value(doc.Body, 0)
		}
	}
	return root, nil
}

// check refuses what is too much for a parser that recurses.
func (l *Limits) check(tokens token.Tokens) {
	if len(tokens) > l.Tokens {
		fail(placeOf(tokens[l.Tokens]), "there are more than %d words and signs", l.Tokens)
	}
	flow, dashes, line := 0, 0, 0
	for _, t := range tokens {
		at := placeOf(t)
		if at.Line != line {
			line, dashes = at.Line, 0
		}
		switch t.Type {
		case token.InvalidType:
			unreadable(at, t.Error)
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if l.Refuse != nil {
			if why := l.Refuse(t); why != "" {
				fail(at, "%s", why)
			}
		}
		if flow > l.Depth || dashes > l.Depth || t.Position != nil && t.Position.IndentNum > 8*l.Depth {
			fail(at, "nested deeper than %d levels", l.Depth)
		}
	}
}

func placeOf(t *token.Token) Place {
	if t == nil || t.Position == nil {
		return top
	}
	return Place{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

// begin is where a value begins: for a block mapping its first key, which its own token (the
// colon) is not.
func begin(n ast.Node) Place {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return placeOf(m.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return placeOf(m.Key.GetToken())
	}
	return placeOf(n.GetToken())
}

type builder struct {
	limits Limits
	nodes  int
	// anchors are what has been named so far, open those that are being resolved.
	anchors map[string]ast.Node
	open    map[string]bool
}

func (b *builder) value(a ast.Node, depth int) *Node {
	if a == nil {
		return &Node{Place: top}
	}
	n := &Node{Place: begin(a)}
	if b.nodes++; b.nodes > b.limits.Nodes {
		fail(n.Place, "there are more than %d values, aliases counted each time", b.limits.Nodes)
	}
	if depth > b.limits.Depth {
		fail(n.Place, "nested deeper than %d levels", b.limits.Depth)
	}
	switch v := a.(type) {
	case *ast.TagNode:
		return b.value(v.Value, depth+1)
	case *ast.AnchorNode:
		b.anchors[v.Name.GetToken().Value] = v.Value
		n = b.value(v.Value, depth+1)
		n.Anchored = true
	case *ast.AliasNode:
		return b.alias(n.Place, v.Value.GetToken().Value, depth)
	case *ast.SequenceNode:
		n.Kind = List
		for _, item := range v.Values {
			if text := unsplit(item); text != nil {
				n.Items = append(n.Items, text)
			} else {
				n.Items = append(n.Items, b.value(item, depth+1))
			}
		}
	case *ast.MappingNode:
		b.fields(n, v.Values, depth)
	case *ast.MappingValueNode:
		b.fields(n, []*ast.MappingValueNode{v}, depth)
	default:
		n.single(a)
	}
	return n
}

func (n *Node) single(a ast.Node) {
	n.Text = a.GetToken().Value
	switch v := a.(type) {
	case *ast.NullNode:
		n.Text = ""
	case *ast.StringNode:
		n.Kind, n.Text, n.Plain = Text, v.Value, v.Token.Type == token.StringType
	case *ast.LiteralNode:
		n.Kind, n.Text = Text, v.Value.Value
	case *ast.BoolNode:
		n.Kind, n.Value = Bool, v.Value
	case *ast.IntegerNode:
		n.Kind, n.Value = Number, v.Value
	case *ast.FloatNode:
		n.Kind, n.Value = Number, v.Value
	case *ast.InfinityNode:
		n.Kind, n.Value = Number, v.Value
	case *ast.NanNode:
		n.Kind, n.Value = Number, math.NaN()
	default:
		fail(n.Place, "a %s has no place here", strings.ToLower(a.Type().String()))
	}
}

func (b *builder) alias(at Place, name string, depth int) *Node {
	target, ok := b.anchors[name]
	switch {
	case !ok:
		fail(at, "*%s has no anchor &%s above it", name, name)
	case b.open[name]:
		fail(at, "*%s contains itself", name)
	}
	b.open[name] = true
	defer delete(b.open, name)
	return b.value(target, depth+1)
}

// fields gives n those of a mapping. One that is given stands before one that is merged (<<),
// and of merged ones the first.
func (b *builder) fields(n *Node, values []*ast.MappingValueNode, depth int) {
	n.Kind = Map
	merged := map[string]int{} // where each is
	given := map[string]bool{}
	for _, v := range values {
		value := b.value(v.Value, depth+1)
		if !v.Key.IsMergeKey() {
			f := Field{placeOf(v.Key.GetToken()), nameOf(v.Key), value}
			given[f.Name] = true
			if i, ok := merged[f.Name]; ok {
				n.Fields[i] = f
				delete(merged, f.Name)
				continue
			}
			n.Fields = append(n.Fields, f)
			continue
		}
		from := []*Node{value}
		if value.Kind == List {
			from = value.Items
		}
		for _, m := range from {
			if m.Kind != Map {
				fail(m.Place, "<< merges what is no mapping")
			}
			for _, f := range m.Fields {
				if _, ok := merged[f.Name]; !ok && !given[f.Name] {
					merged[f.Name] = len(n.Fields)
					n.Fields = append(n.Fields, f)
				}
			}
		}
	}
}

// nameOf is a key's text, also where it has an anchor or a tag.
func nameOf(key ast.MapKeyNode) string {
	switch k := key.(type) {
	case *ast.AnchorNode:
		return k.Value.GetToken().Value
	case *ast.TagNode:
		return k.Value.GetToken().Value
	}
	return key.GetToken().Value
}

// unsplit puts a plain text of a list together again that the parser has taken for a mapping:
// in {url: [http://10.0.0.1:3000]} it splits at the second colon, though what follows is no
// space (YAML 1.2.2, section 7.3.3). Nil: it is no such text.
func unsplit(n ast.Node) *Node {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) == 1 {
		n = m.Values[0]
	}
	pair, ok := n.(*ast.MappingValueNode)
	if !ok {
		return nil
	}
	key, value := pair.Key.GetToken(), pair.Value.GetToken()
	switch pair.Value.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode:
	default:
		return nil
	}
	end := placeOf(pair.GetToken())
	if placeOf(value) != (Place{end.Line, end.Column + 1}) || value.Type == token.SingleQuoteType || value.Type == token.DoubleQuoteType {
		return nil
	}
	return &Node{Place: placeOf(key), Kind: Text, Plain: true, Text: key.Value + ":" + value.Value}
}
