package redact

import (
	"bytes"
	_ "embed"
	"slices"
	"strconv"
	"strings"
)

// Keys and tokens are secret wherever they stand if their issuers mark them by a
// prefix, which they do so that leaks can be found. marks.txt has the forms.

// alphabet says which bytes the rest of a key may have.
type alphabet uint8

const (
	letters  alphabet = iota // letters and digits
	url64                    // and "-", "_"
	dotted                   // and "."
	standard                 // url64 and "+", "/", "="
	hexLower                 // 0 to 9, a to f
	decimal                  // 0 to 9
	base32                   // A to Z, 2 to 7 (RFC 4648)
	capitals                 // A to Z, 0 to 9, "-"
	hexDash                  // 0 to 9, a to f, "-"
	wide                     // standard and ".", "$", "@", ":"
	escaped                  // standard and "%"
	caret                    // wide and "#", "^"
	joined                   // standard and "."
	crypt                    // joined and "$", ","
)

func (a alphabet) has(c byte) bool {
	switch a {
	case hexLower:
		return isDigit(c) || c >= 'a' && c <= 'f'
	case decimal:
		return isDigit(c)
	case base32:
		return c >= '2' && c <= '7' || c >= 'A' && c <= 'Z'
	case capitals:
		return isDigit(c) || c >= 'A' && c <= 'Z' || c == '-'
	case hexDash:
		return hexLower.has(c) || c == '-'
	}
	switch {
	case isLetter(c), isDigit(c):
		return true
	case c == '-', c == '_':
		return a != letters
	case c == '.':
		return a == dotted || a == wide || a >= caret
	case c == '+', c == '/', c == '=':
		return a >= standard
	case c == '$':
		return a == wide || a == caret || a == crypt
	case c == '@', c == ':':
		return a == wide || a == caret
	case c == ',':
		return a == crypt
	case c == '%':
		return a == escaped
	case c == '#', c == '^':
		return a == caret
	}
	return false
}

// doubt says what else a key must have, where its prefix begins other words too.
type doubt uint8

const (
	none  doubt = iota
	mixed       // a small letter, a capital and a digit
	digit       // a digit
	exact       // as mixed, and no byte more
	short       // as mixed, and at most 50 bytes more
)

// issued is a form of keys: a prefix, and at least so many bytes after it.
type issued struct {
	prefix string
	rest   alphabet
	least  int
	doubt  doubt
}

// marksTable has the forms: one place for whoever adds an issuer.
//
//go:embed marks.txt
var marksTable string

var (
	alphabets = map[string]alphabet{
		"letters": letters, "url64": url64, "dotted": dotted, "standard": standard, "hexLower": hexLower, "decimal": decimal, "base32": base32,
		"capitals": capitals, "hexDash": hexDash, "wide": wide, "escaped": escaped, "caret": caret,
		"joined": joined, "crypt": crypt,
	}
	doubts = map[string]doubt{"none": none, "mixed": mixed, "digit": digit, "exact": exact, "short": short}
)

// prefixed are the table's forms by the first two bytes of their prefix, the longest first:
// sk- begins sk-or-v1- too. withSlash are those with a slash in it, within those with a mark
// in the middle, by the first byte of marks in it and the byte behind that, which is one of
// the key's where the mark ends there.
var prefixed, within, withSlash = func() (prefixed [256]*[256][]issued, within [256]*[256][]inner, withSlash []issued) {
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			panic("marks.txt: " + err.Error())
		}
		return n
	}
	var all []issued
	for line := range strings.Lines(marksTable) {
		line, _, _ = strings.Cut(line, "  #")
		w := strings.Fields(line)
		switch {
		case len(w) == 0 || w[0] == "#":
		case w[0] == "within":
			f := inner{strings.TrimPrefix(w[1], "-"), alphabets[w[2]], number(w[3]), w[4], alphabets[w[5]], number(w[6]), strings.IndexAny(w[4], marks)}
			by := at2(&within, f.mark[f.at])
			for next := range 256 {
				if f.at+1 < len(f.mark) && byte(next) == f.mark[f.at+1] || f.at+1 == len(f.mark) && f.after.has(byte(next)) {
					by[next] = append(by[next], f)
				}
			}
		default:
			for _, prefix := range w[3:] {
				all = append(all, issued{prefix, alphabets[w[0]], number(w[1]), doubts[w[2]]})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b issued) int { return len(b.prefix) - len(a.prefix) })
	for _, f := range all {
		by := at2(&prefixed, f.prefix[0])
		by[f.prefix[1]] = append(by[f.prefix[1]], f)
		if strings.Contains(f.prefix, "/") {
			withSlash = append(withSlash, f)
		}
	}
	return prefixed, within, withSlash
}()

// at2 is the part of a table for a first byte.
func at2[T any](table *[256]*[256][]T, first byte) *[256][]T {
	if table[first] == nil {
		table[first] = new([256][]T)
	}
	return table[first]
}

// inner is a form of keys with its issuer's mark in the middle or at the end: n bytes
// before the mark, which begin with a word, and at least m after it.
type inner struct {
	begin  string
	before alphabet
	n      int
	mark   string
	after  alphabet
	m      int // 0: the key ends with the mark
	at     int // where the mark has its first byte of marks
}

