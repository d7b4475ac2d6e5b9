package form

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// formValues bounds what is looked at of one exchange.
const formValues = 64 // values at one place of one body

// value is what is kept of one value while its exchange is looked at. Nothing of
// it but the form, the size and, hashed, the value itself goes into any memory.
type value struct {
	form form
	// hash distinguishes values.
	hash uint64
	// raw is its JSON, valid during the exchange.
	raw []byte
	// size is how long a text, a list or a time's fraction is, in classes; -1: it does not count.
	size int
	// at is the moment that a time means.
	at time.Time
	// padded says that it is digits that begin with zeros, and so of a fixed length.
	padded bool
	// amount is how large a number is, in a text too, how long a list or a time; where sized is
	// set.
	amount float64
	sized  bool
	last   byte // character of an id
}

// walker finds the values at the places of interest in a body.
type walker struct {
	doc     jsondoc.Document
	buf     []byte
	pattern []byte
	steps   int
}

// at is where a value stands: hashes of its pattern, and of the keys that lead there.
type at struct{ pattern, keys uint64 }

// root is the place of the whole body.
var root = at{digest.FNV([]byte("$")), digest.FNV([]byte("$"))}

// each calls f for every value of the document that below leads to: below is asked with the
// hash of each pattern, and says whether to go below it.
func (w *walker) each(below func(pattern uint64) bool, f func(node uint32, at at)) {
	w.steps = 0
	w.node(0, root, below, f)
}

func (w *walker) node(x uint32, h at, below func(uint64) bool, f func(uint32, at)) {
	if w.steps++; w.steps > jsondiff.MaxSteps>>4 {
		return
	}
	f(x, h)
	if !below(h.pattern) {
		return
	}
	d := &w.doc
	switch n := &d.Nodes[x]; n.Kind {
	case jsondoc.Object:
		for i := x + 1; i < n.Next; i = d.Nodes[i+1].Next {
			w.node(i+1, at{w.keyed(h.pattern, i), digest.Stir(digest.FNVOn(h.keys, d.Key(i)))}, below, f)
		}
	case jsondoc.Array:
		inside := at{digest.FNVOn(h.pattern, []byte("[*]")), digest.Stir(h.keys + 1)}
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
	v.hash = digest.Stir(digest.FNVOn(uint64(n.Kind), s))
	return v
}

// valueOfNumber makes a value of a number as JSON writes it.
func valueOfNumber(s []byte) value {
	v := value{raw: s, form: numberForm(s), size: -1, hash: digest.Stir(digest.FNVOn(uint64(jsondoc.Number), s))}
	v.measure(s)
	if v.form.class == classTime {
		v.at, _, _ = epochTime(s)
	}
	return v
}

// measure takes how large a number is.
func (v *value) measure(s []byte) {
	x, _ := strconv.ParseFloat(string(s), 64) // ±Inf where it is too large, which JSON has not
	v.amount, v.sized = max(-math.MaxFloat64, min(x, math.MaxFloat64)), true
}

// isZero reports whether it is the number 0, without decimals.
func (v *value) isZero() bool {
	return v.form.class == classInteger && len(v.raw) == 1 && v.raw[0] == '0'
}

// valueOfText makes a value of a text, which is not kept.
func valueOfText(s []byte) value {
	v := value{size: -1, form: classify(s), hash: digest.Stir(digest.FNVOn(uint64(jsondoc.String), s))}
	v.lookAtText(s)
	if v.form.class == classTime {
		v.size = fractionOf(s)
		v.at, _, _ = readTime(s)
	}
	return v
}

// lookAtText finds size and amount of a string.
func (v *value) lookAtText(s []byte) {
	if d, ok := durationOf(s); ok { // the length of the text is that of the number
		v.amount, v.sized = d, true
		return
	}
	if hasMembers(v.form.class) {
		v.last = s[len(s)-1]
	}
	switch v.form.class {
	case classDigits:
		v.size, v.padded = len(s), len(s) > 1 && s[0] == '0'
		if v.form.prefix == 0 {
			v.measure(s)
		}
	case classNumeral:
		v.measure(s)
	case classHex, classToken, classBase64, classBase64URL:
		v.size = sizeClass(len(s))
	case classText, classURL, classJWT:
		v.size = sizeClass(max(len(s), sizeExact+1)) // of which another length is usual
	}
}

// sizeExact is the largest size that is told from the next one.
const sizeExact = 64 // characters, or elements

// sizeClass distinguishes sizes: each up to sizeExact, then by powers of two.
func sizeClass(n int) int {
	if n <= sizeExact {
		return n
	}
	return sizeExact + bits.Len(uint(n))
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

// ignored reports whether a pattern is one that the config leaves out.
func ignored(list []jsonpath.Path, pattern string) bool {
	return jsonpath.AnyCovers(list, TrailOf(pattern))
}

// patternOf is the pattern of a node's place.
func (w *walker) patternOf(node uint32) string {
	pattern := []byte{'$'}
	for x := int32(0); x != int32(node); {
		child, at := w.doc.ChildOver(x, int32(node))
		pattern, x = jsondoc.AppendStep(pattern, at), child
	}
	return string(pattern)
}
