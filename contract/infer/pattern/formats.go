package pattern

import (
	"net/mail"
	"strconv"
	"strings"
	"time"
)

// maxWordBytes bounds a word.
const maxWordBytes = 32

// IsWord says that a text could be one of a set of words: letters first, then
// letters, digits, _ and -.
func IsWord(t string) bool {
	if t == "" || len(t) > maxWordBytes {
		return false
	}
	for i := range len(t) {
		c := t[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// IsTime reports whether a text is a time of RFC 3339.
func IsTime(t string) bool {
	if len(t) < len("2006-01-02T15:04:05Z") || len(t) > 40 {
		return false
	}
	_, err := time.Parse(time.RFC3339Nano, t)
	return err == nil
}

// IsDate reports whether a text is a date, yyyy-mm-dd.
func IsDate(t string) bool {
	if len(t) != len(time.DateOnly) {
		return false
	}
	_, err := time.Parse(time.DateOnly, t)
	return err == nil
}

// IsUUID reports whether a text is a UUID.
func IsUUID(t string) bool {
	if len(t) != 36 {
		return false
	}
	for i := range len(t) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if t[i] != '-' {
				return false
			}
		} else if !isHex(t[i]) {
			return false
		}
	}
	return true
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isDigits(t string) bool { return t != "" && strings.Trim(t, "0123456789") == "" }

// IsInteger reports whether a text is digits, perhaps after a minus.
func IsInteger(t string) bool { return len(t) <= 40 && isDigits(strings.TrimPrefix(t, "-")) }

// IsEmail reports whether a text is an address and nothing else.
func IsEmail(t string) bool {
	if len(t) > 254 || !strings.Contains(t, "@") {
		return false
	}
	a, err := mail.ParseAddress(t)
	return err == nil && a.Address == t
}

// PlainInt reads an integer that would be written again in the same way: no
// leading zeros, no plus sign, not −0, within int64.
func PlainInt(t string) (int64, bool) {
	if t == "" || len(t) > 20 || !IsInteger(t) {
		return 0, false
	}
	i, err := strconv.ParseInt(t, 10, 64)
	return i, err == nil && strconv.FormatInt(i, 10) == t
}

// IsID reports whether a text looks made rather than chosen: digits, also in
// groups ("2026-03"), a UUID, hexadecimal with digits, a date, a word with a
// number ("order-1041"), or letters and digits in a long mix.
func IsID(t string) bool {
	switch {
	case t == "" || len(t) > 128:
		return false
	case IsInteger(t), IsUUID(t), IsDate(t), IsTime(t), IsEmail(t):
		return true
	}
	digits, letters, hex, other := 0, 0, 0, 0
	for i := range len(t) {
		c := t[i]
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters++
			if isHex(c) {
				hex++
			}
		case c == '-' || c == '_':
		default:
			other++
		}
	}
	switch {
	case other > 0 || digits == 0:
		return false
	case letters == 0:
		return true
	case letters == hex && digits+letters >= 8 && digits+letters == len(t):
		return true
	case digits >= 3 && len(t) >= 12:
		return true
	}
	i := strings.LastIndexAny(t, "-_")
	return i > 0 && len(t)-i > 2 && isDigits(t[i+1:]) && !strings.ContainsAny(t[:i], "0123456789")
}
