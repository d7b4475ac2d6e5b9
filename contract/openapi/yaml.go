package openapi

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"whittle"
)

// parseYAML reads one YAML document. Whatever the bytes, it ends with a node or with
// an error of this package: the parser is not ours, and may panic.
func parseYAML(data []byte, name string) *node {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *whittle.Error:
			panic(r)
		default:
			panic(invalid(place{name, 1}, "not readable as YAML: %v", r))
		}
	}()
	tokens := lexer.Tokenize(string(data))
	boundTokens(tokens, name)
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
			panic(invalid(placeOf(name, e.GetToken()), "not readable as YAML: %s", e.GetMessage()))
		}
		panic(invalid(place{name, 1}, "not readable as YAML: %v", err))
	}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			r := yamlReader{file: name, anchors: map[string]ast.Node{}, open: map[string]bool{}}
			return r.read(doc.Body, 0)
		}
	}
	panic(invalid(place{name, 1}, "the document is empty"))
}

// boundTokens refuses what is too much for a parser that recurses.
func boundTokens(tokens token.Tokens, name string) {
	if len(tokens) > 2*maxNodes {
		panic(invalid(placeOf(name, tokens[2*maxNodes]), "the document has more than %d words and signs", 2*maxNodes))
	}
	flow, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if lineOf(t) != line {
			line, dashes = lineOf(t), 0
		}
		switch t.Type {
		case token.InvalidType:
			panic(invalid(placeOf(name, t), "not readable as YAML: %s", t.Error))
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if flow > maxDepth || dashes > maxDepth || t.Position != nil && t.Position.IndentNum > 8*maxDepth {
			panic(invalid(placeOf(name, t), "the document nests deeper than %d", maxDepth))
		}
	}
}

func placeOf(file string, t *token.Token) place { return place{file, lineOf(t)} }

func lineOf(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 1
	}
	return max(t.Position.Line, 1)
}

// yamlReader makes nodes of YAML's, with aliases and merged mappings in place.
type yamlReader struct {
	file string
	// anchors are what has been named so far.
	anchors map[string]ast.Node
	// open are the anchors that are being read, so that one within itself is seen.
	open  map[string]bool
	nodes int
}

func (r *yamlReader) read(a ast.Node, depth int) *node {
	if a == nil {
		return &node{at: place{r.file, 1}}
	}
	n := &node{at: placeOf(r.file, a.GetToken())}
	if depth > maxDepth {
		panic(invalid(n.at, "the document nests deeper than %d", maxDepth))
	}
	if r.nodes++; r.nodes > maxNodes {
		panic(invalid(n.at, "the document has more than %d values, aliases counted each time", maxNodes))
	}
	switch v := a.(type) {
	case *ast.NullNode:
	case *ast.MappingNode:
		r.fill(n, v.Values, depth)
	case *ast.MappingValueNode:
		r.fill(n, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		n.kind = isList
		for _, item := range v.Values {
			n.items = append(n.items, r.read(item, depth+1))
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
		return r.read(v.Value, depth+1)
	case *ast.AnchorNode:
		r.anchors[v.Name.GetToken().Value] = v.Value
		return r.read(v.Value, depth+1)
	case *ast.AliasNode:
		return r.alias(n.at, v.Value.GetToken().Value, depth)
	default:
		n.kind, n.text = isText, a.GetToken().Value
	}
	return n
}

func (r *yamlReader) alias(at place, name string, depth int) *node {
	target, ok := r.anchors[name]
	if !ok {
		panic(invalid(at, "*%s has no anchor &%s above it", name, name))
	}
	if r.open[name] {
		panic(invalid(at, "*%s contains itself", name))
	}
	r.open[name] = true
	defer delete(r.open, name)
	return r.read(target, depth+1)
}

// fill gives n the members of a mapping. A member that is given stands before one
// that is merged (<<), and of merged ones the first.
func (r *yamlReader) fill(n *node, values []*ast.MappingValueNode, depth int) {
	n.kind = isObject
	var merged []*node
	for _, v := range values {
		value := r.read(v.Value, depth+1)
		switch {
		case !v.Key.IsMergeKey():
			n.keys, n.items = append(n.keys, keyOf(v.Key)), append(n.items, value)
		case value.kind == isList:
			merged = append(merged, value.items...)
		default:
			merged = append(merged, value)
		}
	}
	for _, m := range merged {
		n.merge(m)
	}
	if len(values) > 0 {
		n.at = placeOf(r.file, values[0].Key.GetToken())
	}
}

func (n *node) merge(m *node) {
	if m.kind != isObject {
		panic(invalid(m.at, "<< merges what is no mapping"))
	}
	for i, key := range m.keys {
		if n.get(key) == nil {
			n.keys, n.items = append(n.keys, key), append(n.items, m.items[i])
		}
	}
}

// keyOf is a key's text, also where it has an anchor or a tag.
func keyOf(key ast.MapKeyNode) string {
	switch k := key.(type) {
	case *ast.AnchorNode:
		return k.Value.GetToken().Value
	case *ast.TagNode:
		return k.Value.GetToken().Value
	}
	return key.GetToken().Value
}
