package form

import (
	"strconv"
	"strings"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
)

// walker finds the values at the places of interest in a body.
type walker struct {
	doc     jsondoc.Document
	buf     []byte
	pattern []byte
}

// at is where a value stands: hashes of its pattern, and of the keys that lead there.
type at struct{ pattern, keys uint64 }

// root is the place of the whole body.
var root = at{digest.FNV([]byte("$")), digest.FNV([]byte("$"))}

// each calls f for every value of the document that below leads to: below is asked with the
// hash of each pattern, and says whether to go below it.
func (w *walker) each(below func(pattern uint64) bool, f func(node uint32, at at)) {
	w.node(0, root, below, f)
}

func (w *walker) node(x uint32, h at, below func(uint64) bool, f func(uint32, at)) {
	f(x, h)
	if !below(h.pattern) {
		return
	}
	d := &w.doc
	switch n := &d.Nodes[x]; n.Kind {
	case jsondoc.Object:
		for i := x + 1; i < n.Next; i = d.Nodes[i+1].Next {
			w.node(i+1, at{w.keyed(h.pattern, i), digest.Mix(digest.FNVOn(h.keys, d.Key(i)))}, below, f)
		}
	case jsondoc.Array:
		inside := at{digest.FNVOn(h.pattern, []byte("[*]")), digest.Mix(h.keys + 1)}
		for i := x + 1; i < n.Next; i = d.Nodes[i].Next {
			w.node(i, inside, below, f)
		}
	}
}

// leaves calls f for the values that are no containers.
func (w *walker) leaves(f func(node uint32, at at)) {
	w.each(func(uint64) bool { return true }, func(node uint32, at at) {
		if k := w.doc.Nodes[node].Kind; k != jsondoc.Object && k != jsondoc.Array {
			f(node, at)
		}
	})
}

// keyed is the hash of the pattern with the key at node i.
func (w *walker) keyed(h uint64, i uint32) uint64 {
	w.pattern = jsondoc.AppendStep(w.pattern[:0], jsondoc.Place{Key: w.doc.Key(i)})
	return digest.FNVOn(h, w.pattern)
}

// text is what a leaf stands for, in memory that is used again.
func (w *walker) text(x uint32) []byte {
	s := w.doc.Text(x)
	if w.doc.Nodes[x].Kind != jsondoc.String {
		return s
	}
	if !w.doc.Nodes[x].Escaped {
		return s[1 : len(s)-1]
	}
	w.buf, _ = jsondoc.Unquote(w.buf[:0], s)
	return w.buf
}

// look makes a value of a node.
func (w *walker) look(x uint32) value {
	n := &w.doc.Nodes[x]
	v := value{size: -1, raw: w.doc.Text(x)}
	s := w.text(x)
	switch n.Kind {
	case jsondoc.Null:
		v.form.class = classNull
		return v
	case jsondoc.Bool:
		v.form.class = classBool
	case jsondoc.Array:
		v.form.class, v.size = classArray, sizeClass(int(n.Count))
		v.amount, v.sized = float64(n.Count), true
		return v
	case jsondoc.Object:
		v.form.class = classObject
		return v
	case jsondoc.Number:
		return valueOfNumber(s)
	default:
		t := valueOfText(s)
		t.raw = v.raw
		return t
	}
	v.hash = digest.Mix(digest.FNVOn(uint64(n.Kind), s))
	return v
}

// TrailOf reads a pattern that jsondoc.AppendPattern wrote as a place that it names.
func TrailOf(pattern string) (trail []jsondoc.Place) {
	rest := strings.TrimPrefix(pattern, "$")
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, "[*]"):
			trail, rest = append(trail, jsondoc.Place{}), rest[3:]
		case strings.HasPrefix(rest, ".*"):
			trail, rest = append(trail, jsondoc.Place{Key: []byte("0")}), rest[2:]
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			trail, rest = append(trail, jsondoc.Place{Key: []byte(rest[1:end])}), rest[end:]
		default:
			quoted, err := strconv.QuotedPrefix(rest[1:])
			if err != nil {
				return trail
			}
			key, _ := strconv.Unquote(quoted)
			trail, rest = append(trail, jsondoc.Place{Key: append([]byte{}, key...)}), strings.TrimPrefix(rest[1+len(quoted):], "]")
		}
	}
	return trail
}

// prefixHashes adds the hash of every pattern above one.
func prefixHashes(set map[uint64]bool, pattern string) {
	h := digest.FNV(nil)
	for i := range len(pattern) {
		h = digest.FNVOn(h, []byte{pattern[i]})
		if i+1 < len(pattern) {
			set[h] = true
		}
	}
}

// patternOf is the pattern of a node's place.
func (w *walker) patternOf(node uint32) string {
	pattern := []byte{'$'}
	for x := uint32(0); x != node; {
		child, at := w.doc.ChildOver(x, node)
		pattern, x = jsondoc.AppendStep(pattern, at), child
	}
	return string(pattern)
}
