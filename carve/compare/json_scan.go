package compare

import "unicode/utf8"

// Bounds of a document that is compared in full.
const (
	maxDepth = 256
	maxNodes = 1 << 18
)

type nodeKind uint8

const (
	kindNull nodeKind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

var kindNames = [...]string{"null", "bool", "number", "string", "array", "object"}

// node is one value, or one key, of a document. The nodes of a document lie in
// the order of the text: those of a subtree are next to each other.
type node struct {
	kind nodeKind
	// escaped says that a string must be unquoted before it is compared.
	escaped bool
	// start and end are the value's bytes.
	start, end uint32
	// next is the index after the subtree.
	next uint32
	// count is the number of elements, or of members.
	count uint32
}

// document is a scanned JSON text. Its nodes are kept from one use to the
// next, so that a steady stream of responses allocates nothing.
type document struct {
	src   []byte
	nodes []node
}

type scanResult uint8

const (
	scanned    scanResult = iota
	notJSON               // not a JSON text of RFC 8259, or empty
	outOfLimit            // too deep or too many values
)

// scan reads a text; its grammar is RFC 8259's, as encoding/json has it.
func (d *document) scan(src []byte) scanResult {
	d.src, d.nodes = src, d.nodes[:0]
	if len(src) > 1<<30 {
		return outOfLimit
	}
	i, r := d.value(skipSpace(src, 0), 0)
	if r != scanned {
		return r
	}
	if skipSpace(src, i) != len(src) {
		return notJSON
	}
	return scanned
}

// text is a node's bytes.
func (d *document) text(i uint32) []byte { n := &d.nodes[i]; return d.src[n.start:n.end] }

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

func (d *document) value(i, depth int) (int, scanResult) {
	if i >= len(d.src) {
		return i, notJSON
	}
	if depth > maxDepth || len(d.nodes) >= maxNodes {
		return i, outOfLimit
	}
	switch c := d.src[i]; {
	case c == '"':
		return d.str(i)
	case c == '{':
		return d.object(i, depth)
	case c == '[':
		return d.array(i, depth)
	case c == 't':
		return d.word(i, "true", kindBool)
	case c == 'f':
		return d.word(i, "false", kindBool)
	case c == 'n':
		return d.word(i, "null", kindNull)
	case c == '-' || c >= '0' && c <= '9':
		return d.number(i)
	}
	return i, notJSON
}

// leaf appends a node without children.
func (d *document) leaf(kind nodeKind, start, end int, escaped bool) {
	d.nodes = append(d.nodes, node{
		kind: kind, escaped: escaped, start: uint32(start), end: uint32(end), next: uint32(len(d.nodes) + 1),
	})
}

func (d *document) word(i int, w string, kind nodeKind) (int, scanResult) {
	end := i + len(w)
	if end > len(d.src) || string(d.src[i:end]) != w {
		return i, notJSON
	}
	d.leaf(kind, i, end, false)
	return end, scanned
}

// digits skips digits and reports where they end.
func digits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

func (d *document) number(start int) (int, scanResult) {
	b, i := d.src, start
	if b[i] == '-' {
		i++
	}
	whole := digits(b, i)
	if whole == i || (b[i] == '0' && whole > i+1) {
		return i, notJSON
	}
	i = whole
	if i < len(b) && b[i] == '.' {
		end := digits(b, i+1)
		if end == i+1 {
			return i, notJSON
		}
		i = end
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		end := digits(b, i)
		if end == i {
			return i, notJSON
		}
		i = end
	}
	d.leaf(kindNumber, start, i, false)
	return i, scanned
}

// plain marks the bytes that stand for themselves in a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

func (d *document) str(start int) (int, scanResult) {
	b, i, escaped := d.src, start+1, false
	for i < len(b) {
		c := b[i]
		switch {
		case plain[c] || c >= utf8.RuneSelf:
			i++
		case c == '"':
			d.leaf(kindString, start, i+1, escaped)
			return i + 1, scanned
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return i, notJSON
			}
			escaped = true
			i += n
		default:
			return i, notJSON
		}
	}
	return i, notJSON
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

func (d *document) array(start, depth int) (int, scanResult) {
	self, count := len(d.nodes), uint32(0)
	d.leaf(kindArray, start, start, false)
	i := skipSpace(d.src, start+1)
	if i < len(d.src) && d.src[i] == ']' {
		return d.closed(self, i, 0), scanned
	}
	for {
		var r scanResult
		if i, r = d.value(skipSpace(d.src, i), depth+1); r != scanned {
			return i, r
		}
		count++
		i = skipSpace(d.src, i)
		if i >= len(d.src) {
			return i, notJSON
		}
		switch d.src[i] {
		case ',':
			i++
		case ']':
			return d.closed(self, i, count), scanned
		default:
			return i, notJSON
		}
	}
}

func (d *document) object(start, depth int) (int, scanResult) {
	self, count := len(d.nodes), uint32(0)
	d.leaf(kindObject, start, start, false)
	i := skipSpace(d.src, start+1)
	if i < len(d.src) && d.src[i] == '}' {
		return d.closed(self, i, 0), scanned
	}
	for {
		if i >= len(d.src) || d.src[i] != '"' {
			return i, notJSON
		}
		var r scanResult
		if i, r = d.str(i); r != scanned {
			return i, r
		}
		i = skipSpace(d.src, i)
		if i >= len(d.src) || d.src[i] != ':' {
			return i, notJSON
		}
		if i, r = d.value(skipSpace(d.src, i+1), depth+1); r != scanned {
			return i, r
		}
		count++
		i = skipSpace(d.src, i)
		if i >= len(d.src) {
			return i, notJSON
		}
		switch d.src[i] {
		case ',':
			i = skipSpace(d.src, i+1)
		case '}':
			return d.closed(self, i, count), scanned
		default:
			return i, notJSON
		}
	}
}

// closed completes a container whose last byte is at i.
func (d *document) closed(self, i int, count uint32) int {
	n := &d.nodes[self]
	n.end, n.next, n.count = uint32(i+1), uint32(len(d.nodes)), count
	return i + 1
}