// keyWithin looks at a mark for such a key, and gives where it ended, 0 where there
// is none.
func (t *scan) keyWithin(i int) int {
	b, forms := t.src, within[t.src[i]]
	if forms == nil || i+1 == len(b) || !t.w.r.credential {
		return 0
	}
	for k := range forms[b[i+1]] {
		f := &forms[b[i+1]][k]
		mark := i - f.at
		start := mark - f.n
		if start < t.from || !bytes.HasPrefix(b[mark:], []byte(f.mark)) || !bytes.HasPrefix(b[start:], []byte(f.begin)) {
			continue
		}
		after := mark + len(f.mark)
		end := after
		for end < len(b) && f.after.has(b[end]) {
			end++
		}
		t.w.looked += end - start
		if t.begins(start) && all(b[start:mark], f.before) &&
			end-after >= f.m && (f.m > 0 || end == after) {
			return t.replace(start, end)
		}
	}
	return 0
}

// all reports whether all bytes are of an alphabet.
func all(b []byte, of alphabet) bool {
	for _, c := range b {
		if !of.has(c) {
			return false
		}
	}
	return true
}

// marks are the bytes by which a mark in the middle of a key is found.
const marks = "_-.:/AKQYZ"

// issued looks for a key that begins at i with its issuer's prefix, and gives where it ended,
// 0 where there is none.
func (t *scan) issued(i int) int {
	forms := prefixed[t.src[i]]
	if forms == nil || i+1 == len(t.src) || !t.w.r.credential {
		return 0
	}
	of := forms[t.src[i+1]]
	for k := range of {
		if end := t.issuedBy(&of[k], i); end > 0 {
			return end
		}
	}
	return 0
}

// issuedBy replaces the key of one form that begins at start.
func (t *scan) issuedBy(f *issued, start int) int {
	b := t.src
	if start < t.from || !bytes.HasPrefix(b[start:], []byte(f.prefix)) || f.prefix[0] != '$' && !t.begins(start) {
		return 0
	}
	end := start + len(f.prefix)
	var small, capital, number bool
	for ; end < len(b) && f.rest.has(b[end]); end++ {
		small = small || b[end] >= 'a' && b[end] <= 'z'
		capital = capital || b[end] >= 'A' && b[end] <= 'Z'
		number = number || isDigit(b[end])
	}
	t.w.looked += end - start
	for (f.rest == dotted || f.rest == joined) && b[end-1] == '.' {
		end-- // the end of a sentence
	}
	switch {
	case end-start-len(f.prefix) < f.least,
		f.doubt == digit && !number,
		f.doubt >= mixed && f.doubt != digit && (!number || !small || !capital),
		f.doubt == exact && end-start-len(f.prefix) > f.least,
		f.doubt == short && end-start-len(f.prefix) > f.least+50:
		return 0
	}
	return t.replace(start, end)
}

// begins reports whether a word begins at i: after no letter and no digit,
// unless these are of an escape.
func (t *scan) begins(i int) bool {
	b := t.src
	if i == 0 || !isLetter(b[i-1]) && !isDigit(b[i-1]) {
		return true
	}
	switch {
	case i >= 2 && b[i-2] == '\\':
		return true
	case i >= 3 && b[i-3] == '%':
		return unhex(b[i-1]) >= 0 && unhex(b[i-2]) >= 0
	}
	return i >= 6 && b[i-6] == '\\' && b[i-5] == 'u'
}

// dash looks at a dash: it may begin a key in PEM, or be the mark of another.
func (t *scan) dash(i int) int {
	b := t.src
	if end := t.keyWithin(i); end > 0 {
		return end
	}
	if end := t.flag(i); end > 0 {
		return end
	}
	const longestLabel = 64
	if t.w.r.credential && bytes.HasPrefix(b[i:], []byte(pemBegin)) &&
		bytes.Contains(b[i:min(len(b), i+longestLabel)], []byte("PRIVATE KEY")) {
		end := pemEnd(b, i)
		t.w.looked += end - i
		return t.replace(i, end)
	}
	return 0
}

// flag looks for a flag of a command that is called as a secret is, with its value
// behind a blank, as in --api-key 4f1c…: a word of at least 8 letters and digits.
func (t *scan) flag(i int) int {
	b := t.src
	if !bytes.HasPrefix(b[i:], []byte("--")) || i > 0 && b[i-1] > ' ' && quoteBefore(b, i) == "" {
		return 0
	}
	end := i + len("--")
	for end < len(b) && end-i < maxName && (isLetter(b[end]) || isDigit(b[end]) || b[end] == '-' || b[end] == '_' || b[end] == '.') {
		end++
	}
	t.w.looked += end - i
	if end == len(b) || !isBlank(b[end]) || !t.w.secretPath(b[i+len("--"):end]) {
		return 0
	}
	start := end + 1
	if q := quoteAt(b, start); q != "" {
		return t.quotedValue(start, q)
	}
	end = wordEnd(b, start)
	t.w.looked += end - start
	if word := b[start:end]; len(word) < 8 || !bytes.ContainsAny(word, "0123456789") {
		return 0 // a word of a manual
	}
	return t.replace(start, end)
}

// dot looks for Discord's keys, three parts of base64url, the first of them
// a number of 17 to 20 digits, or for the mark of another.
func (t *scan) dot(i int) int {
	if end := t.keyWithin(i); end > 0 {
		return end
	}
	const middle, last, longest = 6, 27, 28
	b := t.src
	if !t.w.r.credential || i+middle+1+last >= len(b) || b[i+1+middle] != '.' {
		return 0
	}
	start := i
	for start > t.from && i-start < longest && url64.has(b[start-1]) {
		start--
	}
	t.w.looked += i - start
	if i-start < 23 || b[start] < 'M' || b[start] > 'O' || !t.begins(start) {
		return 0
	}
	end := i + middle + 2
	for end < len(b) && url64.has(b[end]) {
		end++
	}
	t.w.looked += end - i
	if end-i < middle+2+last {
		return 0
	}
	return t.replace(start, end)
}
