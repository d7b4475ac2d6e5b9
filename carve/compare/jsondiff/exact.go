// Package jsondiff compares two response bodies, as JSON or byte by byte: where they
// differ, how, and what stands there.
package jsondiff

import (
	"bytes"
	"fmt"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
)

// Difference is one way in which two bodies differ.
type Difference struct {
	// Path is the place as a pattern, array indices and ids as wildcards; empty: the whole.
	Path string
	// How is what differs there: HowValue, HowMissing...
	How string
	// From and to are the monolith's and the candidate's side, bounded.
	From, To string
	// Times is at how many places of the pattern. Numbers are the values at the first of
	// them where they are numbers, or texts that are.
	Times   int
	Numbers [2]float64
	// At says where the first difference is, in words; empty: the path does.
	At string
	// nodes are the values in the two documents, valid until the next comparison (JSON).
	nodes [2]uint32
	// Expect is the index of the expectation that declares it, -1 for none.
	Expect int
}

// Hash distinguishes what stands on the two sides.
func (d *Difference) Hash() uint32 {
	var h digest.Hash
	h.Text(d.From)
	h.Byte(0)
	h.Text(d.To)
	return uint32(h) | 1
}

// Differ lists how two bodies differ, an empty list for bodies that are the
// same. The list is valid until the next call.
type Differ interface {
	Diff(monolith, candidate []byte) []Difference
	// Spot is the place of one of the differences that diff has just given of the
	// two bodies.
	Spot(d *Difference, monolith, candidate []byte) display.Spot
	// Sides are where it is in the two documents; ok is false where the bodies are
	// compared as whole texts.
	Sides(d *Difference) (from, to Side, ok bool)
	// Values are what stands there, nil where nothing does.
	Values(d *Difference, monolith, candidate []byte) (from, to []byte)
}

// HowBytes is how two texts differ.
const HowBytes = "bytes"

// Exact compares byte by byte.
type Exact struct {
	Expect Expectations
	Show   *display.View
	out    [1]Difference
}

// Diff implements Differ: one difference, at the first differing byte.
func (e *Exact) Diff(monolith, candidate []byte) []Difference {
	if bytes.Equal(monolith, candidate) {
		return nil
	}
	at := FirstDifference(monolith, candidate)
	d := Difference{How: HowBytes, Times: 1, From: windowAt(monolith, at), To: windowAt(candidate, at)}
	d.Expect = e.Expect.find(nil, &d, monolith, candidate)
	s := TextSpot(e.Show, monolith, candidate)
	d.At = fmt.Sprintf("first at %s, %d against %d bytes", s.Where, len(monolith), len(candidate))
	d.From, d.To = textWords(s, monolith, candidate)
	e.out[0] = d
	return e.out[:]
}

// FirstDifference is the length of the common prefix.
func FirstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Sides implements differ: bytes have no places.
func (e *Exact) Sides(*Difference) (from, to Side, ok bool) { return from, to, false }

// Values implements differ.
func (e *Exact) Values(_ *Difference, monolith, candidate []byte) (from, to []byte) {
	return monolith, candidate
}
