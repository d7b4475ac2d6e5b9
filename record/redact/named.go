package redact

import "bytes"

// named looks at a separator of n bytes: where a secret's name stands before
// it, what is after it is replaced. It gives where to go on, 0 for the next
// byte.
func (t *scan) named(i, n int) int {
	name, at := t.nameBefore(i)
	if len(name) == 0 {
		return 0
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		name = unescape(name)
	}
	if bytes.IndexByte(name, '%') >= 0 {
		name = unpercent(nil, name, false)
	}
	secret, colon := t.w.secretPath(name), t.src[i] == ':'
	if !colon && bytes.HasPrefix(t.src[i:], []byte("=>")) {
		if !secret || !t.isEntry(at, i) {
			return 0
		}
		return t.valueAfter(i+len("=>"), false)
	}
	if !secret && colon && t.lines && (string(name) == "data" || string(name) == "stringData") {
		secret = t.isSecret()
	}
	header := colon && secret && isHeader(t.w, name)
	if t.lines && colon && (secret || roleOf(name) != roleNone) {
		if of, ok := t.lineOf(at); ok && (secret || t.paired(name, of, i)) {
			return t.lineValue(of, i+n, header)
		}
	}
	if !secret && (i >= t.tagEnd || roleOf(name) != roleValue) {
		return 0
	}
	return t.valueAfter(i+n, header)
}

// isSecret reports whether a text has a Kubernetes Secret in YAML.
func (t *scan) isSecret() bool {
	if !t.kindKnown {
		t.kindKnown, t.secretKind = true, bytes.Contains(t.src, []byte("kind: Secret"))
		t.w.looked += len(t.src)
	}
	return t.secretKind
}

// isEntry reports whether the arrow at i stands between name and value, as Ruby and PHP
// write them ("a"=>1, :a=>"b", [a] => b), and is none of a function.
func (t *scan) isEntry(at, i int) bool {
	b := t.src
	if b[at] == '[' || quoteAt(b, at) != "" {
		return true
	}
	i += len("=>")
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	return at > 0 && b[at-1] == ':' && quoteAt(b, i) != ""
}

// isHeader reports whether a name is a header's whose value is a whole line.
func isHeader(w *work, name []byte) bool {
	switch string(normal(w.name[:0], name)) {
	case "authorization", "proxyauthorization", "cookie", "setcookie":
		return true
	}
	return false
}

// quotes are the ways to quote a name or a value, the longer ones first.
var quotes = []string{`"""`, `&quot;`, `&#34;`, `&#39;`, `%22`, `%27`, `\\\"`, `\"`, `\'`, `\u0022`, `"`, `'`, "`"}

// quoteBefore is the quote that ends at i; quoteAt the one that begins there.
func quoteBefore(b []byte, i int) string {
	for _, q := range quotes {
		if i >= len(q) && string(b[i-len(q):i]) == q {
			return q
		}
	}
	return ""
}

func quoteAt(b []byte, i int) string { return firstOf(b[i:], quotes) }

// inName reports whether a byte may stand in a name that is not quoted.
func inName(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '_' || c == '-' || c == '.' || c == '[' || c == ']' || c == '%'
}

// nameBefore gives the name that ends before the separator at i, and where it
// begins, with its quotes; nil for none.
func (t *scan) nameBefore(i int) (name []byte, at int) {
	b, end := t.src, i
	for end > 0 && i-end < maxName && isBlank(b[end-1]) {
		end--
	}
	least := max(0, end-maxName)
	if end == 0 {
		return nil, 0
	}
	if c := b[max(end-2, 0)]; b[end-1] == ']' && (c == '"' || c == '\'') {
		end-- // headers['X-Api-Key'] = "x"
	}
	if c := b[end-1]; c == '"' || c == '\'' || c == '`' || c == ';' || c == '2' || c == '7' {
		if q := quoteBefore(b, end); q != "" {
			end -= len(q)
			start := bytes.LastIndex(b[least:end], []byte(q))
			t.w.looked += end - max(least, least+start)
			if start >= 0 {
				return b[least+start+len(q) : end], least + start
			}
		}
	}
	start := end
	for start > least && inName(b[start-1]) {
		start--
		if firstOf(b[start:end], fieldSigns) != "" { // of the field before
			t.w.looked += end - start
			return b[start+len("%3D") : end], start
		}
	}
	t.w.looked += end - start
	if start > 0 && b[start-1] == '\\' && bytes.HasPrefix(b[start:end], []byte("u0026")) {
		start += len("u0026") // "&", as JSON in a script has it
	}
	return b[start:end], start
}

