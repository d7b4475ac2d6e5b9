package novelty

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
)

// shapesKnown bounds each of the two generations of shapes.
const shapesKnown = 8192

// Shapes remembers of which shapes of request a response was compared. When there
// are more than it may remember, those that did not come for the longest time are
// forgotten, and are then compared once more before they count as known. It is
// safe for concurrent use.
type Shapes struct {
	mu         sync.Mutex // guards the following
	young, old map[uint64]struct{}
}

// NewShapes knows no shape.
func NewShapes() *Shapes { return &Shapes{young: map[uint64]struct{}{}, old: map[uint64]struct{}{}} }

// Add remembers a shape.
func (s *Shapes) Add(shape uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.young[shape] = struct{}{}
	if len(s.young) >= shapesKnown {
		s.young, s.old = map[uint64]struct{}{}, s.young
	}
}

// Has reports whether a shape is remembered.
func (s *Shapes) Has(shape uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, young := s.young[shape]
	_, old := s.old[shape]
	return young || old
}

// Pack writes the shapes, sorted, without their generation.
func (s *Shapes) Pack() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.AppendSeq(slices.Collect(maps.Keys(s.young)), maps.Keys(s.old))
	slices.Sort(all)
	all = slices.Compact(all)
	b, _ := binary.Append(nil, binary.LittleEndian, all) // of a fixed size
	return b
}

// Unpack restores what pack wrote; it reports whether that is possible.
func (s *Shapes) Unpack(b []byte) bool {
	if len(b)%8 != 0 || len(b)/8 > 2*shapesKnown {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.young, s.old = map[uint64]struct{}{}, map[uint64]struct{}{}
	all := make([]uint64, len(b)/8)
	_, err := binary.Decode(b, binary.LittleEndian, all)
	for _, h := range all {
		s.old[h] = struct{}{}
	}
	return err == nil
}
