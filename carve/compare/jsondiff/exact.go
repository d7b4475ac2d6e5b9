// Package jsondiff compares two response bodies, as JSON or byte by byte: where they
// differ, how, and what stands there.
package jsondiff

import "whittle/carve/compare/digest"

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

// HowBytes is how two texts differ.
const HowBytes = "bytes"

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