// fieldSigns are what separates fields, as URLs encode it.
var fieldSigns = []string{"%3D", "%3d", "%3A", "%3a", "%26"}

// valueAfter replaces the value that begins at i, and gives where it ended. line
// says that it goes on to the end of the line.
func (t *scan) valueAfter(i int, line bool) int {
	b, from := t.src, i
	for last := i + maxName; i < len(b) && i < last && isBlank(b[i]); {
		i++
	}
	for last := i + 8; i < len(b) && i < last && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r'); i++ {
	}
	if i >= len(b) {
		return i
	}
	if b[i] == '{' || b[i] == '[' {
		return t.nested(i)
	}
	if q := quoteAt(b, i); q != "" {
		return t.quotedValue(i, q)
	}
	if bytes.HasPrefix(b[i:], []byte(pemBegin)) {
		return t.replace(i, pemEnd(b, i))
	}
	if n := schemeLen(b[i:]); n > 0 {
		i += n
	}
	if line {
		end := bytes.IndexAny(b[i:], "\r\n")
		if end < 0 {
			end = len(b) - i
		}
		return t.replace(i, i+end)
	}
	if w := literal(b[i:]); w > 0 {
		return i + w
	}
	end := wordEnd(b, i)
	if i > from && end > i && (b[end-1] == ':' || b[end-1] == '=') && t.w.secretPath(b[i:end-1]) {
		return i // no value, but the next name
	}
	return t.replace(i, end)
}

// quotedValue replaces what is between the quote at i and the next one. Over a
// line's end the quote may be an apostrophe, so names that stand there are heeded
// all the same.
func (t *scan) quotedValue(i int, q string) int {
	start := i + len(q)
	end := quoteEnd(t.src, start, q)
	if end < 0 {
		return t.replace(start, len(t.src)) // cut off: all of it may be the secret
	}
	if t.replace(start, end); t.from < end || bytes.IndexByte(t.src[start:end], '\n') < 0 {
		return end
	}
	t.w.looked += end - start
	if t.from == end {
		t.out, t.from = append(t.out, q...), end+len(q)
	}
	return start
}

// quoteEnd gives where what a quote opens before i ends, -1 where it does not.
// One that is doubled as in YAML's 'it”s', or escaped, does not end it.
func quoteEnd(b []byte, i int, q string) int {
	for at := i; ; {
		n := bytes.Index(b[at:], []byte(q))
		if n < 0 {
			return -1
		}
		at += n
		switch {
		case len(q) == 1 && at > i && b[at-1] == '\\':
			at++
		case q == "'" && at > i && at+1 < len(b) && b[at+1] == '\'':
			at += 2
		default:
			return at
		}
	}
}

// nested replaces the scalars of a JSON value in a text that is not JSON as a
// whole; where that value is none either, all that follows is secret.
func (t *scan) nested(i int) int {
	j := rewriter{copied: copied{src: t.src, from: i}, w: t.w, inner: t.depth}
	end, err := j.value(i, true)
	switch {
	case err != nil:
		return t.replace(i+1, len(t.src))
	case i < t.from: // a part of it is replaced already
		return t.replace(i, end)
	}
	if j.out != nil {
		t.out = append(t.out, t.src[t.from:i]...)
		t.out = append(t.out, j.out...)
		t.from = j.from
	}
	return end
}

// literal is the length of a word that is no secret whatever its name is.
func literal(b []byte) int {
	for _, w := range [...]string{"null", "true", "false", "undefined"} {
		if bytes.HasPrefix(b, []byte(w)) && (len(b) == len(w) || !inName(b[len(w)])) {
			return len(w)
		}
	}
	return 0
}

// wordEnd gives where a value without quotes ends. A comma or a semicolon ends
// it only where something else follows that is no part of a password.
func wordEnd(b []byte, i int) int {
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c <= ' ', c == '&', c == '"', c == '\'', c == '<', c == '>', c == '`':
			return i
		case c == '%' && i+2 < len(b) && b[i+1] == '2' && b[i+2] == '6': // an encoded &
			return i
		case c == '\\' && i+1 < len(b) && (b[i+1] == '"' || b[i+1] == 'n' || b[i+1] == 'r'):
			return i
		case (c == ',' || c == ';') && (i+1 == len(b) || pairFollows(b[i+1:])):
			return i
		}
	}
	return i
}

func pairFollows(b []byte) bool {
	if len(b) > 0 && b[0] <= ' ' {
		return true
	}
	for i, c := range b {
		if !inName(c) {
			return i > 0 && (c == '=' || c == ':')
		}
	}
	return false
}
