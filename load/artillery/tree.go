package artillery

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// node is a YAML value with its position in the file, anchors and merges already
// resolved and the order of keys kept.
type node struct {
	plan.Position
	kind expr.Kind
	// text is a scalar as text: a number in JSON's notation, "true", a string's
	// value.
	text   string
	items  []*node
	fields []field
	// unquoted is what Artillery's YAML makes of a text that stands without
	// quotes, where that is not the text: "a date". Empty: it is the text.
	unquoted string
	// anchored values are written down to be referred to from elsewhere.
	anchored bool
}

type field struct {
	name string
	plan.Position
	value *node
}

// get finds a field by name, nil where it is absent.
func (n *node) get(name string) *node {
	for _, f := range n.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// parseTree reads YAML (of which JSON is a part) into nodes.
func parseTree(file string, src []byte) (*node, error) {
	if len(src) > plan.MaxBytes {
		return nil, whittle.Errorf(whittle.ResourceExhausted, "%s: a plan has at most %d bytes, this one %d", file, plan.MaxBytes, len(src))
	}
	doc, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil, yamlError(file, err)
	}
	var body ast.Node
	for _, d := range doc.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			t := d.Body.GetToken()
			return nil, plan.Position{File: file, Line: t.Position.Line, Col: t.Position.Column}.Invalid("a plan is one YAML document")
		}
		body = d.Body
	}
	if body == nil {
		return nil, plan.Position{File: file, Line: 1, Col: 1}.Invalid("the plan is empty")
	}
	b := treeBuilder{file: file, anchors: map[string]ast.Node{}}
	return b.build(body, 0)
}

func yamlError(file string, err error) error {
	type tokened interface{ GetToken() *token.Token }
	type messaged interface{ GetMessage() string }
	line, col, text := 1, 1, err.Error()
	if e, ok := err.(tokened); ok && e.GetToken() != nil && e.GetToken().Position != nil {
		line, col = e.GetToken().Position.Line, e.GetToken().Position.Column
	}
	if e, ok := err.(messaged); ok {
		text = e.GetMessage()
	}
	return plan.Position{File: file, Line: line, Col: col}.Invalid("not YAML: %s", text)
}

// Bounds on a plan file, so that one from a stranger cannot exhaust memory:
// aliases in YAML multiply, ten lines can stand for a billion values.
const (
	maxPlanNodes = 100_000
	maxPlanDepth = 64
)

type treeBuilder struct {
	file    string
	anchors map[string]ast.Node
	// open holds the anchors being resolved, so that one within itself is seen.
	open  map[string]bool
	nodes int
}

