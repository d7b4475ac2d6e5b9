package form

import (
	"bytes"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonscan"
)

// formClass is the kind of text or number of a value, by its name in a config.
type formClass string

// The classes. Where two fit, classify's first one counts, so a value has one class. The first five
// cannot be declared.
const (
	classNull    formClass = "null"
	classBool    formClass = "bool"
	classArray   formClass = "array"
	classObject  formClass = "object"
	classEmpty   formClass = "empty"
	classInteger formClass = "integer"
	classDecimal formClass = "decimal"
	classUUID    formClass = "uuid"
	classTime    formClass = "time"
	classJWT     formClass = "jwt"
	classDigits  formClass = "digits"
	classHex     formClass = "hex"
	classWord    formClass = "word"
	classToken   formClass = "token"
	classNumeral formClass = "numeral" // a number in a string
	classText    formClass = "text"
)

// declarable are the classes that a config may declare.
var declarable = []formClass{
	classInteger, classDecimal, classUUID, classTime, classJWT, classDigits, classHex, classWord, classToken, classNumeral, classText,
}

// inConfig is a class's name in a config; empty where it cannot be declared.
func (c formClass) inConfig() string {
	if slices.Contains(declarable, c) {
		return string(c)
	}
	return ""
}

// hasMembers reports whether values of a class are ids or texts, which may come from a set.
func (c formClass) hasMembers() bool {
	return slices.Contains([]formClass{classUUID, classDigits, classHex, classToken, classNumeral, classText}, c)
}

// Names lists what a config may write for the form of a field: a class, "any" for a field that is not
// compared, "value" for one compared by value though the monolith changes it.
func Names() []string {
	list := []string{formAny, formValue}
	for _, c := range declarable {
		list = append(list, string(c))
	}
	return list
}

// form is the format of one value, without the value. Two equal forms are the same.
type form struct {
	class formClass
	// words say how values are written: case, decimals, version of a UUID, layout of a time.
	words string
	// fixed is a hash of an id's prefix, such as ord_, or of a text's Shape; 0 where there is none.
	fixed uint32
}

// code is a number that distinguishes forms.
func (f form) code() uint64 { return digest.Mix(digest.FNVOn(uint64(f.fixed), []byte(f.words))) }

// String names the form in a sentence.
func (f form) String() string {
	if f.fixed != 0 && f.class != classText {
		return "a prefixed id (" + f.words + ")"
	}
	return f.words
}

// The rules that are not classes.
const (
	formAny   = "any"
	formValue = "value"
)

// value is what is kept of one value during its exchange. Only form, size and hashes are remembered.
type value struct {
	form form
	// hash distinguishes values, and end the last thirds of long ids; 0 where there is none.
	hash uint64
	end  uint32
	// raw is its JSON, valid during the exchange.
	raw []byte
	// size is how long an id or a list is, up to most; -1 where it does not count.
	size int
	// at is the moment that a time means.
	at time.Time
	// padded says that the digits begin with zeros, and so have a fixed length.
	padded bool
	// amount is the size of a number, in a text too, of a list or of a duration, where sized is set.
	amount float64
	sized  bool
}

// valueOfNumber makes a value of a number as JSON writes it.
func valueOfNumber(s []byte) value {
	v := value{raw: s, size: -1, hash: hashOf(jsondoc.Number, s)}
	v.measure(s)
	var ok bool
	if v.at, v.form, ok = epochTime(s); !ok {
		v.form = form{class: classInteger, words: "an integer"}
		if decimals := decimalWords(s); decimals != noDecimals {
			v.form = form{class: classDecimal, words: "a number" + decimals}
		}
	}
	return v
}

// measure takes a number's size.
func (v *value) measure(s []byte) {
	x, _ := strconv.ParseFloat(string(s), 64) // ±Inf where it is too large, which JSON lacks
	v.amount, v.sized = max(-math.MaxFloat64, min(x, math.MaxFloat64)), true
}

// isZero reports whether it is the number 0, without decimals.
func (v *value) isZero() bool {
	return v.form.class == classInteger && len(v.raw) == 1 && v.raw[0] == '0'
}

