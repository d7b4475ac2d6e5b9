package form

import (
	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// pairsKept is how far back a pair of values is looked for, and pairsFade how many that
// came again are counted before both counts are halved.
const (
	pairsKept = 8
	pairsFade = 64
)

// pairs tells values that each server holds for a while from values that are drawn for
// each response. Where both sides hold theirs, one pair of values comes again with every
// request until one of them is refreshed, and says no more than it did at first.
//
// A pair is what the two sides gave, whichever gave which, so which pair came says
// nothing of which side is whose: the bets that are left are as fair as all of them.
type pairs struct {
	last [pairsKept]uint64
	n    int
	// near counts pairs that were the last ones again, far those that were the ones
	// pairsKept before. Of values that are drawn anew either is as likely.
	near, far int
}

// lasts takes the pair of an exchange and reports whether it is one that lasts, seen
// before.
func (p *pairs) lasts(e *formExchange) bool {
	var sides [2]digest.Hash
	for side, values := range [2][]value{e.monolith, e.candidate} {
		for i := range values {
			sides[side].Text(string(values[i].raw))
		}
	}
	pair := digest.Stir(uint64(sides[0])) + digest.Stir(uint64(sides[1]))
	again := p.n > 0 && pair == p.last[(p.n-1)%pairsKept]
	p.near += int(eprocess.Indicator(again))
	p.far += int(eprocess.Indicator(p.n >= pairsKept && pair == p.last[p.n%pairsKept]))
	if p.near > pairsFade {
		p.near, p.far = p.near/2, p.far/2
	}
	p.last[p.n%pairsKept] = pair
	p.n++
	return again && p.near > 2*p.far+2
}
