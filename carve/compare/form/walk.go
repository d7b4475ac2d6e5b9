package form

import (
	"math/bits"
	"strconv"
	"strings"
	"time"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// Bounds of what is looked at of one exchange.
const (
	formValues = 64   // values at one place of one body
	formLeaves = 4096 // other values of a body that are held against them
)

// value is what is kept of one value while its exchange is looked at. Nothing of
// it but the form, the size and, hashed, the value itself goes into any memory.
type value struct {
	form form
	// hash distinguishes values.
	hash uint64
	// raw is its JSON, valid during the exchange.
	raw []byte
	// plain is the hash of its text alone, by which it is found elsewhere.
	plain uint64
	// size is how long a text, a list or a time's fraction is, or how large a number is, in
	// classes; -1: it does not count.
	size int
	// at is the moment that a time means.
	at time.Time
	// number is the integer of a counter, where counts is set.
	number int64
	counts bool
	// padded says that it is digits that begin with zeros, and so of a fixed length.
	padded bool
	// amount is how large a number is, in a text too, how long a list or a time; where sized is
	// set.
	amount   float64
	sized    bool
	duration bool // a length of time
	// around is a hash of a text without what may vary in it; 0: it has no words.
	around uint64
	// echo is where else the same value is; empty: nowhere.
	echo string
}

// walker finds the values at the places of interest in a body.
type walker struct {
	doc     jsondoc.Document
	buf     []byte
	pattern []byte
	steps   int
}

// each calls f for every value of the document that reach leads to: reach is asked
// with the hash of each pattern, and says whether to go below it.
func (w *walker) each(below func(h uint64) bool, f func(node uint32, h uint64)) {
	w.steps = 0
	w.node(0, digest.FNV([]byte("$")), below, f)
}

func (w *walker) node(x uint32, h uint64, below func(uint64) bool, f func(uint32, uint64)) {
	if w.steps++; w.steps > jsondiff.MaxSteps>>4 {
		return
	}
	f(x, h)
	if !below(h) {
		return
	}
	d := &w.doc
	switch n := &d.Nodes[x]; n.Kind {
	case jsondoc.Object:
		for i := x + 1; i < n.Next; i = d.Nodes[i+1].Next {
			w.node(i+1, w.keyed(h, i), below, f)
		}
	case jsondoc.Array:
		inside := digest.FNVOn(h, []byte("[*]"))
		for i := x + 1; i < n.Next; i = d.Nodes[i].Next {
			w.node(i, inside, below, f)
		}
	}
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
	v := value{raw: s, form: numberForm(s), size: magnitude(s), hash: digest.Stir(digest.FNVOn(uint64(jsondoc.Number), s))}
	v.number, v.counts = counterOf(s)
	v.measure(s)
	if v.form.class == classTime {
		v.size, v.counts = -1, false
		v.at, _, _ = epochTime(s)
	}
	return v
}

// amountMost bounds a number's size, so that sums of them can be kept.
const amountMost = 1e300

// measure takes how large a number is.
func (v *value) measure(s []byte) {
	x, _ := strconv.ParseFloat(string(s), 64) // ±Inf where it is too large
	v.amount, v.sized = max(-amountMost, min(x, amountMost)), true
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
		v.size, v.counts = fractionOf(s), false
		v.at, _, _ = readTime(s)
	}
	return v
}

// words distinguishes values by their words; 0: they have none.
func (v *value) words() uint64 {
	if v.form.class == classWord || v.form.class == classBool {
		return v.hash
	}
	return v.around
}

// lookAtText finds size and count of a string.
func (v *value) lookAtText(s []byte) {
	if d, ok := durationOf(s); ok { // the length of the text is that of the number
		v.amount, v.sized, v.duration = d, true, true
		return
	}
	switch v.form.class {
	case classDigits:
		v.number, v.counts = counterOf(s)
		v.size, v.padded = len(s), len(s) > 1 && s[0] == '0'
		v.amount, v.sized = float64(v.number), v.counts && v.form.prefix == 0
	case classNumeral:
		v.measure(s)
	case classHex, classToken, classBase64, classBase64URL:
		v.size = sizeClass(len(s))
	case classText, classURL, classJWT:
		v.size = 1000 + bits.Len(uint(len(s)))
	}
	if v.form.class == classDigits && v.form.prefix != 0 {
		v.number, v.counts = counterOf(s[prefixLen(s):])
	}
}

// counterOf reads a whole number that could come from a counter.
// Of what has decimals, as an uptime has, it is millionths.
func counterOf(s []byte) (int64, bool) {
	if len(s) > 18 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(s), 10, 64)
	if err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(string(s), 64)
	return int64(x * 1e6), err == nil && x > -1e12 && x < 1e12
}

// sizeClass distinguishes lengths: each up to 64, then in steps of about an eighth.
func sizeClass(n int) int {
	if n <= 64 {
		return n
	}
	shift := bits.Len(uint(n)) - 4
	return 100 + 8*shift + n>>shift - 8
}

// magnitude is the power of ten of a number with its sign, around 100: numbers
// below 10 have none.
func magnitude(s []byte) int {
	var buf [64]byte
	d := jsondoc.ParseDecimal(buf[:0], s)
	e := int(max(0, min(40, d.Exp-1)))
	if d.Negative {
		return 100 - e - 1
	}
	return 100 + e
}

// trailOf reads a pattern that jsondoc.AppendPattern wrote as a place that it names.
func trailOf(pattern string) (trail []jsondoc.Place) {
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
	return jsonpath.AnyCovers(list, trailOf(pattern))
}

// patternOf is the pattern of a node's place.
func (w *walker) patternOf(node uint32) string {
	pattern := []byte{'$'}
	for x := uint32(0); x != node; {
		n := &w.doc.Nodes[x]
		i := x + 1
		if n.Kind == jsondoc.Object {
			for w.doc.Nodes[i+1].Next <= node {
				i = w.doc.Nodes[i+1].Next
			}
			pattern = jsondoc.AppendStep(pattern, jsondoc.Place{Key: w.doc.Key(i)})
			x = i + 1
			continue
		}
		for w.doc.Nodes[i].Next <= node {
			i = w.doc.Nodes[i].Next
		}
		pattern = jsondoc.AppendStep(pattern, jsondoc.Place{})
		x = i
	}
	return string(pattern)
}
