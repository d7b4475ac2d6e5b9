package form

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
)

// formClass is the kind of text or number that a value is.
type formClass uint8

// The classes. Of two that fit, the first one that classify tries is taken, so a
// value has one class whatever else it could be.
const (
	classNull formClass = iota
	classBool
	classArray
	classObject
	classEmpty
	classInteger
	classDecimal
	classUUID
	classTime
	classJWT
	classDigits
	classHex
	classWord
	classToken
	classNumeral // a decimal number in a string
	classText
	classes
)

// classNames are the names as a config writes them; those without one cannot be declared.
var classNames = [classes]string{
	classInteger: "integer", classDecimal: "decimal", classUUID: "uuid", classTime: "time", classJWT: "jwt", classDigits: "digits",
	classHex: "hex", classWord: "word", classToken: "token", classNumeral: "numeral", classText: "text",
}

// classWords are those of a sentence.
var classWords = [classes]string{
	"null", "true or false", "an array", "an object", "an empty string", "an integer", "a number", "a UUID", "a time", "a JWT",
	"digits", "hexadecimal", "a word", "letters and digits", "a number in a string", "text",
}

// form is the format of one value, without the value. Two forms are the same if
// they are equal.
type form struct {
	class formClass
	// as is how values of the class are written: the case of letters, how many decimals, which
	// version of a UUID, which layout of a time.
	as string
	// prefix is a hash of what stands before an id, such as ord_; 0: nothing.
	prefix uint32
}

// code is a number that distinguishes forms.
func (f form) code() uint64 {
	h := digest.Hash(f.class)
	h.Text(f.as)
	return digest.Mix(uint64(h) + uint64(f.prefix))
}

// String names the form in a sentence.
func (f form) String() string {
	s := classWords[f.class] + f.as
	if f.prefix != 0 {
		return "a prefixed id (" + s + ")"
	}
	return s
}

// hasMembers reports whether values of a class are ids or texts, which may come out of a set.
func (c formClass) hasMembers() bool {
	return c >= classUUID && c != classTime && c != classWord && c != classJWT
}

// Names lists what a config may write for the form of a field: a class, "any"
// for a field that is not compared, "value" for one that is compared by value
// though the monolith changes it by itself.
func Names() []string {
	named := slices.DeleteFunc(slices.Clone(classNames[:]), func(n string) bool { return n == "" })
	return append([]string{formAny, formValue}, named...)
}

// The rules that are no class.
const (
	formAny   = "any"
	formValue = "value"
)

// value is what is kept of one value while its exchange is looked at. Nothing of
// it but the form, the size and, hashed, the value itself goes into any memory.
type value struct {
	form form
	// hash distinguishes values.
	hash uint64
	// raw is its JSON, valid during the exchange.
	raw []byte
	// size is how long a text or a list is, in classes; -1: it does not count.
	size int
	// at is the moment that a time means.
	at time.Time
	// padded says that it is digits that begin with zeros, and so of a fixed length.
	padded bool
	// amount is how large a number is, in a text too, how long a list or a duration; where sized
	// is set.
	amount float64
	sized  bool
	last   byte // character of an id
}

