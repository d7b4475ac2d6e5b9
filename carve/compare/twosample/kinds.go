package twosample

import (
	"slices"
	"sort"
)

// Bounds of kinds.
const (
	kindsMost  = 24 // that are told apart; what comes later is one
	rangesMost = 12 // of numbers, of five of the first each
)

// The kinds that are none of words. Others are hashes, which are hardly ever as small.
const (
	Absent uint64 = iota + 1 // no value
	AnyNumber
	others
	firstRange // the i-th range is firstRange + i
)

// kinds counts how often each kind of values comes on either side.
type kinds struct {
	Rows []kindRow `json:"k,omitempty"`
	// Edges are the upper ends of the ranges, the last one of which has none.
	Edges []float64 `json:"e,omitempty"`
	// None is of a kind that never came, with which each begins.
	None trial `json:"z"`
}

// kindRow is one kind.
type kindRow struct {
	Code uint64 `json:"c"`
	// Of says how often each side had it, in responses.
	Of  [2]float64 `json:"of"`
	T   trial      `json:"t"`
	now [3]float64 // in the present exchange
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
	known := len(k.Rows)
	for side, values := range [3][]Value{monolith, candidate, again} {
		if side < 2 || again != nil {
			k.count(side, values)
		}
	}
	for i := range k.Rows {
		r := &k.Rows[i]
		if i < known { // what names a kind is no bet on it
			r.T.take(&r.now, again != nil)
		}
		r.Of[0] += r.now[0]
		r.Of[1] += r.now[1]
		r.now = [3]float64{}
	}
	k.None.take(&[3]float64{}, again != nil)
	for i := known; i < len(k.Rows); i++ {
		k.Rows[i].T = k.None
	}
}

// take takes in how often a kind came in each of the three responses.
func (t *trial) take(now *[3]float64, again bool) {
	if t.see(now[1] - now[0]); again {
		t.Second.Add(now[2] - now[0])
	}
}

// count takes the values of a side, each as a part of its response.
func (k *kinds) count(side int, values []Value) {
	if len(values) == 0 {
		k.Rows[k.row(Absent)].now[side]++
		return
	}
	part := 1 / float64(len(values))
	for i := range values {
		v := &values[i]
		if !v.IsNumber {
			k.Rows[k.row(v.Kind)].now[side] += part
			continue
		}
		k.Rows[k.row(AnyNumber)].now[side] += part
		if len(k.Edges) > 0 {
			k.Rows[k.row(firstRange+uint64(sort.SearchFloat64s(k.Edges, v.Number)))].now[side] += part
		}
	}
}

// row is the index of a kind, which is made where there is room.
func (k *kinds) row(code uint64) int {
	for i := range k.Rows {
		if k.Rows[i].Code == code {
			return i
		}
	}
	if len(k.Rows) >= kindsMost && code != others && !isRange(code) {
		return k.row(others)
	}
	k.Rows = append(k.Rows, kindRow{Code: code})
	return len(k.Rows) - 1
}
