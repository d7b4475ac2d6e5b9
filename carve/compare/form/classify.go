package form

import (
	"bytes"
	"strconv"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondoc"
)

// maxPrefix bounds what counts as the prefix of an id.
const maxPrefix = 16

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
	if f, ok := decimalForm(s); ok {
		return f
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

// chars counts which characters a text is made of.
type chars struct {
	digits, lower, upper int
	hexLower, hexUpper   int
	dash, under          int
	plus, slash, pad     int
	dots, others         int
}

func charsOf(s []byte) (c chars) {
	for _, b := range s {
		switch {
		case b >= '0' && b <= '9':
			c.digits++
		case b >= 'a' && b <= 'z':
			c.lower++
			c.hexLower += int(eprocess.Indicator(b <= 'f'))
		case b >= 'A' && b <= 'Z':
			c.upper++
			c.hexUpper += int(eprocess.Indicator(b <= 'F'))
		case b == '-':
			c.dash++
		case b == '_':
			c.under++
		case b == '+':
			c.plus++
		case b == '/':
			c.slash++
		case b == '=':
			c.pad++
		case b == '.':
			c.dots++
		default:
			c.others++
		}
	}
	return c
}

func (c chars) letters() int { return c.lower + c.upper }

func (c chars) letterCase() letterCase {
	switch {
	case c.letters() == 0:
		return noLetters
	case c.upper == 0:
		return lowerCase
	case c.lower == 0:
		return upperCase
	}
	return mixedCase
}

// idForm is the form of a text without any punctuation but that of ids.
func idForm(s []byte, c chars) (form, bool) {
	n := len(s)
	switch {
	case c.digits == n:
		return form{class: classDigits}, true
	case n == 26 && c.digits+c.letters() == n && c.letterCase() != mixedCase && isULID(s):
		return form{class: classULID, letters: c.letterCase()}, true
	case n >= 6 && c.digits > 0 && c.digits+c.hexLower+c.hexUpper == n && c.letterCase() != mixedCase:
		return form{class: classHex, letters: c.letterCase()}, true
	case c.digits == 0 && c.letters()+c.dash+c.under == n && n <= 40 && turnsOf(s) <= 3:
		return form{class: classWord, letters: wordCase(c)}, true
	case c.digits+c.letters() == n:
		return form{class: classToken, letters: c.letterCase()}, true
	case n >= 8 && c.plus+c.slash+c.pad > 0 && n%4 == 0 && c.dash+c.under+c.dots+c.others == 0 && c.pad <= 2:
		return form{class: classBase64}, true
	case n >= 8 && c.letters() > 0 && c.digits+c.letters()+c.dash+c.under == n && prefixLen(s) == 0:
		return form{class: classBase64URL}, true
	}
	return form{}, false
}

// wordCase distinguishes words in capitals from all others.
func wordCase(c chars) letterCase {
	if c.lower == 0 {
		return upperCase
	}
	return lowerCase
}

// turnsOf counts the changes from lower to upper case, of which a word has few.
func turnsOf(s []byte) int {
	n := 0
	for i := 1; i < len(s); i++ {
		n += int(eprocess.Indicator(s[i] >= 'A' && s[i] <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z'))
	}
	return n
}

// prefixLen is the length of the letters and the one mark that begin an id such as
// ord_8f3a or INV-000123; 0: there are none.
func prefixLen(s []byte) int {
	i := 0
	for i < len(s) && (s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z') {
		i++
	}
	if i < 2 || i > maxPrefix || i+1 >= len(s) {
		return 0
	}
	switch s[i] {
	case '_', '-', ':', '.', '/':
		return i + 1
	}
	return 0
}

// uuidForm reads 8-4-4-4-12 hexadecimal digits.
func uuidForm(s []byte) (form, bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return form{}, false
	}
	c := charsOf(s)
	if c.dash != 4 || c.digits+c.hexLower+c.hexUpper != 32 {
		return form{}, false
	}
	version, _ := strconv.ParseUint(string(s[14:15]), 16, 8) // one of those digits
	return form{class: classUUID, detail: uint8(version), letters: c.letterCase()}, true
}

// isULID reports whether 26 characters are Crockford's base 32 and fit 128 bits.
func isULID(s []byte) bool {
	return s[0] >= '0' && s[0] <= '7' && !bytes.ContainsAny(s, "ILOUilou")
}

// decimalForm reads a number with decimals.
func decimalForm(s []byte) (form, bool) {
	if !jsondoc.IsNumber(s) {
		return form{}, false
	}
	return form{class: classNumeral, detail: decimalClass(decimalsOf(s))}, true
}

// decimalsOf is how many decimals a number has by its value: 1.50 has one.
func decimalsOf(number []byte) int {
	var buf [64]byte
	d := jsondoc.ParseDecimal(buf[:0], number)
	return int(max(0, min(64, int64(len(d.Digits))-d.Exp)))
}

// otherForm is the form of a text with other characters in it.
func otherForm(s []byte, c chars) form {
	switch {
	case bytes.HasPrefix(s, []byte("http://")), bytes.HasPrefix(s, []byte("https://")):
		return form{class: classURL}
	case c.dots == 2 && bytes.HasPrefix(s, []byte("eyJ")) && c.digits+c.letters()+c.dash+c.under+2 == len(s):
		return form{class: classJWT}
	case c.dots == 3 && c.digits+3 == len(s) && len(s) <= 15:
		return form{class: classAddress}
	case isEmail(s):
		return form{class: classEmail}
	}
	return form{class: classText}
}

func isEmail(s []byte) bool {
	at := bytes.IndexByte(s, '@')
	return at > 0 && at < len(s)-3 && bytes.IndexByte(s[at+1:], '.') > 0 && !bytes.ContainsAny(s, " \t\n<>()") && bytes.Count(s, []byte("@")) == 1
}

// numberForm is the form of a JSON number.
func numberForm(s []byte) form {
	if _, f, ok := epochTime(s); ok {
		return f
	}
	n := decimalsOf(s)
	if n == 0 {
		return form{class: classInteger}
	}
	return form{class: classDecimal, detail: decimalClass(n)}
}
