package novelty

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"
)

// shapesKnown bounds each of the two generations of shapes: TestNoveltyIsTheShareOfTheUnseen.
const shapesKnown = 1 << 13

// Shapes remembers which shapes of request came, and of which a response was compared. When there
// are more than it may remember, those that did not come for the longest time are forgotten, and
// are new once more. It is safe for concurrent use.
type Shapes struct {
	mu         sync.Mutex // guards the following
	young, old generation
}

// generation is what came in a time: n requests, of whose shapes so many came once.
type generation struct {
	n, once int
	seen    map[uint64]known
}

// known is what is known of a shape.
type known uint8

const (
	again    known = 1 << iota // it came more than once
	compared                   // a response to it was compared
)

func newGeneration() generation { return generation{seen: map[uint64]known{}} }

// NewShapes knows no shape.
func NewShapes() *Shapes { return &Shapes{young: newGeneration(), old: newGeneration()} }

// See takes the shape of a request.
func (s *Shapes) See(shape uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.young.n++
	k := s.young.seen[shape] | s.old.seen[shape]
	for _, g := range []*generation{&s.young, &s.old} {
		if was, has := g.seen[shape]; has {
			if was&again == 0 {
				g.once--
			}
			g.seen[shape], k = was|again, k|again
		}
	}
	if s.young.seen[shape] = k; k == 0 {
		s.young.once++
	}
	if len(s.young.seen) >= shapesKnown {
		s.young, s.old = newGeneration(), s.young
	}
}

// Compared takes note of a seen shape that a response to it was compared.
func (s *Shapes) Compared(shape uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range []*generation{&s.young, &s.old} {
		if was, has := g.seen[shape]; has {
			g.seen[shape] = was | compared
		}
	}
}

// Has reports whether a response to a shape is remembered to have been compared.
func (s *Shapes) Has(shape uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return (s.young.seen[shape]|s.old.seen[shape])&compared != 0
}

// Share estimates which share of the requests has a shape that has not been
// seen: the share of shapes seen exactly once among all requests (Good 1953,
// after Turing); 1 before anything has been seen.
func (s *Shapes) Share() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.young.n + s.old.n
	if n == 0 {
		return 1
	}
	return min(1, float64(s.young.once+s.old.once)/float64(n))
}

// remembered is a shape as it is kept.
type remembered struct {
	Shape uint64
	Known known
}

// Pack writes the memory.
func (s *Shapes) Pack() (b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range []*generation{&s.young, &s.old} {
		var list []remembered
		for _, h := range slices.Sorted(maps.Keys(g.seen)) {
			list = append(list, remembered{h, g.seen[h]})
		}
		b, _ = binary.Append(b, binary.LittleEndian, [2]int64{int64(g.n), int64(len(list))}) // of a fixed size
		b, _ = binary.Append(b, binary.LittleEndian, list)
	}
	return b
}

// Unpack restores what Pack wrote; false, and nothing is changed, where that is none.
func (s *Shapes) Unpack(b []byte) bool {
	var of [2]generation
	for i := range of {
		var counts [2]int64
		n, err := binary.Decode(b, binary.LittleEndian, &counts)
		if err != nil || min(counts[0], counts[1]) < 0 || counts[1] > shapesKnown {
			return false
		}
		list, g := make([]remembered, counts[1]), newGeneration()
		more, err := binary.Decode(b[n:], binary.LittleEndian, list)
		if err != nil {
			return false
		}
		b = b[n+more:]
		g.n = int(counts[0])
		for _, r := range list {
			if g.seen[r.Shape] = r.Known; r.Known&again == 0 {
				g.once++
			}
		}
		of[i] = g
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.young, s.old = of[0], of[1]
	return true
}
