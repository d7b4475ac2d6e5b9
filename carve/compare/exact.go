package compare

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	valueShown  = 64  // bytes of a value in a finding
	bodyShown   = 200 // bytes of a body in a sample
	windowShown = 24  // bytes before and after the first differing one
)

// difference is one way in which two bodies differ.
type difference struct {
	// path is the place as a pattern, array indices and ids as wildcards; empty: the whole.
	path string
	// how is what differs there: howValue, howMissing...
	how string
	// from and to are the monolith's and the candidate's side, bounded.
	from, to string
	// at says where the first difference is, in words; empty: the path does.
	at string
	// nodes and parents are the values in the two documents, valid until the next
	// comparison (jsonDiffer).
	nodes, parents [2]int32
	// expect is the index of the expectation that declares it, -1 for none.
	expect int
}

// differ lists how two bodies differ, an empty list for bodies that are the
// same. The list is valid until the next call.
type differ interface {
	diff(monolith, candidate []byte) []difference
	// spot is the place of one of the differences that diff has just given of the
	// two bodies.
	spot(d *difference, monolith, candidate []byte) spot
	// causes are the keys of what makes the candidate's value of the monolith's
	// there (cause.go).
	causes(d *difference, monolith, candidate []byte) []string
	// values are what stands there, nil where nothing does.
	values(d *difference, monolith, candidate []byte) (from, to []byte)
}

const howBytes = "bytes"

// exact compares byte by byte.
type exact struct {
	expect expectations
	show   *display
	out    [1]difference
}

func (e *exact) diff(monolith, candidate []byte) []difference {
	if bytes.Equal(monolith, candidate) {
		return nil
	}
	at := firstDifference(monolith, candidate)
	line := 1 + bytes.Count(monolith[:at], []byte{'\n'})
	d := difference{
		how: howBytes, from: windowAt(monolith, at), to: windowAt(candidate, at),
		at: fmt.Sprintf("first at byte %d (line %d), %d against %d bytes", at, line, len(monolith), len(candidate)),
	}
	d.expect = e.expect.find(nil, &d, monolith, candidate)
	d.from, d.to = e.windows(monolith, candidate)
	e.out[0] = d
	return e.out[:]
}

// windows shows the two sides where they first differ, without what is secret.
func (e *exact) windows(monolith, candidate []byte) (from, to string) {
	a, b, ok := e.show.bodies(monolith, candidate)
	if !ok {
		return fmt.Sprintf("%d bytes", len(monolith)), fmt.Sprintf("%d bytes", len(candidate))
	}
	at := firstDifference(a, b)
	return windowAt(a, at), windowAt(b, at)
}

// firstDifference is the length of the common prefix.
func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// windowAt shows the surroundings of a place.
func windowAt(b []byte, at int) string {
	low, high := max(0, at-windowShown), min(len(b), at+windowShown)
	s := visible(b[low:high], 4*windowShown)
	if low > 0 {
		s = "…" + s
	}
	if high < len(b) {
		s += "…"
	}
	return s
}

// snippet makes bytes fit to be shown: bounded, valid UTF-8, no control
// characters.
func snippet(b []byte, most int) string {
	cut := len(b) > most
	if cut {
		b = b[:most]
		for i := 0; i < utf8.UTFMax && len(b) > 0 && !utf8.Valid(b[max(0, len(b)-utf8.UTFMax):]); i++ {
			b = b[:len(b)-1]
		}
	}
	s := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, string(b))
	if cut {
		s += "…"
	}
	return s
}
