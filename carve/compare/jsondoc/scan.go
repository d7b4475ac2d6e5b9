// Package jsondoc reads a JSON text into a flat list of nodes, without building a tree, and writes
// places in it as patterns.
package jsondoc

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"

	"whittle/internal/jsonscan"
)

// The bounds of a document that is compared in full.
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

// node is one value, or one key, of a document. Nodes lie in the order of the text, so those of a
// subtree are next to each other.
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

// Document is a scanned JSON text. Its nodes are reused, so a steady stream of responses allocates nothing.
type Document struct {
	src   []byte
	Nodes []node
	scan  jsonscan.Scanner
}

// Result says whether a text could be read.
type Result uint8

// The results of a scan.
const (
	Scanned    Result = iota
	NotJSON           // not a JSON text of RFC 8259, or empty
	OutOfLimit        // too deep or too many values
)

// None is no node: of a side that lacks a value, or the parent of the whole document.
const None = math.MaxUint32

var kinds = [...]Kind{
	jsonscan.Null: Null, jsonscan.Bool: Bool, jsonscan.Number: Number, jsonscan.String: String, jsonscan.Key: String,
	jsonscan.Array: Array, jsonscan.Object: Object,
}

// Scan reads a text by RFC 8259, as encoding/json does.
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

// appendNodes reads as far as the text is right; false where it has too many values. Until a container
// is closed, its next is the container around it.
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
		// Field by field: a literal is written to the stack in small parts and read from there as a
		// whole, which a processor waits for.
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

// Unquote appends the value of a quoted JSON string; ok is false where quoted is none. Half of a
// surrogate pair stays itself, in the scheme of UTF-8; bytes that are not UTF-8 stay.
func Unquote(dst, quoted []byte) (s []byte, ok bool) {
	var scan jsonscan.Scanner
	scan.Reset(quoted, 0, 0)
	if scan.Next() != jsonscan.String || scan.Start() > 0 || scan.End() < len(quoted) {
		return dst, false
	}
	return jsonscan.AppendExact(dst, scan.Inside()), true
}

// SkipDigits skips digits and reports where they end.
func SkipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

// Decimal is the exact value of a JSON number: ±0.digits × 10^exp, digits without zeros at either end.
// No digits: zero.
type Decimal struct {
	Negative bool
	Digits   []byte
	Exp      int64
}

// ParseDecimal reads a valid JSON number and appends digits to buf. A number whose exponent no integer
// holds only equals one written alike.
func ParseDecimal(buf, number []byte) Decimal {
	var d Decimal
	if number[0] == '-' {
		d.Negative, number = true, number[1:]
	}
	if e := bytes.IndexAny(number, "eE"); e >= 0 {
		exp, err := strconv.ParseInt(string(number[e+1:]), 10, 62)
		if err != nil {
			d.Digits = append(buf, number...)
			return d
		}
		d.Exp, number = exp, number[:e]
	}
	point := bytes.IndexByte(number, '.')
	if point < 0 {
		point = len(number)
		buf = append(buf, number...)
	} else {
		buf = append(append(buf, number[:point]...), number[point+1:]...)
	}
	d.Exp += int64(point)
	trimmed := bytes.TrimLeft(buf, "0")
	d.Exp -= int64(len(buf) - len(trimmed))
	d.Digits = bytes.TrimRight(trimmed, "0")
	if len(d.Digits) == 0 {
		return Decimal{}
	}
	return d
}

// Approximate is a number as a float; ±Inf where it is larger.
func Approximate(number []byte) float64 {
	f, _ := strconv.ParseFloat(string(number), 64)
	return f
}

// Key is the text of a key node, never nil.
func (d *Document) Key(i uint32) []byte {
	quoted := d.Text(i)
	if !d.Nodes[i].Escaped {
		return quoted[1 : len(quoted)-1 : len(quoted)-1]
	}
	s, _ := Unquote([]byte{}, quoted)
	return slices.Clip(s)
}
