// Package novelty counts the shapes of requests: which have been compared, and which
// share of the requests has an unseen shape.
package novelty

import (
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"

	"whittle"
	"whittle/carve/compare/digest"
)

const (
	// shapesMost bounds how many shapes of request are remembered.
	shapesMost = 2048
	// shapeBytes bounds how much of a body makes its shape.
	shapeBytes = 4 << 10
)

// Estimate estimates which share of the requests has a shape that has not been
// seen: the share of shapes seen exactly once among all requests (Good 1953,
// after Turing). When more shapes come than it may remember, it keeps those
// whose hash ends in so many zeros (adaptive sampling, Wegman; Flajolet 1990),
// and scales the count up.
type Estimate struct {
	n     int
	level int             // how many zeros a remembered hash ends in
	seen  map[uint64]bool // true: more than once
	once  int
}

// New is an estimate before the first request.
func New() Estimate { return Estimate{seen: map[uint64]bool{}} }

// See takes the shape of a request.
func (v *Estimate) See(shape uint64) {
	v.n++
	if bits.TrailingZeros64(shape) < v.level {
		return
	}
	again, known := v.seen[shape]
	switch {
	case !known:
		v.seen[shape] = false
		v.once++
	case !again:
		v.seen[shape] = true
		v.once--
	}
	for len(v.seen) > shapesMost {
		v.thin()
	}
}

func (v *Estimate) thin() {
	v.level++
	for h, again := range v.seen {
		if bits.TrailingZeros64(h) < v.level {
			delete(v.seen, h)
			if !again {
				v.once--
			}
		}
	}
}

// Share is the estimate, 0 to 1; 1 before anything has been seen.
func (v *Estimate) Share() float64 {
	if v.n == 0 {
		return 1
	}
	return min(1, float64(v.once)*float64(uint64(1)<<v.level)/float64(v.n))
}

// remembered is a shape as it is kept.
type remembered struct {
	Shape uint64
	Again bool
}

// Pack writes the memory.
func (v *Estimate) Pack() []byte {
	var list []remembered
	for _, h := range slices.Sorted(maps.Keys(v.seen)) {
		list = append(list, remembered{h, v.seen[h]})
	}
	b, _ := binary.Append(nil, binary.LittleEndian, [2]int64{int64(v.n), int64(v.level)}) // of a fixed size
	b, _ = binary.Append(b, binary.LittleEndian, list)
	return b
}

// Unpack restores what Pack wrote; false where that is none.
func (v *Estimate) Unpack(b []byte) bool {
	var counts [2]int64
	n, err := binary.Decode(b, binary.LittleEndian, &counts)
	list := make([]remembered, max(0, len(b)-n)/binary.Size(remembered{}))
	if err != nil || len(list) > shapesMost || counts[0] < 0 || counts[1] < 0 || counts[1] > 63 {
		return false
	}
	_, err = binary.Decode(b[n:], binary.LittleEndian, list)
	w := Estimate{n: int(counts[0]), level: int(counts[1]), seen: map[uint64]bool{}}
	for _, r := range list {
		w.seen[r.Shape] = r.Again
		if !r.Again {
			w.once++
		}
	}
	*v = w
	return err == nil
}

// ShapeOf hashes what a request looks like, without its particular values: the
// method, the path and the names in the query, the skeleton of the body; a
// number counts by how many digits it has, and other text by its length in
// powers of two.
func ShapeOf(q *whittle.Request) uint64 {
	h := digest.Hash(digest.FNV(nil))
	h.Text(q.Method)
	target := q.Target
	inQuery := false
	for i := 0; i < len(target) && i < shapeBytes; {
		c := target[i]
		switch {
		case c == '?':
			inQuery = true
			h.Byte(c)
			i++
		case inQuery && c == '=':
			start := i
			for i < len(target) && target[i] != '&' {
				i++
			}
			h.Byte(byte(bits.Len(uint(i - start))))
		case '0' <= c && c <= '9':
			i = digitsOf(&h, target, i)
		default:
			h.Byte(c)
			i++
		}
	}
	h.Byte(0)
	hashBody(&h, q.Body[:min(len(q.Body), shapeBytes)])
	return digest.Mix(uint64(h))
}

// digitsOf hashes how many digits stand at i and gives where they end.
func digitsOf[T string | []byte](h *digest.Hash, s T, i int) int {
	start := i
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	h.Byte('0')
	h.Byte(byte(min(255, i-start)))
	return i
}

// hashBody hashes a body's skeleton: punctuation and JSON names as they are,
// numbers by their digits, JSON texts that are values by their length.
func hashBody(h *digest.Hash, s []byte) {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			i = digitsOf(h, s, i)
		case c == '"':
			end := stringEnd(s, i)
			if isName(s, end) {
				for _, c := range s[i:end] {
					h.Byte(c)
				}
			} else {
				h.Byte('"')
				h.Byte(byte(bits.Len(uint(end - i))))
			}
			i = end
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			i++
		default:
			h.Byte(c)
			i++
		}
	}
}

// stringEnd gives the index after a JSON text that starts at i.
func stringEnd(s []byte, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// isName reports whether what ends at i is followed by a colon.
func isName(s []byte, i int) bool {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i < len(s) && s[i] == ':'
}
