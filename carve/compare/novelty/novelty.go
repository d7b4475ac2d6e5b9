// Package novelty counts the shapes of requests: which were compared, and which share of the requests
// has an unseen shape.
package novelty

import (
	"bytes"
	"encoding/json"
	"math/bits"
	"strings"
	"sync"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/internal/jsonscan"
)

// ShapeOf hashes the look of a request's beginning, without its particular values: the method, the path,
// the names in the query, and the body's structure with its names. A number counts by its digits,
// another value by its length in powers of two.
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

// hashText hashes a text, each number in it by its count of digits.
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

// hashPairs hashes a query, or a body written like one.
func hashPairs(h *digest.Hash, s string) {
	for pair := range strings.SplitSeq(s, "&") {
		name, value, _ := strings.Cut(pair, "=")
		hashText(h, name)
		h.Byte(byte(bits.Len(uint(len(value)))))
	}
}

// hashJSON hashes the tokens of a JSON text up to its end or an error.
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

// Shapes remembers the shapes of request whose responses were compared: at most four times
// digest.Remembered. The shapes unseen for the longest time are forgotten, and new once more. It is safe
// for concurrent use.
type Shapes struct {
	mu sync.Mutex // guards the following
	kept
}

// kept is what outlives a restart.
type kept struct {
	Young map[uint64]bool `json:"young"`
	Old   map[uint64]bool `json:"old"`
	// Lately and Before count requests, and those of an unknown shape.
	Lately eprocess.Share `json:"lately"`
	Before eprocess.Share `json:"before"`
}

// NewShapes knows no shape.
func NewShapes() *Shapes { return &Shapes{kept: kept{Young: map[uint64]bool{}}} }

// See takes the shape of a request.
func (s *Shapes) See(shape uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Lately.N >= digest.Remembered/16 {
		s.Lately, s.Before = eprocess.Share{}, s.Lately
	}
	s.Lately.See(!s.has(shape))
}

// Compared notes that a response to a shape was compared.
func (s *Shapes) Compared(shape uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Young[shape] = true; len(s.Young) >= 2*digest.Remembered {
		s.Young, s.Old = map[uint64]bool{}, s.Young
	}
}

// Has reports whether a response to a shape is remembered as compared.
func (s *Shapes) Has(shape uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.has(shape)
}

func (s *Shapes) has(shape uint64) bool { return s.Young[shape] || s.Old[shape] }

// Share is the share of the last few hundred requests whose shape was never compared; 1 at first.
func (s *Shapes) Share() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.Lately.And(s.Before)
	if all.N == 0 {
		return 1
	}
	return all.Rate()
}

// MarshalJSON keeps the memory.
func (s *Shapes) MarshalJSON() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Marshal(&s.kept)
}

// UnmarshalJSON restores what MarshalJSON kept.
func (s *Shapes) UnmarshalJSON(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Unmarshal(b, &s.kept)
}
