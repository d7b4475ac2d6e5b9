// Package novelty counts the shapes of requests: which have been compared, and which
// share of the requests has an unseen shape.
package novelty

import (
	"math/bits"

	"whittle"
	"whittle/carve/compare/digest"
)

// shapeBytes bounds how much of a body makes its shape.
const shapeBytes = 4 << 10

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
