package twosample

import (
	"slices"
	"sort"

	"whittle/carve/compare/eprocess"
)

// Bounds of kinds.
const (
	kindsMost  = 24 // that are told apart; what comes later is one
	rangesMost = 12 // of numbers
)

// The kinds that are none of words. Others are hashes, which are hardly ever as small.
const (
	Absent     = 1 // no value
	AnyNumber  = 2
	others     = 3
	firstRange = 16 // the i-th range is firstRange + i
)

// kinds counts how often each kind of values comes on either side.
type kinds struct {
	rows []kindRow
	// edges are the upper ends of the ranges, the last one of which has none.
	edges []float64
	n     int // exchanges
	again int // with a second response
	// window and last are how many exchanges are in these, of which windows have ended.
	window, last, windows int
}

// kindRow is one kind. Of its trial, the numbers of exchanges are those of all kinds.
type kindRow struct {
	code uint64
	// of says how often each side had it, in responses.
	of    [2]float64
	trial trial
	now   [3]float64 // in the present exchange
}

// isRange reports whether a kind is a range of numbers.
func isRange(code uint64) bool { return code >= firstRange && code <= firstRange+rangesMost }

// edgesOf divides sorted numbers into ranges: each of few different ones is one.
func edgesOf(list []float64) []float64 {
	distinct := slices.Compact(slices.Clone(list))
	if len(distinct) <= rangesMost {
		return distinct
	}
	var edges []float64
	for i := range rangesMost {
		e := list[(i+1)*len(list)/(rangesMost+1)]
		if len(edges) == 0 || edges[len(edges)-1] < e {
			edges = append(edges, e)
		}
	}
	return edges
}

// see takes an exchange; of one in which no response has a value nothing. One that the second
// response alone has counts, else what is asked twice would be chosen by what was said first.
func (k *kinds) see(monolith, candidate, again []Value) {
	if len(monolith)+len(candidate)+len(again) == 0 {
		return
	}
	k.begin()
	known := len(k.rows)
	for side, values := range [3][]Value{monolith, candidate, again} {
		if side == 2 && again == nil {
			break
		}
		k.count(side, values)
	}
	for i := range k.rows {
		r := &k.rows[i]
		g := r.now[1] - r.now[0]
		if i < known { // what names a kind is no bet on it
			add(&r.trial.all, g)
			add(&r.trial.window, g)
			if again != nil {
				add(&r.trial.second, r.now[2]-r.now[0])
			}
		}
		r.of[0] += r.now[0]
		r.of[1] += r.now[1]
		r.now = [3]float64{}
	}
	k.n++
	k.window++
	k.again += int(eprocess.Indicator(again != nil))
}

// add takes in a payoff without counting it, which is done once for all kinds.
func add(p *eprocess.Payoffs, g float64) {
	p.Sum += g
	p.Squares += g * g
}

// begin ends a window that is full.
func (k *kinds) begin() {
	if k.window < windowMost {
		return
	}
	for i := range k.rows {
		t := &k.rows[i].trial
		t.last, t.window = t.window, eprocess.Payoffs{}
	}
	k.last, k.window = k.window, 0
	k.windows++
}

// count takes the values of a side, each as a part of its response.
func (k *kinds) count(side int, values []Value) {
	if len(values) == 0 {
		k.rows[k.row(Absent)].now[side]++
		return
	}
	part := 1 / float64(len(values))
	for i := range values {
		v := &values[i]
		if !v.IsNumber {
			k.rows[k.row(v.Kind)].now[side] += part
			continue
		}
		k.rows[k.row(AnyNumber)].now[side] += part
		if len(k.edges) > 0 {
			k.rows[k.row(firstRange+uint64(sort.SearchFloat64s(k.edges, v.Number)))].now[side] += part
		}
	}
}

// row is the index of a kind, which is made where there is room.
func (k *kinds) row(code uint64) int {
	for i := range k.rows {
		if k.rows[i].code == code {
			return i
		}
	}
	if len(k.rows) >= kindsMost && code != others && !isRange(code) {
		return k.row(others)
	}
	k.rows = append(k.rows, kindRow{code: code})
	return len(k.rows) - 1
}

// trialOf is what the i-th kind has come to.
func (k *kinds) trialOf(i int) trial {
	t := k.rows[i].trial
	t.all.N, t.window.N, t.last.N, t.second.N, t.windows = k.n, k.window, k.last, k.again, k.windows
	return t
}
