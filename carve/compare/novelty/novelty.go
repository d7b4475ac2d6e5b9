// Package novelty counts the shapes of requests: which have been compared, and which
// share of the requests has an unseen shape.
package novelty

import (
	"bytes"
	"math/bits"
	"strings"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/internal/jsonscan"
)

// ShapeOf hashes what the beginning of a request looks like, without its particular values: the method, the path,
// the names in the query, and the body's structure with its names. A number counts by how many
// digits it has, and another value by its length in powers of two.
func ShapeOf(q *whittle.Request) uint64 {
	h := digest.Hash(digest.FNV(nil))
	h.Text(q.Method)
	path, query, _ := strings.Cut(q.Target[:min(len(q.Target), display.ValueRead)], "?")
	hashText(&h, path)
	hashPairs(&h, query)
	body := bytes.TrimLeft(q.Body[:min(len(q.Body), display.ValueRead)], " \t\r\n")
	if len(body) > 0 && strings.IndexByte(`{["`, body[0]) >= 0 {
		hashJSON(&h, body)
	} else {
		hashPairs(&h, string(body))
	}
	return digest.Mix(uint64(h))
}

// hashText hashes a text, each number in it by how many digits it has.
func hashText(h *digest.Hash, s string) {
	for len(s) > 0 {
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		if digits > 0 {
			h.Byte('0')
			h.Byte(byte(digits))
			s = s[digits:]
			continue
		}
		h.Byte(s[0])
		s = s[1:]
	}
	h.Byte(0)
}

// hashPairs hashes a query, or a body that is written like one.
func hashPairs(h *digest.Hash, s string) {
	for pair := range strings.SplitSeq(s, "&") {
		name, value, _ := strings.Cut(pair, "=")
		hashText(h, name)
		h.Byte(byte(bits.Len(uint(len(value)))))
	}
}

// hashJSON hashes the tokens of a JSON text up to where it ends or is wrong.
func hashJSON(h *digest.Hash, body []byte) {
	var s jsonscan.Scanner
	s.Reset(body, 0, jsonscan.MaxDepth)
	for kind := s.Next(); kind != jsonscan.None; kind = s.Next() {
		h.Byte(byte(kind))
		switch kind {
		case jsonscan.Key:
			h.Text(string(s.Inside()))
		case jsonscan.Number:
			hashText(h, string(s.Bytes()))
		case jsonscan.String:
			h.Byte(byte(bits.Len(uint(len(s.Inside())))))
		}
	}
}
