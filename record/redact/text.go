package redact

import (
	"bytes"
	"encoding/base64"
)

// inner takes secrets out of a text of unknown kind that may be JSON itself,
// and reports whether there were any. depth is in how many strings it lies.
func (w *work) inner(b []byte, depth int) ([]byte, bool) { return w.text(b, depth, true) }

// word is inner for a segment, a field's value and the like, which have no lines
// unless there is a line's end in them.
func (w *work) word(b []byte) ([]byte, bool) {
	return w.text(b, 0, bytes.IndexByte(b, '\n') >= 0)
}

func (w *work) text(b []byte, depth int, lines bool) ([]byte, bool) {
	b, found := w.patterns(b)
	if len(b) < 3 {
		return b, found
	}
	if c := b[0]; (c == '{' || c == '[') && depth <= maxInner {
		if out, changed, ok := w.json(b, depth); ok {
			return out, changed || found
		}
	}
	t := scan{copied: copied{src: b}, w: w, depth: depth, lines: lines}
	if c := b[0]; (c == 'e' || c == 'W') && beginsJSON(b) {
		t.encodedJSON(0)
	}
	out, changed := t.run()
	return out, changed || found
}

// json is text for what may be JSON; ok is false where it is none. (Apart from
// text, which nearly always needs no room for a rewriter.)
func (w *work) json(b []byte, depth int) (out []byte, changed, ok bool) {
	j := rewriter{copied: copied{src: b}, w: w, inner: depth}
	out, changed, err := j.all(false)
	return out, changed, err == nil
}

// stops marks the bytes at which a scan looks closer.
var stops = func() (t [256]bool) {
	for _, c := range []byte("@%\\&:=<JbB0123456789" + marks) {
		t[c] = true
	}
	return t
}()

// scan copies a text with its secrets replaced, from left to right. It knows no
// grammar: it looks for the shapes of secrets, and for names of secrets before
// a colon or an equals sign, quoted and escaped in the ways in use.
type scan struct {
	copied

	w     *work
	depth int
	// lines says that the text has lines, markup that it begins with a tag.
	lines, markup bool
	// pair is the last line that said what another one gives the value of, if that
	// is secret.
	pair *line
	// tagEnd is where a markup tag ends that names something secret, as in
	// <input name="csrf" value="x">.
	tagEnd int
	// opened is where the text of the element begins that was opened last; the end, where it has ended.
	opened int
	// keyed says that the next value of an element is a secret.
	keyed bool
	// torn is where such a tag is torn by the next "<", which is taken for a part
	// of it, as a browser takes it.
	tornAt int
	// undotted is where a run ends in which no JWT begins, so that it is not
	// read again from each of its bytes.
	undotted int
	// secretKind says that the text has a Kubernetes Secret, once kindKnown is set.
	kindKnown, secretKind bool
	// decoded is where a run of base64 ends that has been decoded, in vain or not.
	decoded int
}

func (t *scan) run() ([]byte, bool) {
	src := t.src
	for i := 0; i < len(src); {
		c := src[i]
		if forms := prefixed[c]; forms != nil && i+1 < len(src) && forms[src[i+1]] != nil {
			if end := t.issued(i); end > 0 {
				i = end
				continue
			}
		}
		if !stops[c] {
			i++
			continue
		}
		var next int
		switch {
		case isDigit(c):
			next = t.number(i)
		case c == '=':
			next = t.named(i, 1)
		case c == ':':
			if next = t.keyWithin(i); next == 0 {
				next = t.login(i)
			}
			if next == 0 {
				next = t.named(i, 1)
			}
			if next == 0 && t.lines {
				next = t.pgpass(i)
			}
		case c == 'J':
			next = t.jwt(i)
		case c == 'b' || c == 'B':
			next = t.credential(i)
		case c == '<':
			next = t.tag(i)
		case c == '-':
			next = t.dash(i)
		case c == '.':
			next = t.dot(i)
		case within[c] != nil:
			next = t.keyWithin(i)
		default:
			next = t.escaped(i)
		}
		i = max(next, i+1)
	}
	return t.done()
}

// copied is a text with its secrets replaced. Nothing is copied before the first one.
type copied struct {
	src, out []byte
	from     int // src before it is in out
}

// open makes room for a replacement that begins at start; the caller appends it
// to out.
func (c *copied) open(start, end int) {
	if c.out == nil {
		c.out = make([]byte, 0, len(c.src)+64)
	}
	c.out = append(c.out, c.src[c.from:start]...)
	c.from = end
}

// done gives the text with its secrets replaced, and reports whether there were any.
func (c *copied) done() ([]byte, bool) {
	if c.out == nil {
		return c.src, false
	}
	return append(c.out, c.src[c.from:]...), true
}

