package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible writes bytes so that different texts look different: at most most bytes, and
// a sign if there are more. Control characters become ␊ and the like, bytes that are
// no UTF-8 \xe4, spaces at an end or next to each other ␠. Other spaces, marks without
// a width and accents apart from their letter become \u00a0, \u200b, \u0301.
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
