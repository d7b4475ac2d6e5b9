package artillery

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"whittle"
	"whittle/internal/units"
	"whittle/internal/yamltree"
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

// parseTree reads YAML (of which JSON is a part) into nodes.
func parseTree(file string, src []byte) *node {
	if len(src) > plan.MaxBytes {
		panic(whittle.Errorf(whittle.ResourceExhausted, "%s: a plan has at most %d bytes, this one %d", file, plan.MaxBytes, len(src)))
	}
	top := plan.Position{File: file, Line: 1, Col: 1}
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if bytes.HasPrefix(src, []byte{0xff, 0xfe}) || bytes.HasPrefix(src, []byte{0xfe, 0xff}) {
		panic(top.Invalid("the plan is in UTF-16: save it as UTF-8"))
	}
	tree, err := yamltree.Parse(src, yamltree.Limits{Tokens: maxPlanTokens, Nodes: maxPlanNodes, Depth: maxPlanDepth})
	if e, ok := errors.AsType[*yamltree.Error](err); ok {
		panic(plan.Position{File: file, Line: e.Line, Col: e.Column}.Invalid("%s", e.Text))
	}
	if tree == nil {
		panic(top.Invalid("the plan is empty"))
	}
	return treeOf(file, tree)
}

// Bounds on a plan file, so that one from a stranger cannot exhaust memory: aliases in YAML
// multiply, ten lines can stand for a billion values.
const (
	maxPlanTokens = 1_000_000
	maxPlanNodes  = 100_000
	maxPlanDepth  = 64
)

var kinds = [...]expr.Kind{
	yamltree.Null: expr.KindNull, yamltree.Bool: expr.KindBool, yamltree.Number: expr.KindNumber,
	yamltree.Text: expr.KindString, yamltree.List: expr.KindList, yamltree.Map: expr.KindMap,
}

func treeOf(file string, y *yamltree.Node) *node {
	at := func(p yamltree.Place) plan.Position { return plan.Position{File: file, Line: p.Line, Col: p.Column} }
	n := &node{Position: at(y.Place), kind: kinds[y.Kind], text: y.Text, anchored: y.Anchored}
	for _, item := range y.Items {
		n.items = append(n.items, treeOf(file, item))
	}
	given := make(map[string]bool, len(y.Fields))
	for _, f := range y.Fields {
		if given[f.Name] {
			panic(at(f.Place).Invalid("%s is given twice", f.Name))
		}
		given[f.Name] = true
		n.fields = append(n.fields, field{f.Name, at(f.Place), treeOf(file, f.Value)})
	}
	switch v := y.Value.(type) {
	case nil:
		if y.Plain {
			n.plainText()
		}
	case bool:
		n.text = strconv.FormatBool(v)
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			panic(n.Invalid("%s has no meaning in a plan", y.Text))
		}
		n.text = units.Plain(v)
	default:
		if n.text = fmt.Sprint(v); strings.HasPrefix(y.Text, "0o") {
			n.kind, n.text = expr.KindString, y.Text // YAML 1.1 has no such number
		}
	}
	return n
}

var (
	exponent    = regexp.MustCompile(`^[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$`)
	date        = regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?$`)
	sexagesimal = regexp.MustCompile(`^[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?$`)
)

// plainText resolves an unquoted scalar as Artillery does, by YAML 1.1: 1e3 is a number. A
// date, and 12:30, which is 750 there, are refused.
func (n *node) plainText() {
	switch {
	case exponent.MatchString(n.text):
		if f, err := strconv.ParseFloat(n.text, 64); err == nil {
			n.kind, n.text = expr.KindNumber, units.Plain(f)
		}
	case date.MatchString(n.text), sexagesimal.MatchString(n.text):
		panic(n.Errorf(whittle.Unsupported, "%s without quotes is not supported: to Artillery it is a time, or a number to the base of 60; write it within quotes", n.text))
	}
}
