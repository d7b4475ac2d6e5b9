package compare

import (
	"math"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
)

// Where the monolith changes a place by itself, that the candidate changes it too is no
// difference. How much either changes of it still is evidence: given the monolith's first
// response, the candidate's and the monolith's second are exchangeable, so a bet on which
// of the two is further from the first wins nothing in the long run if the services are
// the same. Further is a response in which more places of the pattern differ (one price of
// a list changes by itself, the candidate gets another one wrong), or, where the number of
// places is the same, whose number lies further off.
//
// The hypothesis is that the three responses are exchangeable given the request. It breaks
// where each server holds a state of its own that moves, for two responses of one server
// are nearer to each other than to another server's. Both bets therefore count only where
// the monolith's responses of other times show that there is no such state: drift of the
// number of places, nearness of the numbers; or where moves show that it is no state of
// each server's. Either gate is chosen from the past alone, so
// the error rate is the mark's where the hypothesis holds (Ville's inequality, as in
// match). Until the gate of places opens the bet is laid in Further, which decides
// nothing and keeps EQUIVALENT from being said.

// extent is how far one response is from the monolith's first at a pattern.
type extent struct {
	times   int
	numeric bool
	from    float64 // the monolith's
	off     float64
}

func extentOf(d *jsondiff.Difference) extent {
	return extent{
		times: d.Times, numeric: d.Numeric && d.Times == 1, from: d.Numbers[0], off: math.Abs(d.Numbers[1] - d.Numbers[0]),
	}
}

// betFurther settles an exchange in which both sides differ from the monolith's first
// response.
func (k *mark) betFurther(alpha float64, n int) {
	c, s := &k.now[0], &k.now[1]
	if c.times == s.times {
		if c.numeric && s.numeric && c.from != math.Trunc(c.from) && k.near.follows() {
			k.Pair.Bet(eprocess.Sign(c.off-s.off), alpha, n)
		}
		return
	}
	k.betGated(eprocess.Sign(float64(c.times-s.times)), alpha, n)
}

// betGated settles a payoff that counts only where it is shown that no state of each
// server's moves (see drift).
func (k *mark) betGated(g, alpha float64, n int) {
	if k.Further == nil {
		b := eprocess.NewBets()
		k.Further = &b
	}
	k.Further.Bet(g, alpha, n)
	if k.drift.still() || k.drift.moves.shown() {
		k.Pair.Bet(g, alpha, n)
	}
}

// isFurther reports whether the candidate seems to differ at more places than the
// monolith from itself, which is not shown.
func (k *mark) isFurther() bool {
	return k.Further != nil && k.Further.Now >= suspected && !k.decided()
}

// Bounds of nearness.
const (
	nearRequests = 64
	nearEnough   = 8
	nearFactor   = 10
	nearFades    = 1 << 10
)

// nearness tells numbers that follow from the request, with a little noise in their last
// digits, from those of a state that each server has of its own, such as its load or its
// uptime, in which two equal services may lie far apart: the same request gets nearly the
// same number at another time, and another request another one.
type nearness struct {
	of      map[uint64]float64 // the last requests' numbers
	order   [nearRequests]uint64
	n       int
	last    float64
	lastOf  uint64
	same    float64 // the distances of the same request's
	other   float64 // and of one request's to the next one's
	sameOf  float64
	otherOf float64
}

// see takes note of the monolith's number for a request.
func (k *nearness) see(q *whittle.Request, x float64) {
	key := requestHash(q)
	if k.of == nil {
		k.of = map[uint64]float64{}
	} else if key != k.lastOf {
		k.other += math.Abs(x - k.last)
		k.otherOf++
	}
	if before, known := k.of[key]; known {
		k.same += math.Abs(x - before)
		k.sameOf++
	} else {
		delete(k.of, k.order[k.n%nearRequests])
		k.order[k.n%nearRequests] = key
		k.n++
	}
	k.of[key], k.last, k.lastOf = x, x, key
	if k.sameOf+k.otherOf > nearFades {
		k.same, k.sameOf, k.other, k.otherOf = k.same/2, k.sameOf/2, k.other/2, k.otherOf/2
	}
}

// follows reports whether the numbers follow from the request.
func (k *nearness) follows() bool {
	return k.sameOf >= nearEnough && k.otherOf >= nearEnough && k.other/k.otherOf >= nearFactor*k.same/k.sameOf
}
