package redact

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"whittle/internal/jsonpath"
)

const (
	// maxDepth bounds the nesting of what is read.
	maxDepth = 256
	// maxInner bounds how often JSON lies in a string of JSON and is read there.
	maxInner = 4
)

var (
	errSyntax = errors.New("not JSON")
	errCut    = errors.New("JSON that was cut off")
	errDeep   = errors.New("JSON nested too deep")
)

// rewriter copies a JSON text with its secrets replaced, in one pass. Nothing
// is copied before the first secret.
type rewriter struct {
	w     *work
	src   []byte
	out   []byte
	from  int // src before it is in out
	depth int
	inner int // how many strings of JSON this text lies in
	// trail is where the reader stands; kept only where the rules have paths.
	trail []jsonpath.Element
}

// all rewrites every value of a text (there may be several, one after the
// other) and reports whether anything was replaced.
func (j *rewriter) all(secret bool) (out []byte, changed bool, err error) {
	if _, err = j.each(secret); err != nil {
		return nil, false, err
	}
	if j.out == nil {
		return j.src, false, nil
	}
	return append(j.out, j.src[j.from:]...), true, nil
}

// each rewrites value after value. Where one is no JSON, it gives up to where
// all is distinguished.
func (j *rewriter) each(secret bool) (i int, err error) {
	for i = between(j.src, 0); ; {
		if i, err = j.value(i, secret); err != nil {
			return i, err
		}
		if i = between(j.src, i); i == len(j.src) {
			return i, nil
		}
	}
}

// begun gives a text that each could tell apart up to end. What is beyond may lie
// on any path, so it becomes a token.
func (j *rewriter) begun(end int) []byte {
	end = max(end, j.from)
	return j.w.r.appendToken(append(j.out, j.src[j.from:end]...), j.src[end:])
}

// open makes room for a replacement that begins at start; the caller appends it
// to out.
func (j *rewriter) open(start, end int) {
	if j.out == nil {
		j.out = make([]byte, 0, len(j.src)+64)
	}
	j.out = append(j.out, j.src[j.from:start]...)
	j.from = end
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// between passes what may stand between two values: space, and the record
// separator of a JSON text sequence (RFC 7464).
func between(b []byte, i int) int {
	for i = space(b, i); i < len(b) && b[i] == 0x1e; {
		i = space(b, i+1)
	}
	return i
}

// value rewrites the value that begins at i and gives where it ends.
func (j *rewriter) value(i int, secret bool) (int, error) {
	if i >= len(j.src) {
		return i, errCut
	}
	switch c := j.src[i]; {
	case c == '"':
		end, escaped, err := j.quoted(i)
		if err != nil {
			return i, err
		}
		j.str(i, end, escaped, secret)
		return end, nil
	case c == '{', c == '[':
		if j.depth++; j.depth > maxDepth {
			return i, errDeep
		}
		defer func() { j.depth-- }()
		if c == '{' {
			return j.object(i, secret)
		}
		return j.array(i, secret)
	case c == '-' || c >= '0' && c <= '9':
		return j.number(i, secret)
	case c == 't':
		return j.word(i, "true")
	case c == 'f':
		return j.word(i, "false")
	case c == 'n':
		return j.word(i, "null")
	}
	return i, errSyntax
}

// word passes: whether there is a secret, and true and false, tell nothing.
func (j *rewriter) word(i int, w string) (int, error) {
	end := i + len(w)
	switch {
	case end > len(j.src):
		if w[:len(j.src)-i] == string(j.src[i:]) {
			return i, errCut
		}
		return i, errSyntax
	case string(j.src[i:end]) != w:
		return i, errSyntax
	}
	return end, nil
}

// quoted finds the end of the string that begins at i.
func (j *rewriter) quoted(i int) (end int, escaped bool, err error) {
	b := j.src
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped, nil
		case c == '\\':
			escaped = true
			n := escapeLen(b[i:])
			if n == 0 {
				if len(b)-i < 6 {
					return i, escaped, errCut
				}
				return i, escaped, errSyntax
			}
			i += n - 1
		case c < ' ':
			return i, escaped, errSyntax
		}
	}
	return i, escaped, errCut
}

// str replaces what is secret in the string between two places, quotes
// included.
func (j *rewriter) str(start, end int, escaped, secret bool) {
	raw := j.src[start+1 : end-1]
	plain := raw
	if escaped {
		plain = unescape(nil, raw)
	}
	var out []byte
	if secret {
		if len(plain) == 0 || isToken(plain) {
			return
		}
		out = j.w.r.appendToken(nil, plain)
	} else {
		var changed bool
		if out, changed = j.w.inner(plain, j.inner+1); !changed {
			return
		}
	}
	j.open(start+1, end-1)
	j.out = appendEscaped(j.out, out)
}