func (b *treeBuilder) build(a ast.Node, depth int) (*node, error) {
	n := &node{Position: plan.Position{File: b.file, Line: 1, Col: 1}}
	if a == nil {
		return n, nil
	}
	if t := a.GetToken(); t != nil && t.Position != nil {
		n.Line, n.Col = t.Position.Line, t.Position.Column
	}
	if b.nodes++; b.nodes > maxPlanNodes {
		return nil, n.Invalid("more than %d values, aliases counted each time", maxPlanNodes)
	}
	if depth > maxPlanDepth {
		return nil, n.Invalid("nested deeper than %d", maxPlanDepth)
	}
	switch a := a.(type) {
	case *ast.AnchorNode:
		b.anchors[a.Name.GetToken().Value] = a.Value
		value, err := b.build(a.Value, depth+1)
		if err == nil {
			value.anchored = true
		}
		return value, err
	case *ast.AliasNode:
		return b.alias(n, a.Value.GetToken().Value, depth)
	case *ast.TagNode:
		return b.build(a.Value, depth+1)
	case *ast.SequenceNode:
		n.kind = expr.KindList
		for _, v := range a.Values {
			item, err := b.build(v, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
		return n, nil
	case *ast.MappingNode:
		if len(a.Values) > 0 {
			t := a.Values[0].Key.GetToken()
			n.Line, n.Col = t.Position.Line, t.Position.Column
		}
		return n, b.mapping(n, a.Values, depth)
	case *ast.MappingValueNode:
		t := a.Key.GetToken()
		n.Line, n.Col = t.Position.Line, t.Position.Column
		return n, b.mapping(n, []*ast.MappingValueNode{a}, depth)
	}
	return n, scalar(n, a)
}

func (b *treeBuilder) alias(n *node, name string, depth int) (*node, error) {
	target, ok := b.anchors[name]
	if !ok {
		return nil, n.Invalid("*%s has no anchor &%s above it", name, name)
	}
	if b.open[name] {
		return nil, n.Invalid("*%s contains itself", name)
	}
	if b.open == nil {
		b.open = map[string]bool{}
	}
	b.open[name] = true
	defer delete(b.open, name)
	return b.build(target, depth+1)
}

func (b *treeBuilder) mapping(n *node, values []*ast.MappingValueNode, depth int) error {
	n.kind = expr.KindMap
	var merged []field
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		t := v.Key.GetToken()
		val, err := b.build(v.Value, depth+1)
		if err != nil {
			return err
		}
		if v.Key.IsMergeKey() {
			if val.kind != expr.KindMap {
				return val.Invalid("<< merges a mapping, not %s", val.kind)
			}
			merged = append(merged, val.fields...)
			continue
		}
		name := t.Value
		if seen[name] {
			return plan.Position{File: b.file, Line: t.Position.Line, Col: t.Position.Column}.Invalid("%s is given twice", name)
		}
		seen[name] = true
		n.fields = append(n.fields, field{name, plan.Position{File: b.file, Line: t.Position.Line, Col: t.Position.Column}, val})
	}
	for _, f := range merged {
		if !seen[f.name] {
			seen[f.name] = true
			n.fields = append(n.fields, f)
		}
	}
	return nil
}

func scalar(n *node, a ast.Node) error {
	switch a := a.(type) {
	case *ast.NullNode:
		n.kind = expr.KindNull
	case *ast.BoolNode:
		n.kind, n.text = expr.KindBool, strconv.FormatBool(a.Value)
	case *ast.IntegerNode:
		n.kind, n.text = expr.KindNumber, fmt.Sprint(a.Value)
	case *ast.FloatNode:
		n.kind, n.text = expr.KindNumber, expr.FormatNumber(a.Value)
	case *ast.StringNode:
		n.kind, n.text = expr.KindString, a.Value
		if a.Token.Type == token.StringType {
			n.plainText()
		}
	case *ast.LiteralNode:
		n.kind, n.text = expr.KindString, a.Value.Value
	default:
		return n.Invalid("%s has no meaning in a plan", strings.ToLower(a.Type().String()))
	}
	return nil
}

var (
	exponent    = regexp.MustCompile(`^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$`)
	date        = regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?$`)
	sexagesimal = regexp.MustCompile(`^[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?$`)
)

// plainText settles what a text without quotes is to Artillery, whose YAML is
// that of version 1.1: 1e3 is a number, 2024-05-01 a time, 12:30 is 750.
func (n *node) plainText() {
	switch {
	case exponent.MatchString(n.text):
		if f, err := strconv.ParseFloat(n.text, 64); err == nil {
			n.kind, n.text = expr.KindNumber, expr.FormatNumber(f)
		}
	case date.MatchString(n.text):
		n.unquoted = "a time"
	case sexagesimal.MatchString(n.text):
		n.unquoted = "a number to the base of 60"
	case strings.HasPrefix(n.text, "0o"):
		n.unquoted = "a text, and to others an octal number"
	}
}

// asText refuses a text that Artillery takes for something else.
func (n *node) asText() error {
	if n.unquoted == "" {
		return nil
	}
	return n.Errorf(whittle.Unsupported, "%s without quotes is not supported here: to Artillery it is %s; write %q", n.text, n.unquoted, n.text)
}
