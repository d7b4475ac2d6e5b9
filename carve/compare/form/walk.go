package form

import (
	"slices"
	"strconv"
	"strings"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
)

// walker finds the values at places of interest in a body.
type walker struct {
	doc     jsondoc.Document
	buf     []byte
	pattern []byte
}

// visit takes a value of a body: its node, the pattern of its place (valid during the call), and a hash
// of the keys that lead there.
type visit func(node uint32, pattern []byte, keys uint64)

// each calls f for every value that below leads to. below says whether to descend into a pattern.
func (w *walker) each(below func(pattern []byte) bool, f visit) {
	w.pattern = append(slices.Grow(w.pattern[:0], 256), root...)
	w.node(0, w.pattern, 0, below, f)
}

// root is the place of the whole body.
const root = "$"

func (w *walker) node(x uint32, pattern []byte, keys uint64, below func([]byte) bool, f visit) {
	f(x, pattern, keys)
	if !below(pattern) {
		return
	}
	d := &w.doc
	switch n := &d.Nodes[x]; n.Kind {
	case jsondoc.Object:
		for i := x + 1; i < n.Next; i = d.Nodes[i+1].Next {
			key := d.Key(i)
			w.node(i+1, jsondoc.AppendStep(pattern, jsondoc.Place{Key: key}), digest.Mix(digest.FNVOn(keys, key)), below, f)
		}
	case jsondoc.Array:
		inside := jsondoc.AppendStep(pattern, jsondoc.Place{})
		for i := x + 1; i < n.Next; i = d.Nodes[i].Next {
			w.node(i, inside, digest.Mix(keys+1), below, f)
		}
	}
}

// leaves calls f for every value that is not a container.
func (w *walker) leaves(f visit) {
	w.each(func([]byte) bool { return true }, func(node uint32, pattern []byte, keys uint64) {
		if k := w.doc.Nodes[node].Kind; k != jsondoc.Object && k != jsondoc.Array {
			f(node, pattern, keys)
		}
	})
}

// text is a leaf's value, in memory that is reused.
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
	v := value{size: -1}
	switch n, s := &w.doc.Nodes[x], w.text(x); n.Kind {
	case jsondoc.Null:
		v.form = form{class: classNull, words: "null"}
	case jsondoc.Bool:
		v.form, v.hash = form{class: classBool, words: "true or false"}, hashOf(jsondoc.Bool, s)
	case jsondoc.Array:
		v.form, v.size = form{class: classArray, words: "an array"}, min(int(n.Count), most)
		v.amount, v.sized = float64(n.Count), true
	case jsondoc.Object:
		v.form = form{class: classObject, words: "an object"}
	case jsondoc.Number:
		v = valueOfNumber(s)
	case jsondoc.String:
		v = valueOfText(s)
	}
	v.raw = w.doc.Text(x)
	return v
}

func hashOf(kind jsondoc.Kind, text []byte) uint64 {
	return digest.Mix(digest.FNVOn(uint64(kind), text))
}

// TrailOf reads a pattern of jsondoc.AppendPattern as the place that it names.
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
