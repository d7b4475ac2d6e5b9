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

// alphabet has the bytes that the rest of a key may have.
type alphabet *[256]bool

// alphabets are those of marksTable by their names there.
var alphabets = func() map[string]alphabet {
	const (
		decimal  = "0123456789"
		hexLower = decimal + "abcdef"
		large    = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		letters  = decimal + large + "abcdefghijklmnopqrstuvwxyz"
		url64    = letters + "-_"
		standard = url64 + "+/="
		joined   = standard + "."
		wide     = joined + "$@:"
	)
	all := map[string]alphabet{}
	for name, of := range map[string]string{
		"decimal": decimal, "hexLower": hexLower, "hexDash": hexLower + "-", "base32": large + "234567", // RFC 4648
		"capitals": large + decimal + "-", "letters": letters, "url64": url64, "dotted": url64 + ".", "standard": standard,
		"escaped": standard + "%", "joined": joined, "crypt": joined + "$,", "wide": wide, "caret": wide + "#^",
	} {
		all[name] = new([256]bool)
		for _, c := range []byte(of) {
			all[name][c] = true
		}
	}
	return all
}()

var (
	decimal, hexLower, url64 = alphabets["decimal"], alphabets["hexLower"], alphabets["url64"]
	standard, dotted, joined = alphabets["standard"], alphabets["dotted"], alphabets["joined"]
)

// runEnd gives where the bytes of an alphabet from i on end.
func runEnd(b []byte, i int, of alphabet) int {
	for i < len(b) && of[b[i]] {
		i++
	}
	return i
}

// issued is a form of keys: a prefix, and at least so many bytes after it.
type issued struct {
	prefix string
	rest   alphabet
	least  int
	// doubt says what else a key must have, where its prefix begins other words too: a
	// "digit", or "mixed", a small letter, a capital and a digit. "exact" is mixed and has
	// no byte more, "short" is mixed and has at most 50 bytes more.
	doubt string
}

// marksTable has the forms: one place for whoever adds an issuer.
//
//go:embed marks.txt
var marksTable string

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
				if f.at+1 < len(f.mark) && byte(next) == f.mark[f.at+1] || f.at+1 == len(f.mark) && f.after[next] {
					by[next] = append(by[next], f)
				}
			}
		default:
			for _, prefix := range w[3:] {
				all = append(all, issued{prefix, alphabets[w[0]], number(w[1]), w[2]})
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
		end := runEnd(b, after, f.after)
		t.w.looked += end - start
		if t.begins(start) && runEnd(b[:mark], start, f.before) == mark &&
			end-after >= f.m && (f.m > 0 || end == after) {
			return t.replace(start, end)
		}
	}
	return 0
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
	for ; end < len(b) && f.rest[b[end]]; end++ {
		small = small || b[end] >= 'a' && b[end] <= 'z'
		capital = capital || b[end] >= 'A' && b[end] <= 'Z'
		number = number || isDigit(b[end])
	}
	t.w.looked += end - start
	for (f.rest == dotted || f.rest == joined) && b[end-1] == '.' {
		end-- // the end of a sentence
	}
	ok := true
	more := end - start - len(f.prefix) - f.least
	switch f.doubt {
	case "digit":
		ok = number
	case "mixed", "exact", "short":
		ok = number && small && capital && (f.doubt == "mixed" || more == 0 || f.doubt == "short" && more <= 50)
	}
	if !ok || more < 0 {
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
	end := runEnd(b[:min(len(b), i+maxName)], i+len("--"), dotted)
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
	for start > t.from && i-start < longest && url64[b[start-1]] {
		start--
	}
	t.w.looked += i - start
	if i-start < 23 || b[start] < 'M' || b[start] > 'O' || !t.begins(start) {
		return 0
	}
	end := runEnd(b, i+middle+2, url64)
	t.w.looked += end - i
	if end-i < middle+2+last {
		return 0
	}
	return t.replace(start, end)
}