// replace puts a token in the place of a secret, and gives where it ended.
func (t *scan) replace(start, end int) int {
	start = max(start, t.from)
	if end <= start || isToken(t.src[start:end]) {
		return end
	}
	t.open(start, end)
	t.out = t.w.r.appendToken(t.out, t.src[start:end])
	return end
}

// number looks at a run of digits; none of them begins another run.
func (t *scan) number(i int) int {
	run := digits(t.src, i)
	if i >= 2 && t.src[i-1] == '.' && isDigit(t.src[i-2]) && run-i > 7 {
		return run // the fraction of a number
	}
	if run < len(t.src) && t.src[run] == ':' { // a key's number may look like a card's
		if end := t.keyWithin(run); end > 0 {
			return end
		}
	}
	if end := t.w.r.cardAt(t.src, i); end > 0 {
		if t.w.r.isNumberToken(t.src[i:end]) {
			return end
		}
		return t.replace(i, end)
	}
	if end := t.spokenCode(i); end > 0 {
		return end
	}
	return run
}

// escaped looks at what may be the beginning of an escape: an at sign, an
// equals sign or a colon.
func (t *scan) escaped(i int) int {
	rest := t.src[i:]
	if n := len(firstOf(rest, atSigns)); n > 0 {
		if start := t.driver(i); start > 0 {
			return t.replace(start, i)
		}
		if !t.w.r.email {
			return i + n
		}
		if start, end, ok := emailAround(t.src, i, n, t.from); ok {
			return t.replace(start, end)
		}
		return i + n
	}
	if s := firstOf(rest, signs); s != "" {
		return t.named(i, len(s))
	}
	return 0
}

// signs are the equals sign and the colon as URLs and JSON encode them.
var signs = []string{"%3D", "%3d", "%3A", "%3a", `\u003d`, `\u003D`}

func (t *scan) jwt(i int) int {
	if !t.w.r.credential || i < 2 || t.src[i-1] != 'y' || t.src[i-2] != 'e' || i-2 < t.from || i < t.undotted {
		return 0
	}
	end, undotted, read := jwtAt(t.src, i-2)
	t.w.looked += read
	if t.undotted = undotted; end > 0 {
		return t.replace(i-2, end)
	}
	return t.encodedJSON(i - 2)
}

// beginsJSON reports whether a text begins as JSON does in base64 that encodedJSON is not
// led to by its "J": {" after a line's end or a space, or a list.
func beginsJSON(b []byte) bool {
	switch string(b[:min(len(b), 3)]) {
	case "ewo", "ew0", "eyA", "W3s", "Wwo", "WyJ":
		return true
	}
	return false
}

// encodedJSON looks for JSON in base64, which begins with "eyJ" where its first byte
// opens an object: all of it is replaced where there is a secret in it.
func (t *scan) encodedJSON(start int) int {
	const least, longest = 24, 16 << 10
	if start < t.decoded {
		return 0
	}
	b := t.src
	end := runEnd(b, start, standard)
	t.w.looked += end - start
	t.decoded = end
	if end-start < least || end-start > longest || t.depth >= maxInner || !t.begins(start) {
		return 0
	}
	text := bytes.TrimRight(b[start:end], "=")
	plain, err := base64.RawStdEncoding.DecodeString(string(text))
	if err != nil {
		plain, err = base64.RawURLEncoding.DecodeString(string(text))
	}
	if err != nil {
		return 0
	}
	if _, found, ok := t.w.json(plain, t.depth+1); !ok || !found {
		return 0
	}
	return t.replace(start, end)
}

func (t *scan) credential(i int) int {
	if !t.w.r.credential || i > 0 && (isLetter(t.src[i-1]) || isDigit(t.src[i-1])) {
		return 0
	}
	start, end, read := credentialAt(t.src, i)
	if t.w.looked += read; end > 0 {
		return t.replace(start, end)
	}
	return 0
}

// login looks for the user in https://user:password@host.
func (t *scan) login(i int) int {
	if !t.w.r.credential || i+2 >= len(t.src) || t.src[i+1] != '/' || t.src[i+2] != '/' {
		return 0
	}
	const longest = 512
	at := 0
	for k := i + 3; k < len(t.src) && k < i+longest; k++ {
		t.w.looked++
		switch c := t.src[k]; c {
		case '@':
			at = k
		case '/', '?', '#', '"', '\'', '<', '>', ' ', '\n', '\r', '\t':
			k = len(t.src)
		}
	}
	if at == 0 {
		return 0
	}
	return t.replace(i+3, at)
}
