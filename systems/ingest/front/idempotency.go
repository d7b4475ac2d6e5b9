package front

import (
	"strings"
	"unicode/utf8"

	"whittle/systems/ingest/stream"
)

// An event's id may be any text, and a header's value may not. One of visible
// ASCII stands in Idempotency-Key as it is; any other is written as a Display
// String of RFC 9651 (section 3.3.8): UTF-8 between %" and ", with a percent
// sign and two lower-case hexadecimal digits for each byte that is not printable
// ASCII, for a percent sign, and for a quotation mark. What begins as one is
// one, so an id that does is written so as well.
const (
	displayBegins = `%"`
	displayEnds   = `"`
	// maxDisplay is the longest: each byte of the id may be three.
	maxDisplay = len(displayBegins) + 3*stream.MaxID + len(displayEnds)
)

// IdempotencyKey writes an id so that Idempotency-Key gives the event the same
// one. What is not UTF-8 is written too, and is refused.
func IdempotencyKey(id string) string {
	if plain(id, stream.MaxID) && !strings.HasPrefix(id, displayBegins) {
		return id
	}
	const digits = "0123456789abcdef"
	b := append(make([]byte, 0, len(id)+8), displayBegins...)
	for i := range len(id) {
		if c := id[i]; c < ' ' || c > '~' || c == '%' || c == '"' {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(append(b, displayEnds...))
}

// idOf reads what IdempotencyKey wrote; ok is false when it is no id of 1 to
// stream.MaxID bytes.
func idOf(key string) (id string, ok bool) {
	coded, is := strings.CutPrefix(key, displayBegins)
	if !is {
		return key, plain(key, stream.MaxID)
	}
	coded, is = strings.CutSuffix(coded, displayEnds)
	if !is || len(key) > maxDisplay {
		return "", false
	}
	b := make([]byte, 0, len(coded))
	for i := 0; i < len(coded); i++ {
		c := coded[i]
		switch {
		case c < ' ' || c > '~' || c == '"':
			return "", false
		case c == '%':
			if len(coded)-i < 3 {
				return "", false
			}
			high, low := digit(coded[i+1]), digit(coded[i+2])
			if high > 15 || low > 15 {
				return "", false
			}
			c = high<<4 | low
			i += 2
		}
		b = append(b, c)
	}
	return string(b), len(b) > 0 && len(b) <= stream.MaxID && utf8.Valid(b)
}

// digit is a lower-case hexadecimal digit's value, or more than 15.
func digit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 16
}
