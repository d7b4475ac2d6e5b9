package artillery

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"whittle"
	"whittle/internal/units"
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

// each is the items of a list, or the value itself where it is none.
func (n *node) each() []*node {
	if n.kind == expr.KindList {
		return n.items
	}
	return []*node{n}
}

// mapping are the fields of a mapping. Anything else is refused by what is wanted.
func (n *node) mapping(wanted string) []field {
	if n.kind != expr.KindMap {
		panic(n.Invalid("%s, not %s", wanted, n.kind))
	}
	return n.fields
}

// list are the items of a list. Anything else is refused by what is wanted.
func (n *node) list(wanted string) []*node {
	if n.kind != expr.KindList {
		panic(n.Invalid("%s, not %s", wanted, n.kind))
	}
	return n.items
}

// positionOf is a token's; without one, the beginning of the file.
func positionOf(file string, t *token.Token) plan.Position {
	if t == nil || t.Position == nil {
		return plan.Position{File: file, Line: 1, Col: 1}
	}
	return plan.Position{File: file, Line: t.Position.Line, Col: t.Position.Column}
}

// parseTree reads YAML (of which JSON is a part) into nodes.
func parseTree(file string, src []byte) *node {
	if len(src) > plan.MaxBytes {
		panic(whittle.Errorf(whittle.ResourceExhausted, "%s: a plan has at most %d bytes, this one %d", file, plan.MaxBytes, len(src)))
	}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		panic(positionOf(file, nil).Invalid("the plan is in UTF-16: save it as UTF-8"))
	}
	doc, err := parser.ParseBytes(src, 0)
	if err != nil {
		panic(yamlError(file, err))
	}
	var body ast.Node
	for _, d := range doc.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			panic(positionOf(file, d.Body.GetToken()).Invalid("a plan is one YAML document"))
		}
		body = d.Body
	}
	if body == nil {
		panic(positionOf(file, nil).Invalid("the plan is empty"))
	}
	b := treeBuilder{file: file, anchors: map[string]ast.Node{}}
	return b.build(body, 0)
}

