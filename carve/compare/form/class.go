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

// classNames are the names as a config writes them; those without one cannot be
// declared.
var classNames = [classes]string{
	classInteger: "integer", classDecimal: "decimal", classUUID: "uuid", classTime: "time", classJWT: "jwt",
	classULID: "ulid", classDigits: "digits", classHex: "hex", classWord: "word", classToken: "token",
	classBase64URL: "base64url", classBase64: "base64", classNumeral: "numeral", classEmail: "email",
	classAddress: "ip", classURL: "url", classText: "text",
}

var classWords = [classes]string{
	classNull: "null", classBool: "true or false", classInteger: "an integer", classDecimal: "a number", classArray: "an array",
	classObject: "an object", classEmpty: "an empty string", classUUID: "a UUID", classTime: "a time", classJWT: "a JWT",
	classULID: "a ULID", classDigits: "digits", classHex: "hexadecimal", classWord: "a word", classToken: "letters and digits",
	classBase64URL: "base64url", classBase64: "base64", classNumeral: "a number in a string", classEmail: "an e-mail address",
	classAddress: "an IP address", classURL: "a URL", classText: "text",
}

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

// decimals that are distinguished: none, one or two, up to six, more.
var decimalWords = [...]string{" without decimals", " with one or two decimals", " with three to six decimals", " with seven or more decimals"}

func decimalClass(n int) uint8 {
	switch {
	case n <= 0:
		return 0
	case n <= 2:
		return 1
	case n <= 6:
		return 2
	}
	return 3
}

// SameID reports whether two texts are ids of the same form.
func SameID(a, b []byte) bool {
	f := classify(a)
	switch f.class {
	case classUUID, classULID, classHex, classToken, classBase64, classBase64URL:
		return f == classify(b)
	}
	return false
}

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
