package jsondiff

import (
	"bytes"
	"fmt"

	"whittle/carve/compare/display"
)

const (
	spotShown = 2 * display.ValueShown // bytes of a value at the place that differs
	noValue   = "missing"
)

// Spot implements differ.
func (e *Exact) Spot(_ *Difference, monolith, candidate []byte) display.Spot {
	return TextSpot(e.Show, monolith, candidate)
}

// TextSpot is the first place at which two texts differ.
func TextSpot(show *display.View, monolith, candidate []byte) display.Spot {
	at := FirstDifference(monolith, candidate)
	line := 1 + bytes.Count(monolith[:at], []byte{'\n'})
	column := at - bytes.LastIndexByte(monolith[:at], '\n')
	s := display.Spot{Where: fmt.Sprintf("byte %d, line %d, column %d", at, line, column)}
	a, b, ok := show.Bodies(monolith, candidate)
	if !ok {
		return s
	}
	at = FirstDifference(a, b)
	x, y := WordsAt(a, b, at)
	s.From, s.To = spelt(x), spelt(y)
	return s
}

func spelt(b []byte) string {
	if len(b) == 0 {
		return noValue
	}
	return display.Visible(b, spotShown)
}

// windowAt shows the surroundings of a place.
func windowAt(b []byte, at int) string {
	low, high := max(0, at-spotShown/4), min(len(b), at+spotShown/4)
	s := display.Visible(b[low:high], spotShown)
	if low > 0 {
		s = "…" + s
	}
	if high < len(b) {
		s += "…"
	}
	return s
}

// WordsAt gives the words that stand where two texts first differ, or what else
// does where that is not a word on both sides.
func WordsAt(a, b []byte, at int) (x, y []byte) {
	low := at
	for low > 0 && at-low < spotShown && inWord(a[low-1]) {
		low--
	}
	endA, endB := runEnd(a, at, true), runEnd(b, at, true)
	const few = 12
	switch {
	case endA == at && endB == at: // what stands between words
		return a[low:runEnd(a, at, false)], b[low:runEnd(b, at, false)]
	case low == at && (endA == at || endB == at):
		return a[at:min(len(a), at+few)], b[at:min(len(b), at+few)]
	}
	return a[low:endA], b[low:endB]
}

// runEnd is where the run of bytes ends that are in words, or are not.
func runEnd(b []byte, i int, words bool) int {
	for end := min(len(b), i+spotShown); i < end && inWord(b[i]) == words; i++ {
	}
	return i
}

// inWord reports whether a byte belongs to a word, a number, a time or an escape
// such as &amp;.
func inWord(c byte) bool {
	switch {
	case c >= 0x80, c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return true
	}
	return bytes.IndexByte([]byte("._:+-%&;#$@~\\"), c) >= 0
}