// valueOfText makes a value of a text, which is not kept.
func valueOfText(s []byte) value {
	v := value{size: -1, hash: hashOf(jsondoc.String, s)}
	v.form, v.at = classify(s)
	seconds, isDuration := durationOf(s)
	switch v.form.class {
	case classDigits:
		v.size, v.padded = len(s), len(s) > 1 && s[0] == '0'
		if v.form.fixed == 0 {
			v.measure(s)
		}
	case classNumeral:
		v.measure(s)
	case classHex, classToken, classUUID:
		if v.size = min(len(s), most); len(s) >= few {
			v.end = uint32(digest.FNV(s[len(s)-len(s)/3:]))
		}
	case classText:
		v.form.fixed = uint32(digest.FNV([]byte(Shape(string(s)))))
	}
	if isDuration { // the length of the text follows from the number
		v.amount, v.sized, v.size = seconds, true, -1
	}
	return v
}

// chars are the kinds of characters in a text, as bits.
type chars uint8

const (
	digit chars = 1 << iota
	lowerHex
	upperHex
	furtherLower
	furtherUpper
	dash
	base64Mark // other than a dash
	otherChar

	hexLetter    = lowerHex | upperHex
	lower        = lowerHex | furtherLower
	upper        = upperHex | furtherUpper
	letter       = lower | upper
	alphanumeric = digit | letter
	tokenChar    = alphanumeric | dash
)

func charOf(b byte) chars {
	switch {
	case b >= '0' && b <= '9':
		return digit
	case b >= 'a' && b <= 'f':
		return lowerHex
	case b >= 'A' && b <= 'F':
		return upperHex
	case b >= 'g' && b <= 'z':
		return furtherLower
	case b >= 'G' && b <= 'Z':
		return furtherUpper
	case b == '-' || b == '_':
		return dash
	case b == '+' || b == '/' || b == '=':
		return base64Mark
	}
	return otherChar
}

func charsOf(s []byte) (c chars) {
	for _, b := range s {
		c |= charOf(b)
	}
	return c
}

// areOnly reports whether there are no others.
func (c chars) areOnly(of chars) bool { return c&^of == 0 }

// have reports whether there is one of these.
func (c chars) have(of chars) bool { return c&of != 0 }

// The case of letters in words. The usual one is not named.
const (
	inLower = ""
	inUpper = " in upper case"
	inMixed = " in mixed case"
)

func (c chars) letterCase() string {
	switch {
	case !c.have(upper):
		return inLower
	case !c.have(lower):
		return inUpper
	}
	return inMixed
}

// classify finds the form of a string, and the moment it means.
func classify(s []byte) (f form, at time.Time) {
	if at, f, ok := readTime(s); ok {
		return f, at
	}
	return classifyTimeless(s), at
}

func classifyTimeless(s []byte) form {
	if len(s) == 0 {
		return form{class: classEmpty, words: "an empty string"}
	}
	if f, ok := idForm(s); ok {
		return f
	}
	if jsonscan.IsNumber(s) {
		return form{class: classNumeral, words: "a number in a string" + decimalWords(s)}
	}
	if i := prefixLen(s); i > 0 {
		if f, ok := idForm(s[i:]); ok && f.class != classWord {
			f.fixed = uint32(digest.FNV(s[:i])) | 1
			return f
		}
	}
	if bytes.HasPrefix(s, []byte("eyJ")) && bytes.Count(s, []byte(".")) == 2 && !bytes.ContainsAny(s, " \n") {
		return form{class: classJWT, words: "a JWT"}
	}
	return form{class: classText, words: "text"}
}

// idForm is the form of a text with no punctuation except that of ids.
func idForm(s []byte) (form, bool) {
	n, c := len(s), charsOf(s)
	cased := c.letterCase()
	switch {
	case c.areOnly(digit):
		return form{class: classDigits, words: "digits"}, true
	case n == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' && c.areOnly(digit|hexLetter|dash):
		return form{class: classUUID, words: "a UUID v" + string(s[14]) + cased}, true
	case n >= 6 && cased != inMixed && c.have(digit) && c.areOnly(digit|hexLetter):
		return form{class: classHex, words: "hexadecimal" + cased}, true
	case c.areOnly(letter|dash) && turnsOf(s) <= 3: // inProgress takes one
		if cased == inMixed {
			cased = inLower
		}
		return form{class: classWord, words: "a word" + cased}, true
	case c.areOnly(alphanumeric):
		return form{class: classToken, words: "letters and digits" + cased}, true
	case n >= 8 && n%4 == 0 && c.have(letter) && c.areOnly(tokenChar|base64Mark) && isBase64(s):
		return form{class: classToken, words: "letters and digits as base64"}, true
	case n >= 8 && c.areOnly(tokenChar) && prefixLen(s) == 0 && c.have(letter):
		return form{class: classToken, words: "letters and digits with dashes"}, true
	}
	return form{}, false
}