func yamlError(file string, err error) error {
	type tokened interface{ GetToken() *token.Token }
	type messaged interface{ GetMessage() string }
	at, text := positionOf(file, nil), err.Error()
	if e, ok := err.(tokened); ok {
		at = positionOf(file, e.GetToken())
	}
	if e, ok := err.(messaged); ok {
		text = e.GetMessage()
	}
	return at.Invalid("not YAML: %s", text)
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

func (b *treeBuilder) build(a ast.Node, depth int) *node {
	if a == nil {
		return &node{Position: positionOf(b.file, nil)}
	}
	n := &node{Position: positionOf(b.file, a.GetToken())}
	if b.nodes++; b.nodes > maxPlanNodes {
		panic(n.Invalid("more than %d values, aliases counted each time", maxPlanNodes))
	}
	if depth > maxPlanDepth {
		panic(n.Invalid("nested deeper than %d", maxPlanDepth))
	}
	switch a := a.(type) {
	case *ast.AnchorNode:
		b.anchors[a.Name.GetToken().Value] = a.Value
		value := b.build(a.Value, depth+1)
		value.anchored = true
		return value
	case *ast.AliasNode:
		return b.alias(n, a.Value.GetToken().Value, depth)
	case *ast.TagNode:
		return b.build(a.Value, depth+1)
	case *ast.SequenceNode:
		n.kind = expr.KindList
		for _, v := range a.Values {
			n.items = append(n.items, b.build(v, depth+1))
		}
	case *ast.MappingNode:
		b.mapping(n, a.Values, depth)
	case *ast.MappingValueNode:
		b.mapping(n, []*ast.MappingValueNode{a}, depth)
	default:
		scalar(n, a)
	}
	return n
}

func (b *treeBuilder) alias(n *node, name string, depth int) *node {
	target, ok := b.anchors[name]
	if !ok {
		panic(n.Invalid("*%s has no anchor &%s above it", name, name))
	}
	if b.open[name] {
		panic(n.Invalid("*%s contains itself", name))
	}
	if b.open == nil {
		b.open = map[string]bool{}
	}
	b.open[name] = true
	defer delete(b.open, name)
	return b.build(target, depth+1)
}

func (b *treeBuilder) mapping(n *node, values []*ast.MappingValueNode, depth int) {
	n.kind = expr.KindMap
	if len(values) > 0 {
		n.Position = positionOf(b.file, values[0].Key.GetToken())
	}
	at := make(map[string]int, len(values)) // where each name is in n.fields
	given := make(map[string]bool, len(values))
	for _, v := range values {
		t := v.Key.GetToken()
		val := b.build(v.Value, depth+1)
		if v.Key.IsMergeKey() {
			n.merge(val, at)
			continue
		}
		f := field{t.Value, positionOf(b.file, t), val}
		if given[f.name] {
			panic(f.Invalid("%s is given twice", f.name))
		}
		given[f.name] = true
		if i, ok := at[f.name]; ok { // merged before: what is given stands in its place
			n.fields[i] = f
			continue
		}
		at[f.name] = len(n.fields)
		n.fields = append(n.fields, f)
	}
}

// merge adds the fields of a mapping, or of a list of mappings, that there are not yet. At
// has the places of those that there are.
func (n *node) merge(from *node, at map[string]int) {
	for _, m := range from.each() {
		if m.kind != expr.KindMap {
			panic(m.Invalid("<< merges a mapping, not %s", m.kind))
		}
		for _, f := range m.fields {
			if _, ok := at[f.name]; !ok {
				at[f.name] = len(n.fields)
				n.fields = append(n.fields, f)
			}
		}
	}
}

func scalar(n *node, a ast.Node) {
	switch a := a.(type) {
	case *ast.NullNode:
		n.kind = expr.KindNull
	case *ast.BoolNode:
		n.kind, n.text = expr.KindBool, strconv.FormatBool(a.Value)
	case *ast.IntegerNode:
		n.kind, n.text = expr.KindNumber, fmt.Sprint(a.Value)
		if strings.HasPrefix(a.Token.Value, "0o") {
			n.kind, n.text = expr.KindString, a.Token.Value // YAML 1.1 has no such number
		}
	case *ast.FloatNode:
		n.kind, n.text = expr.KindNumber, units.Plain(a.Value)
	case *ast.StringNode:
		n.kind, n.text = expr.KindString, a.Value
		if a.Token.Type == token.StringType {
			n.plainText()
		}
	case *ast.LiteralNode:
		n.kind, n.text = expr.KindString, a.Value.Value
	default:
		panic(n.Invalid("%s has no meaning in a plan", strings.ToLower(a.Type().String())))
	}
}

var (
	exponent    = regexp.MustCompile(`^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$`)
	date        = regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?$`)
	sexagesimal = regexp.MustCompile(`^[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?$`)
)

// plainText resolves an unquoted scalar as Artillery does, by YAML 1.1: 1e3 is a number,
// 2024-05-01 a time, 12:30 is 750.
func (n *node) plainText() {
	switch {
	case exponent.MatchString(n.text):
		if f, err := strconv.ParseFloat(n.text, 64); err == nil {
			n.kind, n.text = expr.KindNumber, units.Plain(f)
		}
	case date.MatchString(n.text):
		if t, ok := timeOf(n.text); ok {
			n.text, n.unquoted = t.UTC().Format("2006-01-02T15:04:05.000Z"), "a time"
		}
	case sexagesimal.MatchString(n.text):
		n.kind, n.text = expr.KindNumber, base60(n.text)
	}
}

// timeOf reads a date or a time of YAML.
func timeOf(text string) (time.Time, bool) {
	for _, form := range []string{
		"2006-1-2", "2006-1-2T15:4:5Z07:00", "2006-1-2t15:4:5Z07:00", "2006-1-2 15:4:5", "2006-1-2T15:4:5", "2006-1-2 15:4:5Z07:00", "2006-1-2 15:4:5 Z07:00",
	} {
		if t, err := time.Parse(form, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// base60 reads a number to the base of 60: 12:30 is 750.
func base60(text string) string {
	sign := 1.0
	if strings.HasPrefix(text, "-") {
		sign = -1
	}
	sum := 0.0
	for part := range strings.SplitSeq(strings.TrimLeft(text, "+-"), ":") {
		f, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return "0"
		}
		sum = sum*60 + f
	}
	return units.Plain(sign * sum)
}

// asText refuses a text that Artillery takes for something else.
func (n *node) asText() {
	if n.unquoted == "" {
		return
	}
	panic(n.Errorf(whittle.Unsupported, "%s without quotes is not supported here: to Artillery it is %s; write it within quotes", n.text, n.unquoted))
}
