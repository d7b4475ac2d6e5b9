package own

import "time"

// Bounds of spells. Simulation: TestOwnHeadersAreKnown.
const (
	near = 2 // exchanges within which moves are together
	// Until sidedMost moves were seen, one side may hold what it says: of two servers that
	// are alike, the same one moves each time with a chance of 2^-11. A side that holds says
	// another word in one of spellLeast exchanges at most.
	sidedMost, spellLeast = 12, 4
)

// Spells tell a word that each server holds by itself for a while, whatever the request, from a
// wrong one, by the moves between exchanges: both sides' words come in spells, and now the one's
// moves and now the other's. What never moves on one side is none, nor what moves on both at a
// time, as data do. They are learned anew in each process.
type Spells struct {
	n     int
	side  [2]Holding
	moved [2]int // the exchange of each side's last move that the other has not made
	Counts
	since, until time.Time
}

// See takes hashes of what the two sides say in an exchange.
func (s *Spells) See(at time.Time, words [2]uint32) {
	if s.n++; s.n == 1 || at.Before(s.since) {
		s.since = at
	}
	s.until = at
	for side, word := range words {
		other := 1 - side
		switch {
		case !s.side[side].See(word):
		case s.moved[other] > 0 && s.n-s.moved[other] <= near:
			s.Both++
			s.Alone[other]--
			s.moved[other] = 0
		default:
			s.Alone[side]++
			s.moved[side] = s.n
		}
	}
}

// Own reports whether each server holds its own.
func (s *Spells) Own() bool { return s.Parted() && s.side[0].Moves() && s.side[1].Moves() }

// Open reports whether each server may hold its own, and too little was seen of how it moves.
// brief says that it may be a state of which no move was seen yet.
func (s *Spells) Open(brief bool) bool {
	draws := func(d *Holding) bool { return spellLeast*d.Newer > d.N } // too often to hold it
	switch moves := s.Alone[0] + s.Alone[1] + s.Both; {
	case draws(&s.side[0]), draws(&s.side[1]):
		return false
	case moves >= sidedMost:
		return s.Mixed()
	case moves > s.Both:
		return true
	}
	watched := s.until.Sub(s.since)
	return brief && s.Both < Least && watched > 0 && watched < Early
}