// isBase64 reports whether padding or a plus sign shows a text to be base64. With slashes alone it may
// be a path, and with an equals sign inside, a parameter.
func isBase64(s []byte) bool {
	bare := bytes.TrimRight(s, "=")
	return len(s)-len(bare) <= 2 && !bytes.Contains(bare, []byte("=")) && (len(bare) < len(s) || bytes.Contains(bare, []byte("+")))
}

// turnsOf counts the changes from lower to upper case. A word has few.
func turnsOf(s []byte) (n int) {
	for i := 1; i < len(s); i++ {
		if charOf(s[i]).have(upper) && charOf(s[i-1]).have(lower) {
			n++
		}
	}
	return n
}

// prefixLen is the length of the letters and the one mark that begin an id such as ord_8f3a or
// INV-000123; 0 where there are none.
func prefixLen(s []byte) int {
	i := 0
	for i < len(s) && charOf(s[i]).have(letter) {
		i++
	}
	if i < 2 || i+1 >= len(s) || bytes.IndexByte([]byte("_-:./"), s[i]) < 0 {
		return 0
	}
	return i + 1
}

// decimalWords name how many decimals a number has by value: 1.50 has one.
func decimalWords(number []byte) string {
	var buf [64]byte
	d := jsondoc.ParseDecimal(buf[:0], number)
	switch n := int64(len(d.Digits)) - d.Exp; {
	case n <= 0:
		return noDecimals
	case n <= 2:
		return " with one or two decimals"
	case n <= 6:
		return " with three to six decimals"
	}
	return " with seven or more decimals"
}

const noDecimals = " without decimals"

// textMost bounds what is kept of one text's shape.
const textMost = most * most // bytes

// Shape is a text without the parts that a service makes for each response: numbers with what belongs to
// them, ids, times. Services that make them the same way have the same shape, whatever their length.
//
//	/orders/17?state=8f3kq92x   /orders/#?state=#
//	max-age=60                  max-age=#
//	1,234 hits at 10:15         # hits at #
func Shape(text string) string {
	s := []byte(text[:min(len(text), most*textMost)])
	if f, _ := classify(s); f.class == classTime && strings.HasPrefix(f.words, "a time as ") {
		return f.String()
	}
	var shape []byte
	made := func() {
		switch n := len(shape); {
		case n > 0 && shape[n-1] == '#':
		case n > 1 && shape[n-2] == '#' && bytes.IndexByte([]byte(".,:-"), shape[n-1]) >= 0: // as within a number
			shape = shape[:n-1]
		default:
			shape = append(shape, '#')
		}
	}
	for run, belongs := range runs(s, tokenChar) {
		switch {
		case len(shape) >= textMost:
			return string(shape[:textMost])
		case !belongs:
			shape = append(shape, run...)
			continue
		case isMade(run):
			made()
			continue
		}
		for part := range runs(run, alphanumeric) {
			if bytes.ContainsAny(part, "0123456789") {
				made()
			} else {
				shape = append(shape, part...)
			}
		}
	}
	return string(shape[:min(len(shape), textMost)])
}

// isMade reports whether a run of letters, digits and dashes is an id as a whole. A run with a word in
// it is one only in parts: 7-tea is not, nor is 100017-tea, though as long as an id.
func isMade(run []byte) bool {
	switch classifyTimeless(run).class {
	case classUUID, classHex:
		return true
	case classToken:
		for part := range runs(run, alphanumeric) {
			if len(part) > 2 && len(part) < len(run) && charsOf(part).areOnly(lower) && turnsOf(run) <= 3 {
				return false
			}
		}
		return true
	}
	return len(run) >= 8 && charsOf(run).areOnly(hexLetter) || charsOf(run).have(digit) && turnsOf(run) > 3
}

// runs splits a text, in order, into the longest runs of bytes inside and outside of a kind. Bytes
// beyond ASCII belong inside.
func runs(text []byte, of chars) iter.Seq2[[]byte, bool] {
	is := func(b byte) bool { return b >= 0x80 || of.have(charOf(b)) }
	return func(yield func([]byte, bool) bool) {
		for start := 0; start < len(text); {
			end := start + 1
			for end < len(text) && is(text[end]) == is(text[start]) {
				end++
			}
			if !yield(text[start:end:end], is(text[start])) {
				return
			}
			start = end
		}
	}
}