func (j *rewriter) number(start int, secret bool) (int, error) {
	b, i := j.src, start
	if b[i] == '-' {
		i++
	}
	whole := digits(b, i)
	switch {
	case whole == i && i == len(b):
		return start, errCut
	case whole == i, b[i] == '0' && whole > i+1:
		return start, errSyntax
	}
	n, i := whole-i, whole
	for _, part := range []string{".", "eE"} {
		if i >= len(b) || b[i] != part[0] && b[i] != part[len(part)-1] {
			continue
		}
		n = 0 // a fraction is no card
		i++
		if len(part) > 1 && i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		last := digits(b, i)
		switch {
		case last == i && i == len(b):
			return start, errCut
		case last == i:
			return start, errSyntax
		}
		i = last
	}
	text := b[start:i]
	if !secret {
		secret = n >= cardLeast && j.w.r.isCard(text[len(text)-n:]) || j.w.r.matches(text)
	}
	if secret && !j.w.r.isNumberToken(text) {
		j.open(start, i)
		j.out = j.w.r.appendNumber(j.out, text)
	}
	return i, nil
}

func (j *rewriter) array(i int, secret bool) (int, error) {
	i = space(j.src, i+1)
	if i < len(j.src) && j.src[i] == ']' {
		return i + 1, nil
	}
	for n := 0; ; n++ {
		at := secret
		if len(j.w.r.paths) > 0 {
			j.trail = append(j.trail, jsonpath.Element{Index: n})
			at = secret || jsonpath.AnyMatches(j.w.r.paths, j.trail)
		}
		var err error
		if i, err = j.value(space(j.src, i), at); err != nil {
			return i, err
		}
		j.popTrail()
		if i = space(j.src, i); i >= len(j.src) {
			return i, errCut
		}
		switch j.src[i] {
		case ',':
			i++
		case ']':
			return i + 1, nil
		default:
			return i, errSyntax
		}
	}
}

func (j *rewriter) popTrail() {
	if len(j.w.r.paths) > 0 {
		j.trail = j.trail[:len(j.trail)-1]
	}
}

// object rewrites the members of an object. In {"name": "password", "value":
// "x"} what is called by another member is secret too; see paired.
func (j *rewriter) object(i int, secret bool) (int, error) {
	i = space(j.src, i+1)
	if i < len(j.src) && j.src[i] == '}' {
		return i + 1, nil
	}
	called := paired{}
	for {
		if i >= len(j.src) {
			return i, errCut
		}
		if j.src[i] != '"' {
			return i, errSyntax
		}
		name, next, at, err := j.key(i, secret)
		if err != nil {
			return i, err
		}
		kind := roleOf(name)
		if kind == roleValue && !at && called.value(j, next) {
			at = true
		}
		end, err := j.value(next, at)
		if err != nil {
			return end, err
		}
		if kind == roleName && j.src[next] == '"' {
			called.secret = called.secret || j.w.secretPath(plainOf(j.src[next+1:end-1]))
		}
		j.popTrail()
		if i = space(j.src, end); i >= len(j.src) {
			return i, errCut
		}
		switch j.src[i] {
		case ',':
			i = space(j.src, i+1)
		case '}':
			return i + 1, nil
		default:
			return i, errSyntax
		}
	}
}

// key reads the member's name that begins at i, whose own shapes are secret as
// any text's, and gives where its value begins and whether that is secret.
func (j *rewriter) key(i int, secret bool) (name []byte, next int, at bool, err error) {
	end, escaped, err := j.quoted(i)
	if err != nil {
		return nil, i, false, err
	}
	name = j.src[i+1 : end-1]
	if escaped {
		name = unescape(nil, name)
	}
	at = secret || j.w.secretPath(name)
	if len(j.w.r.paths) > 0 {
		j.trail = append(j.trail, jsonpath.Element{Key: name})
		at = at || jsonpath.AnyMatches(j.w.r.paths, j.trail)
	}
	j.str(i, end, escaped, false)
	if next = space(j.src, end); next >= len(j.src) {
		return name, next, at, errCut
	}
	if j.src[next] != ':' {
		return name, next, at, errSyntax
	}
	return name, space(j.src, next+1), at, nil
}

// digits gives where the digits from i on end.
func digits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

// appendEscaped appends a text as the inside of a JSON string.
func appendEscaped(dst, s []byte) []byte {
	const hexDigits = "0123456789abcdef"
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
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

func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		d := unhex(c)
		if d < 0 {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// plainOf is what the inside of a JSON string stands for.
func plainOf(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	return unescape(nil, raw)
}

// unescape appends what the inside of a JSON string stands for. A lone
// surrogate becomes U+FFFD; what is no escape stays.
func unescape(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		n := 0
		if b[i] == '\\' {
			n = escapeLen(b[i:])
		}
		switch n {
		case 0:
			dst = append(dst, b[i])
		case 2:
			dst = append(dst, escapes[b[i+1]])
			i++
		default:
			var r rune
			r, n = surrogates(b[i:])
			dst = utf8.AppendRune(dst, r)
			i += n - 1
		}
	}
	return dst
}
