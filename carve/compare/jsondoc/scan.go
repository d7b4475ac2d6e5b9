// Package jsondoc reads a JSON text into a flat list of nodes, without building a
// tree, and writes places in it as patterns.
package jsondoc

import "unicode/utf8"

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
}

// Result says whether a text could be read.
type Result uint8

// What becomes of a text.
const (
	Scanned    Result = iota
	NotJSON           // not a JSON text of RFC 8259, or empty
	OutOfLimit        // too deep or too many values
)

// Scan reads a text; its grammar is RFC 8259's, as encoding/json has it.
func (d *Document) Scan(src []byte) Result {
	d.src, d.Nodes = src, d.Nodes[:0]
	if len(src) > 1<<30 {
		return OutOfLimit
	}
	i, r := d.value(skipSpace(src, 0), 0)
	if r != Scanned {
		return r
	}
	if skipSpace(src, i) != len(src) {
		return NotJSON
	}
	return Scanned
}

// IsNumber reports whether a text is one JSON number and nothing else.
func IsNumber(s []byte) bool {
	if len(s) == 0 || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return false
	}
	d := Document{src: s}
	end, r := d.number(0)
	return r == Scanned && end == len(s)
}

// Text is a node's bytes.
func (d *Document) Text(i uint32) []byte { n := &d.Nodes[i]; return d.src[n.start:n.end] }

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

func (d *Document) value(i, depth int) (int, Result) {
	if i >= len(d.src) {
		return i, NotJSON
	}
	if depth > MaxDepth || len(d.Nodes) >= MaxNodes {
		return i, OutOfLimit
	}
	switch c := d.src[i]; {
	case c == '"':
		return d.str(i)
	case c == '{':
		return d.object(i, depth)
	case c == '[':
		return d.array(i, depth)
	case c == 't':
		return d.word(i, "true", Bool)
	case c == 'f':
		return d.word(i, "false", Bool)
	case c == 'n':
		return d.word(i, "null", Null)
	case c == '-' || c >= '0' && c <= '9':
		return d.number(i)
	}
	return i, NotJSON
}

// leaf appends a node without children.
func (d *Document) leaf(kind Kind, start, end int, escaped bool) {
	d.Nodes = append(d.Nodes, node{
		Kind: kind, Escaped: escaped, start: uint32(start), end: uint32(end), Next: uint32(len(d.Nodes) + 1),
	})
}

func (d *Document) word(i int, w string, kind Kind) (int, Result) {
	end := i + len(w)
	if end > len(d.src) || string(d.src[i:end]) != w {
		return i, NotJSON
	}
	d.leaf(kind, i, end, false)
	return end, Scanned
}

// SkipDigits skips digits and reports where they end.
func SkipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

func (d *Document) number(start int) (int, Result) {
	b, i := d.src, start
	if b[i] == '-' {
		i++
	}
	whole := SkipDigits(b, i)
	if whole == i || (b[i] == '0' && whole > i+1) {
		return i, NotJSON
	}
	i = whole
	if i < len(b) && b[i] == '.' {
		end := SkipDigits(b, i+1)
		if end == i+1 {
			return i, NotJSON
		}
		i = end
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		end := SkipDigits(b, i)
		if end == i {
			return i, NotJSON
		}
		i = end
	}
	d.leaf(Number, start, i, false)
	return i, Scanned
}

// plain marks the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

func (d *Document) str(start int) (int, Result) {
	b, i, escaped := d.src, start+1, false
	for i < len(b) {
		c := b[i]
		switch {
		case plain[c] || c >= utf8.RuneSelf:
			i++
		case c == '"':
			d.leaf(String, start, i+1, escaped)
			return i + 1, Scanned
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return i, NotJSON
			}
			escaped = true
			i += n
		default:
			return i, NotJSON
		}
	}
	return i, NotJSON
}

// escapeLen is the length of the escape at the start of b, 0 for none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

func (d *Document) array(start, depth int) (int, Result) {
	self, count := len(d.Nodes), uint32(0)
	d.leaf(Array, start, start, false)
	i := skipSpace(d.src, start+1)
	if i < len(d.src) && d.src[i] == ']' {
		return d.closed(self, i, 0), Scanned
	}
	for {
		var r Result
		if i, r = d.value(skipSpace(d.src, i), depth+1); r != Scanned {
			return i, r
		}
		count++
		i = skipSpace(d.src, i)
		if i >= len(d.src) {
			return i, NotJSON
		}
		switch d.src[i] {
		case ',':
			i++
		case ']':
			return d.closed(self, i, count), Scanned
		default:
			return i, NotJSON
		}
	}
}

func (d *Document) object(start, depth int) (int, Result) {
	self, count := len(d.Nodes), uint32(0)
	d.leaf(Object, start, start, false)
	i := skipSpace(d.src, start+1)
	if i < len(d.src) && d.src[i] == '}' {
		return d.closed(self, i, 0), Scanned
	}
	for {
		if i >= len(d.src) || d.src[i] != '"' {
			return i, NotJSON
		}
		var r Result
		if i, r = d.str(i); r != Scanned {
			return i, r
		}
		i = skipSpace(d.src, i)
		if i >= len(d.src) || d.src[i] != ':' {
			return i, NotJSON
		}
		if i, r = d.value(skipSpace(d.src, i+1), depth+1); r != Scanned {
			return i, r
		}
		count++
		i = skipSpace(d.src, i)
		if i >= len(d.src) {
			return i, NotJSON
		}
		switch d.src[i] {
		case ',':
			i = skipSpace(d.src, i+1)
		case '}':
			return d.closed(self, i, count), Scanned
		default:
			return i, NotJSON
		}
	}
}

// closed completes a container whose last byte is at i.
func (d *Document) closed(self, i int, count uint32) int {
	n := &d.Nodes[self]
	n.end, n.Next, n.Count = uint32(i+1), uint32(len(d.Nodes)), count
	return i + 1
}

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
