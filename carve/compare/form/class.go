package form

import (
	"encoding/binary"
	"fmt"
	"slices"

	"whittle/carve/compare/digest"
)

// formClass is the kind of text or number that a value is.
type formClass uint8

// The classes. Of two that fit, the first one that classify tries is taken, so a
// value has one class whatever else it could be.
const (
	classNull formClass = iota
	classBool
	classInteger
	classDecimal
	classArray
	classObject
	classEmpty
	classUUID
	classTime
	classJWT
	classULID
	classDigits
	classHex
	classWord
	classToken
	classBase64URL
	classBase64
	classNumeral // a decimal number in a string
	classEmail
	classAddress
	classURL
	classText
	classes
)

// classNames are the names as a config writes them, those without one cannot be declared, and
// classWords those of a sentence.
var classNames, classWords = func() (names, words [classes]string) {
	for c, n := range [classes][2]string{
		classNull: {"", "null"}, classBool: {"", "true or false"}, classArray: {"", "an array"}, classObject: {"", "an object"},
		classEmpty: {"", "an empty string"}, classInteger: {"integer", "an integer"}, classDecimal: {"decimal", "a number"},
		classUUID: {"uuid", "a UUID"}, classTime: {"time", "a time"}, classJWT: {"jwt", "a JWT"}, classULID: {"ulid", "a ULID"},
		classDigits: {"digits", "digits"}, classHex: {"hex", "hexadecimal"}, classWord: {"word", "a word"},
		classToken: {"token", "letters and digits"}, classBase64URL: {"base64url", "base64url"}, classBase64: {"base64", "base64"},
		classNumeral: {"numeral", "a number in a string"}, classEmail: {"email", "an e-mail address"},
		classAddress: {"ip", "an IP address"}, classURL: {"url", "a URL"}, classText: {"text", "text"},
	} {
		names[c], words[c] = n[0], n[1]
	}
	return names, words
}()

// form is the format of one value, without the value. Two forms are the same if
// they are equal.
type form struct {
	class formClass
	// letters is which case the letters have, where that is part of the format.
	letters letterCase
	// detail is the version of a UUID, how many decimals a number has, or how a time
	// is written.
	detail uint8
	// zone is the offset of a time in minutes.
	zone int16
	// prefix is a hash of what stands before an id, such as ord_; 0: nothing.
	prefix uint32
}

type letterCase uint8

const (
	noLetters letterCase = iota
	lowerCase
	upperCase
	mixedCase
)

var caseWords = [...]string{"", " in lower case", " in upper case", " in mixed case"}

// code is a number that distinguishes forms.
func (f form) code() uint64 {
	var b [10]byte
	b[0], b[1], b[2] = byte(f.class), byte(f.letters), f.detail
	binary.LittleEndian.PutUint16(b[3:], uint16(f.zone))
	binary.LittleEndian.PutUint32(b[5:], f.prefix)
	return digest.Stir(digest.FNV(b[:]))
}

// String names the form in a sentence.
func (f form) String() string {
	var s string
	switch f.class {
	case classUUID:
		s = fmt.Sprintf("a UUID v%d%s", f.detail, f.upper())
		if f.detail == 0 {
			s = "the UUID of zeros"
		}
	case classTime:
		s = "a time as " + f.timeWords()
	case classDecimal, classNumeral:
		s = classWords[f.class] + decimalWords[min(int(f.detail), len(decimalWords)-1)]
	case classHex, classWord:
		s = classWords[f.class] + f.upper()
	case classULID:
		s = classWords[f.class]
		if f.letters == lowerCase {
			s += " in lower case"
		}
	case classToken:
		s = [...]string{"letters and digits", "lower-case letters and digits", "capitals and digits", "letters and digits"}[f.letters]
	default:
		s = classWords[f.class]
	}
	if f.prefix != 0 {
		s = "a prefixed id (" + s + ")"
	}
	return s
}

// upper names the less usual case.
func (f form) upper() string {
	if f.letters == upperCase || f.letters == mixedCase {
		return caseWords[f.letters]
	}
	return ""
}

var decimalWords = [...]string{" without decimals", " with one or two decimals", " with three to six decimals", " with seven or more decimals"}

// classNamed finds a class by the name that a config gives it.
func classNamed(name string) (formClass, bool) {
	c := slices.Index(classNames[:], name)
	return formClass(max(c, 0)), c >= 0 && name != ""
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
