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

// Pack writes the memory: n, level, then each hash with its lowest bit free for
// whether it came again.
func (v *Estimate) Pack() []byte {
	b := binary.AppendUvarint(nil, uint64(v.n))
	b = binary.AppendUvarint(b, uint64(v.level))
	for _, h := range slices.Sorted(maps.Keys(v.seen)) {
		b = binary.LittleEndian.AppendUint64(b, h)
		if v.seen[h] {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

// Unpack restores what Pack wrote; false where that is none.
func (v *Estimate) Unpack(b []byte) bool {
	n, i := binary.Uvarint(b)
	if i <= 0 || n > 1<<62 {
		return false
	}
	level, j := binary.Uvarint(b[i:])
	if j <= 0 || level > 63 {
		return false
	}
	b = b[i+j:]
	if len(b)%9 != 0 || len(b)/9 > shapesMost || uint64(len(b)/9) > n {
		return false
	}
	w := Estimate{n: int(n), level: int(level), seen: make(map[uint64]bool, len(b)/9)}
	for ; len(b) > 0; b = b[9:] {
		h := binary.LittleEndian.Uint64(b)
		if _, twice := w.seen[h]; twice || b[8] > 1 || bits.TrailingZeros64(h) < w.level {
			return false
		}
		w.seen[h] = b[8] == 1
		w.once += int(1 - b[8])
	}
	*v = w
	return true
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
