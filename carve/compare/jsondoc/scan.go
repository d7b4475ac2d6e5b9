// Package jsondoc reads a JSON text into a flat list of nodes, without building a
// tree, and writes places in it as patterns.
package jsondoc

import (
	"errors"
	"math"
	"slices"

	"whittle/internal/jsonscan"
)

// Bounds of a document that is compared in full.
const (
	MaxDepth = 256
	MaxNodes = 1 << 18
)

// Kind is the type of a JSON value.
type Kind uint8

// The kinds, in the order of their names in differences of type.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// KindNames are the kinds in words.
var KindNames = [...]string{"null", "bool", "number", "string", "array", "object"}

// node is one value, or one key, of a document. The nodes of a document lie in
// the order of the text: those of a subtree are next to each other.
type node struct {
	Kind Kind
	// Escaped says that a string must be unquoted before it is compared.
	Escaped bool
	// start and end are the value's bytes.
	start, end uint32
	// Next is the index after the subtree.
	Next uint32
	// Count is the number of elements, or of members.
	Count uint32
}

// Document is a scanned JSON text. Its nodes are kept from one use to the
// next, so that a steady stream of responses allocates nothing.
type Document struct {
	src   []byte
	Nodes []node
	scan  jsonscan.Scanner
}

// Result says whether a text could be read.
type Result uint8

// What becomes of a text.
const (
	Scanned    Result = iota
	NotJSON           // not a JSON text of RFC 8259, or empty
	OutOfLimit        // too deep or too many values
)

// None is no node: that of a side that lacks a value, and the parent of the whole document.
const None = math.MaxUint32

var kinds = [...]Kind{
	jsonscan.Null: Null, jsonscan.Bool: Bool, jsonscan.Number: Number, jsonscan.String: String, jsonscan.Key: String,
	jsonscan.Array: Array, jsonscan.Object: Object,
}

// Scan reads a text; its grammar is RFC 8259's, as encoding/json has it.
func (d *Document) Scan(src []byte) Result {
	d.src, d.Nodes = src, d.Nodes[:0]
	if len(src) > 1<<30 {
		return OutOfLimit
	}
	d.scan.Reset(src, 0, MaxDepth+1) // an innermost one may lie in MaxDepth others
	nodes, ok := appendNodes(d.Nodes, &d.scan)
	if d.Nodes = nodes; !ok {
		d.Nodes = nodes[:0]
		return OutOfLimit
	}
	err := d.scan.Finish()
	switch {
	case err == nil:
		return Scanned
	case errors.Is(err, jsonscan.TooDeep):
		d.Nodes = nodes[:0]
		return OutOfLimit
	}
	d.Nodes = nodes[:0]
	return NotJSON
}

// appendNodes reads as far as the text is right, or reports false where it has
// too many values. Until a container is closed, its next is the container around
// it.
func appendNodes(nodes []node, s *jsonscan.Scanner) (_ []node, ok bool) {
	parent := uint32(None)
	for {
		kind := s.Next()
		self := uint32(len(nodes))
		switch kind {
		case jsonscan.None:
			return nodes, true
		case jsonscan.End:
			n := &nodes[parent]
			parent = n.Next
			n.end, n.Next = uint32(s.End()), self
			continue
		case jsonscan.Key:
		default:
			if self >= MaxNodes {
				return nodes, false
			}
			if parent != None {
				nodes[parent].Count++
			}
		}
		// Field by field: a literal is written to the stack in small parts and
		// read from there as a whole, which a processor waits for.
		nodes = slices.Grow(nodes, 1)[:self+1]
		n := &nodes[self]
		n.Kind, n.Escaped = kinds[kind], s.Escaped()
		n.start, n.end = uint32(s.Start()), uint32(s.End())
		n.Next, n.Count = self+1, 0
		if kind == jsonscan.Array || kind == jsonscan.Object {
			n.Next, parent = parent, self
		}
	}
}

// IsNumber reports whether a text is one JSON number and nothing else.
func IsNumber(s []byte) bool { return jsonscan.IsNumber(s) }

// Text is a node's bytes.
func (d *Document) Text(i uint32) []byte { n := &d.Nodes[i]; return d.src[n.start:n.end] }

// KindOf reads the kind of a JSON value from its first byte.
func KindOf(value []byte) (Kind, bool) {
	if len(value) == 0 {
		return 0, false
	}
	switch c := value[0]; {
	case c == '"':
		return String, true
	case c == '[':
		return Array, true
	case c == '{':
		return Object, true
	case c == '-' || c >= '0' && c <= '9':
		return Number, true
	}
	return Null, true
}
