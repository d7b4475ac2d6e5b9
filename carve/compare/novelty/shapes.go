package novelty

import (
	"encoding/json"
	"sync"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// Shapes remembers of which shapes of request a response was compared: at most four
// times digest.Remembered. Those that did not come for the longest time are forgotten, and are new once
// more. It is safe for concurrent use.
type Shapes struct {
	mu sync.Mutex // guards the following
	kept
}

// kept is what outlives a restart.
type kept struct {
	Young map[uint64]bool `json:"young"`
	Old   map[uint64]bool `json:"old"`
	// Lately and Before count requests, and those of a shape that was not known.
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

// Compared takes note that a response to a shape was compared.
func (s *Shapes) Compared(shape uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Young[shape] = true; len(s.Young) >= 2*digest.Remembered {
		s.Young, s.Old = map[uint64]bool{}, s.Young
	}
}

// Has reports whether a response to a shape is remembered to have been compared.
func (s *Shapes) Has(shape uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.has(shape)
}

func (s *Shapes) has(shape uint64) bool { return s.Young[shape] || s.Old[shape] }

// Share is the share of the last few hundred requests that had a shape of which no response had been
// compared; 1 before anything has been seen.
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
