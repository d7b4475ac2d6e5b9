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
	// Of drawsOf that were new after a while, one may have been the last exchange's, and
	// drawsMore more by chance.
	drawsOf, drawsMore = 8, 6
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
	// early are the monolith's values of an earlier exchange, which next takes the place of
	// when as many exchanges have come again. Of so many values one was none of the last
	// exchange's, and one none of the earlier one's.
	early, next []uint64
	n, until    int
	newer, new  int
	waiting     [2][]drawn
}

// drawn is what a side has drawn, in every feature.
type drawn [features][]category

// holds reports whether the monolith held its values in the exchanges before, so that what
// the present one says does not choose whether it is bet on.
func (d *draws) holds() bool {
	return d.newer < drawsLeast || drawsOf*(d.newer+drawsMore) < (drawsOf-1)*d.new
}

// see takes the monolith's values of an exchange.
func (d *draws) see(e *formExchange) {
	now := drawHashes(nil, e.monolith)
	if d.n++; d.n == 1 {
		d.until, d.early, d.next = 2, now, now
		return
	}
	for _, h := range now {
		d.newer += int(eprocess.Indicator(!slices.Contains(d.last[Monolith], h)))
		d.new += int(eprocess.Indicator(!slices.Contains(d.early, h)))
	}
	if d.new > drawsFade {
		d.newer, d.new = d.newer/2, d.new/2
	}
	if d.n >= d.until {
		d.until, d.early, d.next = 2*d.until, d.next, now
	}
}

// take takes the values of an exchange. Where the monolith may hold its own it gives a draw
// of either side, if both have one; ready says that there is something to settle.
func (d *draws) take(e *formExchange, may bool, of func(side int, values []value, e *formExchange) drawn) (pair [2]drawn, held, ready bool) {
	held = d.holds() && may
	d.see(e)
	if !held {
		d.waiting = [2][]drawn{}
	}
	for side, values := range [2][]value{e.monolith, e.candidate} {
		if fresh, ok := d.fresh(side, values); ok && held {
			d.waiting[side] = append(d.waiting[side], of(side, fresh, e))
		}
	}
	if !held {
		return pair, false, true
	}
	for side, values := range [2][]value{e.monolith, e.candidate} {
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

// fresh are those of a side's values that it did not say the time before. ok is false where
// there are none, and it has not stopped saying one.
func (d *draws) fresh(side int, values []value) (fresh []value, ok bool) {
	last := d.last[side]
	now := drawHashes(nil, values)
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

func drawHashes(list []uint64, values []value) []uint64 {
	for i := range values {
		h := values[i].hash
		if h == 0 {
			h = digest.FNV(values[i].raw)
		}
		list = append(list, h)
	}
	if len(list) == 0 {
		list = append(list, noDraw)
	}
	return list
}
