package jsondiff

import (
	"bytes"
	"cmp"
	"fmt"

	"whittle/carve/compare/display"
)

const noValue = "missing"

// textSpot is the first place at which two texts differ.
func textSpot(show *display.View, monolith, candidate []byte) display.Spot {
	at := firstDifference(monolith, candidate)
	line := 1 + bytes.Count(monolith[:at], []byte{'\n'})
	column := at - bytes.LastIndexByte(monolith[:at], '\n')
	s := display.Spot{Where: fmt.Sprintf("byte %d, line %d, column %d", at, line, column)}
	a, b, ok := show.Bodies(monolith, candidate)
	if !ok {
		return s
	}
	at = firstDifference(a, b)
	s.From, s.To = windowAt(a, at), windowAt(b, at)
	return s
}

// textWords are the two sides of a spot, or their lengths where what differs is not to be shown.
func textWords(s display.Spot, monolith, candidate []byte) (from, to string) {
	if s.From != s.To {
		return cmp.Or(s.From, "empty"), cmp.Or(s.To, "empty")
	}
	return fmt.Sprintf("%d bytes", len(monolith)), fmt.Sprintf("%d bytes", len(candidate))
}

// windowAt shows the surroundings of a place.
func windowAt(b []byte, at int) string {
	low, high := max(0, at-display.ValueShown/2), min(len(b), at+display.ValueShown/2)
	s := display.Visible(b[low:high], display.BodyShown)
	if low > 0 {
		s = "…" + s
	}
	if high < len(b) {
		s += "…"
	}
	return s
}
