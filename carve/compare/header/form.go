package header

import (
	"strings"
	"time"
)

// formMost bounds how much of a value has a form, and idLeast is how long an id is at least.
const (
	formMost = 4 << 10
	idLeast  = 8
)

// alike reports whether two values have one form. An id of hexadecimal digits that happens to
// have no letter, or no figure, is one.
func alike(from, to, a, b string) bool {
	return a == b || formAs(from, true) == formAs(to, true)
}

// formOf is a header's value without the parts that a service makes for each response:
// numbers (with a unit of time or size), ids, dates. Services that make them in the
// same way have the same form.
//
//	/orders/17?state=8f3kq92x   /orders/9?state=~
//	max-age=60                  max-age=9
//	Thu, 01 Dec 1994 16:00:00 GMT   (a date)
func formOf(value string) string { return formAs(value, false) }

// formAs is formOf; lax distinguishes what may be an id of hexadecimal digits.
func formAs(value string, lax bool) string {
	value = value[:min(len(value), formMost)]
	if isDate(value) {
		return "(a date)"
	}
	form := make([]byte, 0, len(value))
	for i := 0; i < len(value); {
		end := i
		for end < len(value) && wordBytes[value[end]] {
			end++
		}
		if end == i {
			form = append(form, value[i])
			i++
			continue
		}
		if lax && isHex(value[i:end]) {
			form = append(form, '#')
		} else {
			form = appendRun(form, value[i:end])
		}
		i = end
	}
	return joinFractions(string(form))
}

// isHex reports whether a run may be an id of hexadecimal digits.
func isHex(run string) bool {
	return len(run) >= idLeast && strings.Trim(run, "0123456789abcdefABCDEF-") == ""
}

// isDate reports whether a value is a date as HTTP has them.
func isDate(value string) bool {
	if len(value) < 19 || len(value) > 40 || !strings.HasSuffix(value, "GMT") {
		return false
	}
	_, err := time.Parse(time.RFC1123, value)
	if err != nil {
		_, err = time.Parse("Monday, 02-Jan-06 15:04:05 MST", value)
	}
	return err == nil
}

// wordBytes are those of runs.
var wordBytes = func() (is [256]bool) {
	for c := range is {
		b := byte(c)
		is[c] = b == '-' || b == '_' || isASCIILetter(b) || isDecimal(b)
	}
	return is
}()

func isASCIILetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// appendRun appends the form of a run of letters, digits, - and _. One of eight bytes
// and more in which a part mixes letters and digits, or upper and lower case as no
// word does, is an id.
func appendRun(form []byte, run string) []byte {
	if len(run) >= idLeast {
		for part := range strings.FieldsFuncSeq(run, func(r rune) bool { return r == '-' || r == '_' }) {
			if mixed(part) {
				return append(form, '~')
			}
		}
	}
	for i := 0; i < len(run); {
		end := i
		for end < len(run) && isDecimal(run[end]) {
			end++
		}
		if end == i {
			form = append(form, run[i])
			i++
			continue
		}
		form = append(form, '9')
		i = end
		for _, unit := range []string{"ns", "us", "ms", "s", "kB", "KB", "MB", "KiB", "MiB", "B"} {
			if run[i:] == unit {
				return form
			}
		}
	}
	return form
}

// mixed reports whether a part of a run looks made: letters with digits, or capitals
// after small letters more than once.
func mixed(part string) bool {
	letters, digits, turns := 0, 0, 0
	for i := range len(part) {
		switch c := part[i]; {
		case isDecimal(c):
			digits++
		default:
			letters++
			if i > 0 && c <= 'Z' && part[i-1] >= 'a' {
				turns++
			}
		}
	}
	return letters > 0 && digits > 0 && len(part) >= 4 || turns > 2 && len(part) >= 12
}

// joinFractions makes one number of those with a fraction.
func joinFractions(form string) string { return strings.ReplaceAll(form, "9.9", "9") }

func isDecimal(c byte) bool { return c >= '0' && c <= '9' }
