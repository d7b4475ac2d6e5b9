package novelty

import (
	"encoding/json"
	"maps"
	"sync"

	"whittle/carve/compare/digest"
)

// Shapes remembers which shapes of request came, and of which a response was compared: up to
// twice digest.Remembered that came of late, and as many that came before. Those that did not come for
// the longest time are forgotten, and are new once more. It is safe for concurrent use.
type Shapes struct {
	mu   sync.Mutex // guards the following
	seen map[uint64]known
	// requests came of late, and before; once counts the shapes that came once, lately those that
	// came of late.
	requests     [2]int
	once, lately int
}

// known is what is known of a shape.
type known uint8

const (
	again    known = 1 << iota // it came more than once
	compared                   // a response to it was compared
	late                       // it came of late
)

// NewShapes knows no shape.
func NewShapes() *Shapes { return &Shapes{seen: map[uint64]known{}} }

// See takes the shape of a request.
func (s *Shapes) See(shape uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[0]++
	k, came := s.seen[shape]
	switch {
	case !came:
		s.once++
	case k&again == 0:
		s.once--
		k |= again
	}
	if k&late == 0 {
		s.lately++
	}
	s.seen[shape] = k | late
	if s.lately < 2*digest.Remembered {
		return
	}
	maps.DeleteFunc(s.seen, func(_ uint64, k known) bool { return k&late == 0 })
	for shape := range s.seen {
		s.seen[shape] &^= late
	}
	s.requests = [2]int{0, s.requests[0]}
	s.recount()
}

// recount finds what is counted of the shapes anew.
func (s *Shapes) recount() {
	s.once, s.lately = 0, 0
	for _, k := range s.seen {
		if k&again == 0 {
			s.once++
		}
		if k&late != 0 {
			s.lately++
		}
	}
}

// Compared takes note of a seen shape that a response to it was compared.
func (s *Shapes) Compared(shape uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, came := s.seen[shape]; came {
		s.seen[shape] = k | compared
	}
}

// Has reports whether a response to a shape is remembered to have been compared.
func (s *Shapes) Has(shape uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[shape]&compared != 0
}

// Share estimates which share of the requests has a shape that has not been
// seen: the share of shapes seen exactly once among all requests (Good 1953,
// after Turing); 1 before anything has been seen.
func (s *Shapes) Share() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.requests[0] + s.requests[1]
	if n == 0 {
		return 1
	}
	return min(1, float64(s.once)/float64(n))
}

// kept is a memory as it is written.
type kept struct {
	Requests [2]int           `json:"requests"`
	Seen     map[uint64]known `json:"seen"`
}

// MarshalJSON keeps the memory.
func (s *Shapes) MarshalJSON() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Marshal(kept{s.requests, s.seen})
}

// UnmarshalJSON restores what MarshalJSON kept.
func (s *Shapes) UnmarshalJSON(b []byte) error {
	k := kept{Seen: map[uint64]known{}}
	if err := json.Unmarshal(b, &k); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.seen = k.Requests, k.Seen
	s.recount()
	return nil
}
