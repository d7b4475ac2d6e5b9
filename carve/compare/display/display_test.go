package display

import (
	"strings"
	"testing"

	"whittle/internal/fatal"
)

// TestWhatCannotBeSeenIsSpelt: two texts that look the same are shown differently.
func TestWhatCannotBeSeenIsSpelt(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc\r\n\x00\x7f": "a␉b␊c␍␊␀␡", "caf\u00e9": "café", "cafe\u0301": `cafe\u0301`, "a\u00a0b": `a\u00a0b`,
		"\ufeffa\u200b": `\ufeffa\u200b`, "m\xfcnchen": `m\xfcnchen`, " a  b ": "␠a␠␠b␠", "a b": "a b", `"a "`: `"a␠"`, "👍\U000e0001": `👍\U000e0001`, "x\u202ey": `x\u202ey`,
	} {
		fatal.Same(t, Visible([]byte(in), 100), want, "%q is shown as", in)
	}
	fatal.Same(t, Visible([]byte(strings.Repeat("ä", 50)), 9), "ääää…", "cut off")
	if got := Visible([]byte(strings.Repeat("\u200b", 5000)), 60); len(got) > 63 {
		t.Errorf("%d bytes", len(got))
	}
}
