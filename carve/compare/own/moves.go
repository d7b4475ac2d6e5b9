package own

import (
	"time"

	"whittle/carve/compare/eprocess"
)

// Bounds of moves. Simulations: TestRefreshedStatesRaiseNoAlarm, TestOwnHeadersAreKnown.
const (
	Least    = 3 // moves of either side without the other's
	apart    = 4 // times as many may have been of both: data that move between two responses show as such, too
	leanMost = 4 // wealth of a bet on one of the sides
	// waysMost is how many of the candidate's ways one is held against.
	waysMost = 16
)

// alikeParts are how the wealth is split between the bets that numbers move the same way and
// that they do not.
var alikeParts = [2]float64{0.8, 0.2}

// Counts count looks in which the monolith's value moved alone, the candidate's, and both.
type Counts struct {
	Alone [2]int
	Both  int
}

// Parted reports whether either side moves without the other.
func (c *Counts) Parted() bool { return parted(c.Alone, c.Both, Least) }

// Mixed reports whether either side has been seen to.
func (c *Counts) Mixed() bool { return parted(c.Alone, c.Both, 1) }

func parted(of [2]int, all, least int) bool {
	fewer := min(of[0], of[1])
	return fewer >= least && apart*fewer >= all
}

// Step is by how much a side has moved at a place: at how many values, and how far the number
// at the first of them, 0 where it is none.
type Step struct {
	Times int
	By    float64
}

// Moves tell a state that each server holds by itself, alike on both sides, from a candidate
// that is wrong. A look is two responses to one request on each side, apart in time; it
// counts where either side moved in between. Looks that overlap see the same moves, so of
// those one counts.
//
// The hypothesis is that both sides' states move by the same process, each by itself. Of two
// equal states, that which moves where the other does not is either with a chance of a half. A
// constant never moves where the monolith does, and what is drawn anew for each response moves
// where it does not. Where both have moved, the way in which the candidate's number has (up or
// down) says nothing of the monolith's: given the last ways of the candidate's and the present
// one, in whatever order, each of them is as likely to be the present one, so a bet that it is
// the monolith's is held against how many of them are. What is made of the same number, but
// wrong, rises with it. Either shows a candidate that is wrong. Loads break the second: traffic
// moves those of two equal servers together, so at places that are named so it shows nothing.
//
// Error rate: alpha of a place, half of it for each (Ville's inequality). Source: Vovk,
// Gammerman, Shafer 2005, Algorithmic learning in a random world (the ranks).
type Moves struct {
	Counts
	// IsLoad says that the place is named as what traffic moves.
	IsLoad bool

	ways  [2]int    // of Both so many moved the one up and the other down, or the same way
	until time.Time // when the last look ended that counted
	alone [2]eprocess.Bets
	alike [2]eprocess.Bets
	up    [waysMost]bool // the candidate's last ways
	upN   int
}

// seeWays bets that a number moves the monolith's way, or the other one.
func (d *Moves) seeWays(monolith, candidate, alpha float64) {
	up, same := candidate > 0, candidate > 0 == (monolith > 0)
	won := int(eprocess.Indicator(same))
	d.ways[won]++
	kept, as := min(d.upN, waysMost), 1 // as up as the present one
	for _, w := range d.up[:kept] {
		as += int(eprocess.Indicator(w == up))
	}
	d.alike[1-won].See(float64(kept+1)/float64(as), alikeParts[1-won]*alpha, 1)
	d.alike[won].See(0, alikeParts[won]*alpha, 1)
	d.up[d.upN%waysMost] = up
	d.upN++
}

// See takes a look in which either side moved.
func (d *Moves) See(monolith, candidate Step, from, at time.Time, alpha float64) {
	if from.Before(d.until) {
		return
	}
	if d.until.IsZero() {
		d.alone, d.alike = [2]eprocess.Bets{eprocess.Bold.New(), eprocess.Bold.New()}, [2]eprocess.Bets{eprocess.Bold.New(), eprocess.Bold.New()}
	}
	d.until = at
	if monolith.Times > 0 && candidate.Times > 0 {
		if d.Both++; monolith.By*candidate.By != 0 {
			d.seeWays(monolith.By, candidate.By, alpha/2)
		}
		return
	}
	odd := int(eprocess.Indicator(candidate.Times > 0)) // the side that moved alone
	d.Alone[odd]++
	d.alone[odd].See(2, alpha/4, 1)
	d.alone[1-odd].See(0, alpha/4, 1)
}

// Shown reports whether it is shown that no two equal states move so.
func (d *Moves) Shown() bool {
	return d.alone[0].At > 0 || d.alone[1].At > 0 || (d.alike[0].At > 0 || d.alike[1].At > 0) && !d.IsLoad
}

// Parted reports whether either side moves without the other, or, where both always move
// until the next look, the one up and the other down as well as not.
func (d *Moves) Parted() bool {
	if d.Shown() || d.until.IsZero() || max(d.alone[0].Now, d.alone[1].Now) > leanMost {
		return false
	}
	return d.Counts.Parted() || parted(d.ways, d.Both, Least)
}
