package compare

import (
	"math"
	"time"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
)

// moves tell a state that each server holds by itself, alike on both sides, from a candidate
// that is wrong. A look is two responses to one request on each side, apart in time; it
// counts where either side moved in between. Looks that overlap see the same moves, so of
// those one counts.
//
// The hypothesis is that both sides' states move by the same process, each by itself. Two
// tests by betting stand against it, and either shows a candidate that is wrong:
//
// Alone: of two equal states, that which moves where the other does not is either with a
// chance of a half. A constant never moves where the monolith does, and what is drawn anew
// for each response moves where it does not.
//
// Alike: where both have moved, the way in which the candidate's number has (up or down)
// says nothing of the monolith's. Given the last ways of the candidate's and the present
// one, in whatever order, each of them is as likely to be the present one, so a bet that it
// is the monolith's is held against how many of them are: numbers that rise on both sides,
// as an uptime does, win nothing. What is made of the same number, but wrong, rises with it
// or falls with it. Where the values are no numbers, the same holds of whether the
// candidate's move at all, among looks that are about as long.
//
// Loads break the second one: traffic moves those of two equal servers together. At places that
// are named so it shows nothing.
//
// Error rate: alpha of a mark, half of it for each (Ville's inequality). Sources: Vovk,
// Gammerman, Shafer 2005, Algorithmic learning in a random world (the ranks); Vovk and Wang
// 2021, arXiv 1912.06116. Two states that are refreshed at nearly the same times, as by one
// clock, break it where the values are no numbers; so there neither may have moved without
// the other but seldom (driftTogether).
type moves struct {
	monolith, candidate, both int
	// Of both, so many were numbers that moved the same way, and so many that moved
	// the one up and the other down.
	sameWay, crossing int
	// until is when the last look ended that counted, and rested when the last did in which
	// neither side moved.
	until, rested time.Time
	alone, alike  [2]eprocess.Bold
	ways          recent
	// load says that the place is named as what traffic moves.
	load bool
	// lengths are of the candidate's looks by how long they are: whether it moved.
	lengths [lengthsMost]recent
}

// The classes of lengths: each is lengthStep times as long as the one before, the first
// ends at a millisecond.
const (
	lengthsMost = 64
	lengthStep  = 1.25
)

func lengthOf(d time.Duration) int {
	return int(min(lengthsMost-1, max(0, math.Log(d.Seconds()*1000)/math.Log(lengthStep))))
}

// stay takes a look in which neither side moved, if it overlaps no other such look. It may
// overlap one in which somebody has: those of many requests leave no room between them.
func (d *moves) stay(from, at time.Time) {
	if from.Before(d.rested) {
		return
	}
	d.rested = at
	d.lengths[lengthOf(at.Sub(from))].add(false)
}

// aloneParts and alikeParts are how the wealth is split between the two bets of each test: which side
// moves alone, and whether numbers move the same way or not.
var aloneParts, alikeParts = [2]float64{0.5, 0.5}, [2]float64{0.8, 0.2}

// recent are the last so many of what is one of two.
type recent struct {
	ring [wayMost]bool
	n    int
}

const (
	wayMost = 16
	// oddsMost bounds what one look at values that are no numbers says, however seldom
	// they move: two states may happen to move at nearly the same times.
	oddsMost = 3
)

// odds is the e-value of the bet that what comes next is as guessed, held against
// those before it and itself.
func (r *recent) odds(is, guessed bool) float64 {
	if is != guessed {
		return 0
	}
	kept, same := min(r.n, wayMost), 1
	for _, w := range r.ring[:kept] {
		if w == guessed {
			same++
		}
	}
	return float64(kept+1) / float64(same)
}

func (r *recent) add(w bool) {
	r.ring[r.n%wayMost] = w
	r.n++
}

// see takes a look in which either side moved.
func (d *moves) see(monolith, candidate step, from, at time.Time, alpha float64) {
	if from.Before(d.until) {
		return
	}
	if d.until.IsZero() {
		for i := range d.alone {
			d.alone[i], d.alike[i] = eprocess.NewBold(), eprocess.NewBold()
		}
	}
	d.until = at
	like := &d.lengths[lengthOf(at.Sub(from))]
	if monolith.times > 0 && monolith.by == 0 && candidate.by == 0 {
		d.alike[0].See(min(oddsMost, like.odds(candidate.times > 0, true)), alikeParts[0]*alpha/2, 1)
	}
	like.add(candidate.times > 0)
	switch {
	case monolith.times > 0 && candidate.times > 0:
		d.both++
		d.seeWays(monolith.by, candidate.by, alpha)
	case monolith.times > 0:
		d.monolith++
		d.alone[0].See(2, aloneParts[0]*alpha/2, 1)
		d.alone[1].See(0, aloneParts[1]*alpha/2, 1)
	default:
		d.candidate++
		d.alone[0].See(0, aloneParts[0]*alpha/2, 1)
		d.alone[1].See(2, aloneParts[1]*alpha/2, 1)
	}
}

// seeWays bets on numbers that have moved on both sides.
func (d *moves) seeWays(monolith, candidate, alpha float64) {
	if monolith == 0 || candidate == 0 {
		return
	}
	up, rose := candidate > 0, monolith > 0
	if up == rose {
		d.sameWay++
	} else {
		d.crossing++
	}
	d.alike[0].See(d.ways.odds(up, rose), alikeParts[0]*alpha/2, 1)
	d.alike[1].See(d.ways.odds(up, !rose), alikeParts[1]*alpha/2, 1)
	d.ways.add(up)
}

// shown reports whether it is shown that no two equal states move so.
func (d *moves) shown() bool {
	together := !d.load && (d.sameWay+d.crossing > 0 || driftTogether*min(d.monolith, d.candidate) <= d.both)
	for i := range d.alone {
		if d.alone[i].At > 0 || d.alike[i].At > 0 && together {
			return true
		}
	}
	return false
}

// apart reports whether either side moves without the other, or, where both always move
// until the next look, the one up and the other down as well as not.
func (d *moves) apart() bool {
	if d.shown() || d.until.IsZero() || max(d.alone[0].Now(), d.alone[1].Now()) > driftLean {
		return false
	}
	alone, unlike := min(d.monolith, d.candidate), min(d.sameWay, d.crossing)
	return alone >= driftMoves && driftApartly*alone >= d.both || unlike >= driftMoves && driftApartly*unlike >= d.both
}

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
