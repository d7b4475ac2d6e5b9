package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible makes bytes fit to be shown where it matters which they are: at most
// most bytes and a sign that there are more. Two texts that differ in what cannot
// be seen are shown differently: control characters are ␊ and the like, bytes that
// are no UTF-8 \xe4, spaces at an end or next to each other ␠, and other spaces,
// marks without a width of their own and accents that stand apart from their
// letter \u00a0, \u200b, \u0301.
func Visible(b []byte, most int) string {
	var out strings.Builder
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		word := visibleRune(b, i, r, n)
		if out.Len()+len(word) > most {
			return out.String() + "…"
		}
		out.WriteString(word)
		i += n
	}
	return out.String()
}

func visibleRune(b []byte, i int, r rune, n int) string {
	switch {
	case r == utf8.RuneError && n == 1:
		return fmt.Sprintf(`\x%02x`, b[i])
	case r == ' ':
		if lonely(b, i-1, 0) || lonely(b, i+1, len(b)-1) {
			return "␠"
		}
		return " "
	case r < ' ':
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	case r >= 0x300 && r < 0x370, !unicode.IsPrint(r):
		if r > 0xffff {
			return fmt.Sprintf(`\U%08x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(b[i : i+n])
}

// lonely reports whether a space next to position i could be overlooked: at the
// text's end, next to another space or a control character, or inside a quote that
// is at the end.
func lonely(b []byte, i, end int) bool {
	return i < 0 || i >= len(b) || b[i] <= ' ' || (b[i] == '"' && i == end)
}
