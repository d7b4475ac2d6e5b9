package form

import (
	"bytes"
	"strconv"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
)

const (
	prefixMost = 16 // letters of what counts as the prefix of an id
	wordMost   = 40 // bytes of a word
	turnsMost  = 3  // changes of a word from lower to upper case
)

// chars are the kinds of characters that a text is made of.
type chars uint16

const (
	charDigit chars = 1 << iota
	charLowerHex
	charLower
	charUpperHex
	charUpper
	charDash // and underscore
	charBase // plus, slash and the padding of base64
	charDot
	charOther

	charsLower  = charLowerHex | charLower
	charsUpper  = charUpperHex | charUpper
	charsLetter = charsLower | charsUpper
	charsToken  = charDigit | charsLetter
)

// kindOfChar is the kind of each byte.
var kindOfChar = func() (t [256]chars) {
	for b := range t {
		t[b] = charOther
	}
	for kind, list := range map[chars]string{
		charDigit: "0123456789", charLowerHex: "abcdef", charLower: "ghijklmnopqrstuvwxyz", charUpperHex: "ABCDEF",
		charUpper: "GHIJKLMNOPQRSTUVWXYZ", charDash: "-_", charBase: "+/=", charDot: ".",
	} {
		for _, b := range []byte(list) {
			t[b] = kind
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

func (c chars) letterCase() letterCase {
	switch {
	case c&charsLetter == 0:
		return noLetters
	case c&charsUpper == 0:
		return lowerCase
	case c&charsLower == 0:
		return upperCase
	}
	return mixedCase
}

// classify finds the form of a string.
func classify(s []byte) form {
	if len(s) == 0 {
		return form{class: classEmpty}
	}
	if f, ok := uuidForm(s); ok {
		return f
	}
	if _, f, ok := readTime(s); ok {
		return f
	}
	c := charsOf(s)
	if f, ok := idForm(s, c); ok {
		return f
	}
	if jsondoc.IsNumber(s) {
		return form{class: classNumeral, detail: decimalClass(decimalsOf(s))}
	}
	if i := prefixLen(s); i > 0 {
		rest := s[i:]
		f, ok := uuidForm(rest)
		if !ok {
			f, ok = idForm(rest, charsOf(rest))
		}
		if ok && f.class != classWord {
			f.prefix = uint32(digest.FNV(s[:i])) | 1
			return f
		}
	}
	return otherForm(s, c)
}

// idForm is the form of a text without any punctuation but that of ids.
func idForm(s []byte, c chars) (form, bool) {
	n, letters := len(s), c.letterCase()
	switch {
	case c.only(charDigit):
		return form{class: classDigits}, true
	case n == 26 && c.only(charsToken) && letters != mixedCase && s[0] >= '0' && s[0] <= '7' && !bytes.ContainsAny(s, "ILOUilou"):
		return form{class: classULID, letters: letters}, true // Crockford's base 32, of 128 bits
	case n >= 6 && c&charDigit > 0 && c.only(charDigit|charLowerHex|charUpperHex) && letters != mixedCase:
		return form{class: classHex, letters: letters}, true
	case c.only(charsLetter|charDash) && n <= wordMost && turnsOf(s) <= turnsMost:
		if letters == upperCase || letters == noLetters {
			return form{class: classWord, letters: upperCase}, true
		}
		return form{class: classWord, letters: lowerCase}, true
	case c.only(charsToken):
		return form{class: classToken, letters: letters}, true
	case n >= 8 && n%4 == 0 && c&charBase > 0 && c.only(charsToken|charBase) && bytes.Count(s, []byte("=")) <= 2:
		return form{class: classBase64}, true
	case n >= 8 && c&charsLetter > 0 && c.only(charsToken|charDash) && prefixLen(s) == 0:
		return form{class: classBase64URL}, true
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
	i := 0
	for i < len(s) && kindOfChar[s[i]]&charsLetter > 0 {
		i++
	}
	if i < 2 || i > prefixMost || i+1 >= len(s) || bytes.IndexByte([]byte("_-:./"), s[i]) < 0 {
		return 0
	}
	return i + 1
}

// uuidForm reads 8-4-4-4-12 hexadecimal digits.
func uuidForm(s []byte) (form, bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' || bytes.Count(s, []byte("-")) != 4 {
		return form{}, false
	}
	c := charsOf(s)
	version, err := strconv.ParseUint(string(s[14:15]), 16, 8)
	return form{class: classUUID, detail: uint8(version), letters: c.letterCase()}, err == nil && c.only(charDigit|charLowerHex|charUpperHex|charDash)
}

// decimalsOf is how many decimals a number has by its value: 1.50 has one.
func decimalsOf(number []byte) int {
	var buf [64]byte
	d := jsondoc.ParseDecimal(buf[:0], number)
	return int(max(0, min(64, int64(len(d.Digits))-d.Exp)))
}

// decimalClass is the class of none, of one or two, of up to six, and of more decimals.
func decimalClass(n int) uint8 {
	return []uint8{0, 1, 1, 2, 2, 2, 2, 3}[max(0, min(n, 7))]
}

// otherForm is the form of a text with other characters in it.
func otherForm(s []byte, c chars) form {
	dots := bytes.Count(s, []byte("."))
	switch at := bytes.IndexByte(s, '@'); {
	case bytes.HasPrefix(s, []byte("http://")), bytes.HasPrefix(s, []byte("https://")):
		return form{class: classURL}
	case dots == 2 && bytes.HasPrefix(s, []byte("eyJ")) && c.only(charsToken|charDash|charDot):
		return form{class: classJWT}
	case dots == 3 && c.only(charDigit|charDot) && len(s) <= len("255.255.255.255"):
		return form{class: classAddress}
	case at > 0 && at < len(s)-3 && bytes.IndexByte(s[at+1:], '.') > 0 && !bytes.ContainsAny(s, " \t\n<>()") && bytes.Count(s, []byte("@")) == 1:
		return form{class: classEmail}
	}
	return form{class: classText}
}

// numberForm is the form of a JSON number.
func numberForm(s []byte) form {
	if _, f, ok := epochTime(s); ok {
		return f
	}
	if n := decimalsOf(s); n > 0 {
		return form{class: classDecimal, detail: decimalClass(n)}
	}
	return form{class: classInteger}
}
