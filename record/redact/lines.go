package redact

import "bytes"

// What follows a secret's name at a line's start goes on to the end of the line,
// and over the lines below that belong to it as in YAML: a passphrase has
// several words, a key several lines. It is taken too far rather than not far
// enough. Within a line, as in a log's, a value is one word.

// maxIndent bounds how far in from its line's beginning a name is looked for.
const maxIndent = 256

// line is where a name stands that begins a line.
type line struct {
	column int // of the name, in bytes
	begin  int // of the line
}

// lineOf gives the line that a name at i begins; ok is false where something
// stands before it that is no indentation, bullet or mark of a comment.
func (t *scan) lineOf(i int) (of line, ok bool) {
	b, at := t.src, i
	for at > 0 && i-at < maxIndent && bytes.IndexByte([]byte(" \t-#*>+/;!?"), b[at-1]) >= 0 {
		at--
	}
	t.w.looked += i - at
	ok = at == 0 || b[at-1] == '\n' || b[at-1] == '\r' || string(b[:at]) == "\ufeff"
	return line{column: i - at, begin: at}, ok
}

// lineEnd gives where the line of i ends: in markup also where a tag begins.
func (t *scan) lineEnd(i int) int {
	for ; i < len(t.src); i++ {
		if c := t.src[i]; c == '\n' || c == '\r' || c == '<' && t.markup {
			break
		}
	}
	return i
}

// isBlank reports whether a byte is space within a line.
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isItem reports whether b begins an item of a list.
func isItem(b []byte) bool {
	return (b[0] == '-' || b[0] == '*' || b[0] == '+') && (len(b) == 1 || b[1] <= ' ')
}

// nextLine gives where the first line that is not blank begins after the one that
// ends at i, and where its text does; at the end of the text that is its length.
func (t *scan) nextLine(i int) (begin, text int) {
	b, from := t.src, i
	for begin = i; i < len(b) && b[i] <= ' '; i++ {
		if b[i] == '\n' || b[i] == '\r' {
			begin = i + 1
		}
	}
	t.w.looked += i - from
	return begin, i
}

// block gives where the lines end that belong to the name of a line, of which
// the text up to end does already: those that are indented deeper and, with
// items, those of a list that is indented as deep.
func (t *scan) block(of line, end int, items bool) int {
	for end < len(t.src) && t.src[end] <= ' ' {
		begin, text := t.nextLine(end)
		if text == len(t.src) || begin <= end {
			break
		}
		if in := text - begin; in <= of.column && (in < of.column || !items || !isItem(t.src[text:])) {
			break
		}
		end = t.lineEnd(text)
	}
	return end
}

// lineValue replaces the value that begins at i, after the colon of a name that
// begins a line, and gives where it ended. header says that a credential may
// have several words after its scheme.
func (t *scan) lineValue(of line, i int, header bool) int {
	b := t.src
	spaced := i == len(b) || b[i] <= ' '
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	start, end := i, t.lineEnd(i)
	below := start == end
	if below {
		begin, text := t.nextLine(end)
		switch in := text - begin; {
		case text == len(b) || b[text] == '<' && t.markup:
			return start
		case in > of.column || in == of.column && isItem(b[text:]):
		case bytes.Count(b[start:begin], []byte("\n")) > 2:
			return start // another paragraph
		default:
			of.column = min(of.column, in)
		}
		start, end = text, t.lineEnd(text)
	}
	switch {
	case b[start] == '{', b[start] == '[':
		return t.nested(start)
	case t.isQuoted(start):
		return t.quotedValue(start, quoteAt(b, start))
	case bytes.HasPrefix(b[start:], []byte(pemBegin)):
		end = t.lineEnd(pemEnd(b, start))
	}
	last := end
	if spaced {
		last = t.block(of, end, below)
	}
	if last == end {
		n := schemeLen(b[start:end])
		if word := bytes.TrimRight(b[start+n:end], " \t"); header || !bytes.ContainsAny(word, " \t") {
			start += n
		}
	}
	for last > start && (b[last-1] <= ' ' || b[last-1] == ',' || b[last-1] == ';') {
		last--
	}
	if n := literal(b[start:]); n > 0 && start+n == last {
		return last
	}
	return t.replace(start, last)
}

// isQuoted reports whether a quoted text begins at i after which its line has
// nothing more to say, so that the quotes are not a part of the value.
func (t *scan) isQuoted(i int) bool {
	q := quoteAt(t.src, i)
	if q == "" {
		return false
	}
	end := quoteEnd(t.src, i+len(q), q)
	if end < 0 {
		return true // cut off
	}
	t.w.looked += end - i
	for end += len(q); end < len(t.src) && isBlank(t.src[end]); {
		end++
	}
	return end == len(t.src) || bytes.IndexByte([]byte("\r\n,;}])#<"), t.src[end]) >= 0
}

// A key in PEM (RFC 7468) has lines that no indentation holds together.
const (
	pemBegin = "-----BEGIN "
	pemLast  = "-----END "
)

// pemEnd gives where the key in PEM that begins at i ends: the text's end where
// it is cut off.
func pemEnd(b []byte, i int) int {
	n := bytes.Index(b[i:], []byte(pemLast))
	if n < 0 {
		return len(b)
	}
	i += n + len(pemLast)
	for i < len(b) && b[i] >= ' ' && b[i] != '-' && b[i] != '\\' {
		i++
	}
	for i < len(b) && b[i] == '-' {
		i++
	}
	return i
}

// longestPair bounds how far apart the lines of a pair are.
const longestPair = 1 << 10

// paired looks at a name that begins a line for what it says of a pair, as in
// YAML's
//
//   - name: DB_PASSWORD
//     value: hunter2
//
// and reports whether it is that of a secret value.
func (t *scan) paired(name []byte, of line, i int) bool {
	switch roleOf(name) {
	case roleName:
		called := t.src[i+1 : min(t.lineEnd(i+1), i+2+maxName)]
		t.w.looked += len(called)
		if t.pair = nil; t.w.secretPath(bytes.Trim(called, " \t\"',")) {
			t.pair = &of
		}
	case roleValue:
		return t.pair != nil && t.pair.column == of.column && of.begin-t.pair.begin < longestPair
	}
	return false
}
