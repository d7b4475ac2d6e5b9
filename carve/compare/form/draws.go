package form

import (
	"slices"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/eprocess"
)

// drawsKept bounds the draws of a side that wait for one of the other's, and drawsLeast is
// how many values of the monolith must have been new for it to draw each anew.
const (
	drawsKept  = 8
	drawsLeast = 4
	drawsFade  = 1 << 10
	// drawsAgo is how many exchanges ago the earlier values were said, and drawsLooked how many
	// values of an exchange are remembered for as long.
	drawsAgo, drawsLooked = 32, 4
	// drawsMore is by how much fewer may be new since the last exchange by chance.
	drawsMore = 8
	// drawsKnown is how many new values stand for those of before a restart.
	drawsKnown = 64
)

// draws tell values that each server holds for a while from values that are drawn for
// each response. Where both sides hold theirs, the same value comes again with every
// request until it is refreshed, and says no more than it did at first. There, a value is
// looked at once, when a side says it and did not the time before; and the first such of
// the one side is held against the first of the other, whenever that comes, so that of
// each side as many are looked at.
//
// Hypothesis: the values that each side draws follow one distribution. Then whose a draw is
// says nothing of it. Of a side that draws much less often than the other, what it holds is
// looked at again, on either side alike.
type draws struct {
	last [2][]uint64
	// ago are the monolith's first values of the last drawsAgo exchanges. Of so many newer was
	// none of the last exchange's, and new none of that one's which lies as long ago.
	ago        [drawsAgo][]uint64
	n          int
	newer, new int
	waiting    [2][]drawn
}

// drawn is what a side has drawn, in every feature.
type drawn [features][]category

// holds reports whether the monolith held its values in the exchanges before, so that what
// the present one says does not choose whether it is bet on. Of values that are drawn for each
// response as many are new since the last exchange as since one of long ago, however few
// different ones there are.
func (d *draws) holds() bool {
	return d.newer < drawsLeast || 3*(d.newer+drawsMore) < 2*d.new
}

// same takes values that both sides say.
func (d *draws) same(values []value) {
	now := drawHashes(values)
	d.see(now)
	d.last = [2][]uint64{now, now}
}

// see takes the monolith's values of an exchange.
func (d *draws) see(now []uint64) {
	now = now[:min(len(now), drawsLooked)]
	early, last := &d.ago[d.n%drawsAgo], d.ago[(d.n+drawsAgo-1)%drawsAgo]
	then := *early
	if d.n < drawsAgo {
		then = d.ago[0]
	}
	for _, h := range now {
		if d.n > 0 {
			d.newer += int(eprocess.Indicator(!slices.Contains(last, h)))
			d.new += int(eprocess.Indicator(!slices.Contains(then, h)))
		}
	}
	*early = append((*early)[:0], now...)
	d.n++
	if d.new > drawsFade {
		d.newer, d.new = d.newer/2, d.new/2
	}
}

// take takes the values of an exchange. Where the monolith may hold its own it gives a draw
// of either side, if both have one; ready says that there is something to settle.
func (d *draws) take(e *formExchange, may bool, of func(side int, values []value, e *formExchange) drawn) (pair [2]drawn, held, ready bool) {
	held = d.holds() && may
	sides := [2][]value{e.monolith, e.candidate}
	now := [2][]uint64{drawHashes(e.monolith), drawHashes(e.candidate)}
	if isWhole(e.n) {
		d.see(now[Monolith])
	}
	if !held {
		d.waiting = [2][]drawn{}
	}
	for side, values := range sides {
		if fresh, ok := d.fresh(side, values, now[side]); ok && held {
			d.waiting[side] = append(d.waiting[side], of(side, fresh, e))
		}
	}
	if !held {
		return pair, false, true
	}
	for side, values := range sides {
		switch {
		case len(d.waiting[side]) > 0:
			pair[side] = d.waiting[side][0]
		case len(d.waiting[1-side]) > drawsKept:
			pair[side] = of(side, values, e)
		default:
			return pair, true, false
		}
	}
	for side := range d.waiting {
		d.waiting[side] = d.waiting[side][min(1, len(d.waiting[side])):]
	}
	return pair, true, true
}

// fresh are those of a side's values, with their hashes, that it did not say the time before. ok
// is false where there are none, and it has not stopped saying one.
func (d *draws) fresh(side int, values []value, now []uint64) (fresh []value, ok bool) {
	last := d.last[side]
	d.last[side] = now
	for i := range values {
		if !slices.Contains(last, now[i]) {
			fresh = append(fresh, values[i])
		}
	}
	return fresh, len(fresh) > 0 || len(values) == 0 && !slices.Contains(last, noDraw)
}

// noDraw stands for that there is no value.
const noDraw = 1

// drawHashes are the hashes of values; noDraw of none.
func drawHashes(values []value) []uint64 {
	if len(values) == 0 {
		return []uint64{noDraw}
	}
	list := make([]uint64, len(values))
	for i := range values {
		if list[i] = values[i].hash; list[i] == 0 {
			list[i] = digest.FNV(values[i].raw)
		}
	}
	return list
}
