package openapi

import (
	"errors"

	"whittle/internal/yamltree"
)

// parseYAML reads one YAML document.
func parseYAML(data []byte, name string) *node {
	tree, err := yamltree.Parse(data, yamltree.Limits{Tokens: 2 * maxNodes, Nodes: maxNodes, Depth: maxDepth})
	if e, ok := errors.AsType[*yamltree.Error](err); ok {
		panic(invalid(place{name, e.Line}, "%s", e.Text))
	}
	if tree == nil {
		panic(invalid(place{name, 1}, "the document is empty"))
	}
	return nodeOf(tree, name)
}

var kinds = [...]kind{yamltree.Null: isNull, yamltree.Bool: isBool, yamltree.Number: isNumber, yamltree.Text: isText, yamltree.List: isList, yamltree.Map: isObject}

func nodeOf(y *yamltree.Node, name string) *node {
	n := &node{at: place{name, y.Line}, kind: kinds[y.Kind], text: y.Text}
	for _, item := range y.Items {
		n.items = append(n.items, nodeOf(item, name))
	}
	for _, f := range y.Fields {
		n.keys, n.items = append(n.keys, f.Name), append(n.items, nodeOf(f.Value, name))
	}
	return n
}
