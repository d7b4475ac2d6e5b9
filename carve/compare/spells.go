package compare

import (
	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondiff"
)

// Bounds of spells: of so many changes at most, spellFactor times as rare as among requests
// that come in any order, and spellsMore more, as where responses overtake each other.
const (
	spellChanges = 8
	spellFactor  = 4
	spellsMore   = 3
)

// spells tell what both sides say to all requests alike for a while, such as a setting, a
// word that each server keeps until it is refreshed or a wrong constant, from what follows
// from the request. A spell is a run of exchanges in which the same value stands against the
// same other one. What follows from the request changes with it, so that spells are short.
type spells struct {
	first, n, spells, lastN int
	now                     digest.Hash
	of                      map[digest.Hash]int
	many                    bool
}

// see takes a difference of exchange n.
func (s *spells) see(d *jsondiff.Difference, n int) {
	var h digest.Hash
	h.Text(d.From)
	h.Byte(0)
	h.Text(d.To)
	if s.of == nil {
		s.of, s.first = map[digest.Hash]int{}, n
	}
	if h != s.now || n != s.lastN+1 {
		s.spells++
	}
	s.now, s.lastN = h, n
	s.n++
	if _, known := s.of[h]; !known && len(s.of) >= spellChanges {
		s.many = true
		return
	}
	s.of[h]++
}

// last reports whether they do: of requests in any order, a value would stand as often next
// to itself as by chance.
func (s *spells) last() bool {
	if s.many || s.n == 0 {
		return false
	}
	all, chance := float64(s.lastN-s.first+1), float64(s.n)
	for _, n := range s.of {
		chance -= float64(n) * float64(n) / all
	}
	return spellFactor*float64(s.spells-1-spellsMore) <= chance
}
