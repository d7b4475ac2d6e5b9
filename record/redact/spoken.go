package redact

import (
	"bytes"
	"slices"
	"strings"
)

// A code that a text asks its reader to type, such as "your verification code
// is 123456", is secret: it stands for a password until it is used.

// codeKinds are the words before "code" that make it such a one. Others (error,
// postal, status) do not.
var codeKinds = set("verification", "recovery", "backup", "security", "confirmation", "login", "access", "onetime", "time",
	"sms", "auth", "authentication", "authorization", "reset", "activation", "2fa", "mfa", "otp", "signin", "in", "factor", "your", "this", "use")

const (
	codeLeast = 4
	codeMost  = 24
)

// spokenCode checks whether the code whose first digit is at i has words before or
// after it that make it secret. It returns the code's end, or 0 if it is none.
func (t *scan) spokenCode(i int) int {
	if !t.w.r.credential {
		return 0
	}
	b, start, end := t.src, i, i
	part := func(i int) bool {
		return i < len(b) && (isLetter(b[i]) || isDigit(b[i]))
	}
	for start > t.from && i-start < codeMost && (isLetter(b[start-1]) || b[start-1] == '-') {
		start--
	}
	for end-start <= codeMost && (part(end) || end < len(b) && b[end] == '-' && part(end+1)) {
		end++
	}
	t.w.looked += end - start
	if n := end - start; n < codeLeast || n > codeMost || start == 0 && end == len(b) {
		return 0
	}
	if t.saysCodeBefore(start) || t.saysCodeAfter(end) {
		return t.replace(start, end)
	}
	return 0
}

// wordBefore gives the word that ends before i and before spaces, colons and
// quotes, and where it begins.
func (t *scan) wordBefore(i int) (word []byte, at int) {
	const longest = 16
	b := t.src
	for n := 0; i > 0 && n < 4 && bytes.IndexByte([]byte(" :=\"'#*\n-"), b[i-1]) >= 0; n++ {
		i--
	}
	at = i
	for at > 0 && i-at < longest && (isLetter(b[at-1]) || isDigit(b[at-1])) {
		at--
	}
	t.w.looked += i - at
	return b[at:i], at
}

// isWord reports whether b is one of some words in any case.
func isWord(b []byte, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(string(b), w) })
}

// saysCodeBefore reports whether the words before i are "… code", "… code is" or
// the like, of a kind that is secret.
func (t *scan) saysCodeBefore(i int) bool {
	word, at := t.wordBefore(i)
	if isWord(word, "is", "are") {
		word, at = t.wordBefore(at)
	}
	if !isWord(word, "code", "codes") {
		return false
	}
	kind, _ := t.wordBefore(at)
	return codeKinds[string(bytes.ToLower(kind))]
}

// saysCodeAfter reports whether a text goes on with " is your … code".
func (t *scan) saysCodeAfter(i int) bool {
	const most, begins = 48, " is your "
	rest := t.src[i:min(len(t.src), i+most)]
	if len(rest) < len(begins) || !strings.EqualFold(string(rest[:len(begins)]), begins) {
		return false
	}
	t.w.looked += len(rest)
	return bytes.Contains(bytes.ToLower(rest), []byte(" code"))
}