// valueOfNumber makes a value of a number as JSON writes it.
func valueOfNumber(s []byte) value {
	v := value{raw: s, size: -1, hash: digest.Mix(digest.FNVOn(uint64(jsondoc.Number), s))}
	v.measure(s)
	var ok bool
	if v.at, v.form, ok = epochTime(s); !ok {
		if v.form = (form{class: classInteger}); decimalsOf(s) > 0 {
			v.form = form{class: classDecimal, as: decimalWords(s)}
		}
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
	v := value{size: -1, form: classify(s), hash: digest.Mix(digest.FNVOn(uint64(jsondoc.String), s))}
	if v.form.class == classTime {
		v.at, _, _ = readTime(s)
		return v
	}
	if d, ok := durationOf(s); ok { // the length of the text is that of the number
		v.amount, v.sized = d, true
		return v
	}
	if v.form.class.hasMembers() {
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
	case classHex, classToken:
		v.size = sizeClass(len(s))
	case classText, classJWT:
		v.size = sizeClass(max(len(s), most+1)) // of which another length is usual
	}
	return v
}

// sizeClass distinguishes sizes: each up to most, then by powers of two.
func sizeClass(n int) int {
	if n <= most {
		return n
	}
	return most + bits.Len(uint(n))
}

// chars are the kinds of characters that a text is made of.
type chars uint8

const (
	charDigit chars = 1 << iota
	charLowerHex
	charLower
	charUpperHex
	charUpper
	charDash // and underscore
	charBase // plus, slash and the padding of base64
	charOther

	charsLower  = charLowerHex | charLower
	charsUpper  = charUpperHex | charUpper
	charsLetter = charsLower | charsUpper
)

// kindOfChar is the kind of each byte.
var kindOfChar = func() (t [256]chars) {
	for b := range t {
		t[b] = charOther
	}
	for i, list := range []string{"0123456789", "abcdef", "ghijklmnopqrstuvwxyz", "ABCDEF", "GHIJKLMNOPQRSTUVWXYZ", "-_", "+/="} {
		for _, b := range []byte(list) {
			t[b] = 1 << i
		}
	}
	return t
}()

func charsOf(s []byte) (c chars) {
	for _, b := range s {
		c |= kindOfChar[b]
	}
	return c
}

// only reports whether a text has no other characters.
func (c chars) only(kinds chars) bool { return c&^kinds == 0 }

// caseWords name the case of letters; the usual one is not named.
func (c chars) caseWords() string {
	switch {
	case c&charsUpper == 0:
		return ""
	case c&charsLower == 0:
		return " in upper case"
	}
	return " in mixed case"
}

// classify finds the form of a string.
func classify(s []byte) form {
	if len(s) == 0 {
		return form{class: classEmpty}
	}
	if _, f, ok := readTime(s); ok {
		return f
	}
	c := charsOf(s)
	if f, ok := idForm(s, c); ok {
		return f
	}
	if jsondoc.IsNumber(s) {
		return form{class: classNumeral, as: decimalWords(s)}
	}
	if i := prefixLen(s); i > 0 {
		if f, ok := idForm(s[i:], charsOf(s[i:])); ok && f.class != classWord {
			f.prefix = uint32(digest.FNV(s[:i])) | 1
			return f
		}
	}
	if bytes.HasPrefix(s, []byte("eyJ")) && bytes.Count(s, []byte(".")) == 2 && !bytes.ContainsAny(s, " \n") {
		return form{class: classJWT}
	}
	return form{class: classText}
}

// wordTurns is how often a word changes from lower to upper case at most: inProgress does once.
const wordTurns = 3

// idForm is the form of a text without any punctuation but that of ids.
func idForm(s []byte, c chars) (form, bool) {
	n, cased := len(s), c.caseWords()
	switch {
	case c.only(charDigit):
		return form{class: classDigits}, true
	case n == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' && c.only(charDigit|charLowerHex|charUpperHex|charDash):
		return form{class: classUUID, as: " v" + string(s[14]) + cased}, true
	case n >= 6 && c&charDigit > 0 && c.only(charDigit|charLowerHex|charUpperHex) && cased != " in mixed case":
		return form{class: classHex, as: cased}, true
	case c.only(charsLetter|charDash) && turnsOf(s) <= wordTurns:
		if cased == " in mixed case" {
			cased = ""
		}
		return form{class: classWord, as: cased}, true
	case c.only(charDigit | charsLetter):
		return form{class: classToken, as: cased}, true
	case n >= 8 && n%4 == 0 && c&charBase > 0 && c.only(charDigit|charsLetter|charDash|charBase) && bytes.Count(s, []byte("=")) <= 2:
		return form{class: classToken, as: " as base64"}, true
	case n >= 8 && c&charsLetter > 0 && c.only(charDigit|charsLetter|charDash) && prefixLen(s) == 0:
		return form{class: classToken, as: " with dashes"}, true
	}
	return form{}, false
}

// turnsOf counts the changes from lower to upper case, of which a word has few.
func turnsOf(s []byte) (n int) {
	for i := 1; i < len(s); i++ {
		if kindOfChar[s[i]]&charsUpper > 0 && kindOfChar[s[i-1]]&charsLower > 0 {
			n++
		}
	}
	return n
}

// prefixLen is the length of the letters and the one mark that begin an id such as
// ord_8f3a or INV-000123; 0: there are none.
func prefixLen(s []byte) int {
	i := bytes.IndexFunc(s, func(r rune) bool { return r >= 0x80 || kindOfChar[r]&charsLetter == 0 })
	if i < 2 || i+1 >= len(s) || !strings.ContainsRune("_-:./", rune(s[i])) {
		return 0
	}
	return i + 1
}

// decimalsOf is how many decimals a number has by its value: 1.50 has one.
func decimalsOf(number []byte) int {
	var buf [64]byte
	d := jsondoc.ParseDecimal(buf[:0], number)
	return int(max(0, min(64, int64(len(d.Digits))-d.Exp)))
}

// decimalWords name none, one or two, up to six, and more decimals.
func decimalWords(number []byte) string {
	switch n := decimalsOf(number); {
	case n == 0:
		return " without decimals"
	case n <= 2:
		return " with one or two decimals"
	case n <= 6:
		return " with three to six decimals"
	}
	return " with seven or more decimals"
}
