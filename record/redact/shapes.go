package redact

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// A card number has 13 to 19 digits (ISO/IEC 7812-1). The last is a
// check digit by Luhn's rule, which one number in ten passes by chance. The
// first digit says who issues: 2 to 6 are banks and merchants, and 1 with
// fifteen digits is UATP. Others are not taken for cards, which spares times in
// milliseconds (13 digits from 1) and in nanoseconds.
const (
	cardLeast = 13
	cardMost  = 19
)

// isCard judges digits without separators.
func (r *Redactor) isCard(d []byte) bool {
	if !r.card || len(d) < cardLeast || len(d) > cardMost {
		return false
	}
	if (d[0] < '2' || d[0] > '6') && (d[0] != '1' || len(d) != 15) {
		return false
	}
	sum := 0
	for i := range d {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

// cardAt gives where the card number that begins at i ends, 0 where none does.
// The first digit of a run is at i. Between groups of digits may stand one
// separator, the same everywhere.
func (r *Redactor) cardAt(b []byte, i int) (end int) {
	run := digits(b, i)
	if run == len(b) || isLetter(b[run]) || separator(b[run:]) == 0 && b[run] != '%' { // the everyday number
		if run-i >= cardLeast && r.isCard(b[i:run]) {
			return run
		}
		return 0
	}
	if r.isCard(b[i:run]) {
		return run
	}
	if n := run - i; n < 3 || n > 7 {
		return 0 // no issuer writes its first group so
	}
	var all [cardMost]byte
	n := copy(all[:], b[i:run])
	between := separator(b[run:])
	if between == 0 {
		return 0
	}
	for at := run; n < cardMost; {
		if separator(b[at:]) != between || b[at] != b[run] {
			break
		}
		next := at + between
		last := digits(b, next)
		if last == next || n+last-next > cardMost {
			break
		}
		n += copy(all[n:], b[next:last])
		if at = last; r.isCard(all[:n]) {
			end = last
		}
	}
	return end
}

// separator is the length of what may stand between the groups of a card
// number, 0 where b does not begin with it.
func separator(b []byte) int {
	return len(firstOf(b, separators))
}

var separators = []string{" ", "-", "+", ".", "_", "%20", "%2D", "%2d", "\u00a0"}

// atSigns are the ways in which texts of all kinds write the sign of an e-mail
// address.
var atSigns = []string{"@", "%40", "%2540", `\u0040`, `\x40`, "&#64;", "&#x40;", "&#X40;", "&commat;"}

// firstOf is the first of some texts that b begins with, "" for none.
func firstOf(b []byte, of []string) string {
	for _, s := range of {
		if len(b) >= len(s) && b[0] == s[0] && string(b[:len(s)]) == s {
			return s
		}
	}
	return ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// digits gives where the digits from i on end.
func digits(b []byte, i int) int { return runEnd(b, i, decimal) }

// unhex is the value of a hexadecimal digit, -1 for another byte.
func unhex(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// isLocal reports whether a byte may stand in the part before the sign. The
// grammar (RFC 5322) has more; they do not occur outside of quotes.
func isLocal(c byte) bool {
	return isLetter(c) || isDigit(c) || c >= 0x80 || bytes.IndexByte([]byte("._%+-!#$*?^|~'"), c) >= 0
}

// emailAround gives the address whose sign, n bytes long, is at i; it begins
// not before least. ok is false where there is none.
func emailAround(b []byte, i, n, least int) (start, end int, ok bool) {
	const longestLocal = 64
	for start = i; start > least && i-start < longestLocal && isLocal(b[start-1]); {
		start--
	}
	for start < i && (b[start] == '\'' || b[start] == '.' || b[start] == '%' && i-start < 3) {
		start++
	}
	const token = len(tokenPrefix) + tokenDigits
	if start == i || i-start >= token && isToken(b[start:start+token]) { // redacted before
		return 0, 0, false
	}
	end = domainEnd(b, i+n)
	return start, end, end > 0
}

// domainEnd gives where the domain that begins at i ends; 0 where there is none
// with at least two labels, the last of letters. A picture's name with its
// scale (logo@2x.png) is none.
func domainEnd(b []byte, i int) (end int) {
	const longest = 255
	for labels, at := 0, i; at < len(b) && at-i < longest; labels++ {
		last, letters := at, true
		for last < len(b) && (isLetter(b[last]) || isDigit(b[last]) || b[last] == '-' || b[last] >= 0x80) {
			letters = letters && (isLetter(b[last]) || b[last] >= 0x80)
			last++
		}
		if last == at {
			break
		}
		top := b[at:last]
		if labels > 0 && (letters && len(top) >= 2 || bytes.HasPrefix(top, []byte("xn--"))) && !isPicture(b[i:at], top) {
			end = last
		}
		if last >= len(b) || b[last] != '.' {
			break
		}
		at = last + 1
	}
	return end
}

func isPicture(before, top []byte) bool {
	if len(before) > 3 || len(before) < 2 || before[len(before)-2] != 'x' {
		return false
	}
	switch string(bytes.ToLower(top)) {
	case "png", "jpg", "jpeg", "gif", "webp", "svg", "avif", "ico":
		return true
	}
	return false
}

// jwtAt gives where the token that begins at i with "eyJ" ends (RFC 7519: parts
// of base64url with dots between them); 0 where it is none. Where that is for
// want of a dot, none begins before undotted either. read is how many bytes it
// looked at.
func jwtAt(b []byte, i int) (end, undotted, read int) {
	at := runEnd(b, i, dotted)
	dots := bytes.Count(b[i:at], []byte("."))
	read = at - i
	for at > i && b[at-1] == '.' && dots > 2 {
		at-- // the end of a sentence
		dots--
	}
	switch {
	case dots == 0:
		return 0, at, read
	case at-i < 20:
		return 0, 0, read
	}
	return at, 0, read
}

// schemes are the words before a credential (RFC 9110, section 11.1, and what
// is in use too).
var schemes = []string{"bearer", "basic", "digest", "token", "apikey", "negotiate", "ntlm", "aws4-hmac-sha256", "hoba", "mutual", "scram-sha-256", "dpop", "hawk", "key"}

// schemeLen is the length of the scheme that b begins with and of the space
// after it; 0 for none.
func schemeLen(b []byte) int {
	for _, s := range schemes {
		if len(b) <= len(s) || !strings.EqualFold(string(b[:len(s)]), s) {
			continue
		}
		n := len(s)
		for n < len(b) && (b[n] == ' ' || b[n] == '\t' || b[n] == '+') {
			n++
		}
		if bytes.HasPrefix(b[n:], []byte("%20")) {
			n += 3
		}
		if n > len(s) && n < len(b) {
			return n
		}
	}
	return 0
}

// longestBasic is from how many bytes on what follows "Basic" is taken for a
// credential unread: it is no word of prose, and reading it again from each
// "basic" in it would take the square of its length.
const longestBasic = 1 << 10

// credentialAt gives the credential of a text's "Bearer …" or "Basic …" that
// begins at i; end is 0 where it is none, but a word of prose. read is how many
// bytes it looked at.
func credentialAt(b []byte, i int) (start, end, read int) {
	basic := b[i]|0x20 == 'b' && i+1 < len(b) && b[i+1]|0x20 == 'a'
	n := schemeLen(b[i:])
	if n == 0 {
		return 0, 0, 0
	}
	start = i + n
	marked := false
	for end = start; end < len(b) && (standard[b[end]] || b[end] == '.' || b[end] == '~' || b[end] == '%'); end++ {
		marked = marked || isDigit(b[end]) || b[end] == '_' || b[end] == '='
	}
	word, read := b[start:end], end-i
	if basic && len(word) <= longestBasic {
		if plain, err := base64.RawStdEncoding.DecodeString(string(bytes.TrimRight(unpercent(nil, word, false), "="))); err != nil || bytes.IndexByte(plain, ':') < 0 {
			return 0, 0, read
		}
		return start, end, read
	}
	if len(word) < 6 || !marked && len(word) < 20 {
		return 0, 0, read
	}
	return start, end, read
}

// unpercent appends the text that percent-encoding stands for; other text stays. plus
// says that "+" is a space, as in forms.
func unpercent(dst, b []byte, plus bool) []byte {
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c == '%' && i+2 < len(b) && unhex(b[i+1]) >= 0 && unhex(b[i+2]) >= 0:
			dst = append(dst, byte(unhex(b[i+1])<<4|unhex(b[i+2])))
			i += 2
		case c == '+' && plus:
			dst = append(dst, ' ')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
