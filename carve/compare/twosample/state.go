package twosample

import (
	"whittle/carve/compare/eprocess"
)

// State is what is kept of a test, in short: sums, and the last numbers.
type State struct {
	// Trials are position and spread, sums of each of its parts.
	Trials [2][]float64 `json:"t"`
	// Counts are the exchanges with numbers, and the counts of kinds.
	Counts [6]int       `json:"n"`
	Recent [2][]float64 `json:"r"`
	Next   [2]int       `json:"at"`
	Middle float64      `json:"m,omitempty"`
	Edges  []float64    `json:"e,omitempty"`
	Rows   []RowState   `json:"k,omitempty"`
}

// RowState is one kind.
type RowState struct {
	Code uint64     `json:"c"`
	Of   [2]float64 `json:"of"`
	Sums []float64  `json:"s"`
}

// parts are those of a trial that have sums.
func (t *trial) parts() [4]*eprocess.Payoffs {
	return [...]*eprocess.Payoffs{&t.all, &t.window, &t.last, &t.second}
}

func (t *trial) packed() []float64 {
	list := []float64{float64(t.windows)}
	for _, p := range t.parts() {
		list = append(list, float64(p.N), p.Sum, p.Squares)
	}
	return list
}

func (t *trial) unpack(list []float64) bool {
	if len(list) != 13 || !(list[0] >= 0 && list[0] < 1e15) {
		return false
	}
	t.windows = int(list[0])
	for i, p := range t.parts() {
		x := list[1+3*i:]
		if !(x[0] >= 0 && x[0] < 1e15) {
			return false
		}
		if p.N, p.Sum, p.Squares = int(x[0]), x[1], x[2]; !p.Valid() {
			return false
		}
	}
	return true
}

// State is what is known; nil: nothing is.
func (t *Test) State() *State {
	k := &t.kinds
	if t.n == 0 && k.n == 0 {
		return nil
	}
	s := &State{
		Trials: [2][]float64{t.position.packed(), t.spread.packed()}, Counts: [...]int{t.n, k.n, k.again, k.window, k.last, k.windows},
		Recent: [2][]float64{t.recent[0].list, t.recent[1].list}, Next: [2]int{t.recent[0].next, t.recent[1].next}, Middle: t.middle, Edges: k.edges,
	}
	for i := range k.rows {
		r := &k.rows[i]
		row := RowState{Code: r.code, Of: r.of}
		for _, p := range r.trial.parts() {
			row.Sums = append(row.Sums, p.Sum, p.Squares)
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// Restored is the test of a state; false: it is not a possible one.
func Restored(s *State) (*Test, bool) {
	t := &Test{}
	if s == nil {
		return t, true
	}
	if !t.position.unpack(s.Trials[0]) || !t.spread.unpack(s.Trials[1]) || len(s.Edges) > rangesMost || len(s.Rows) > kindsMost+rangesMost+2 {
		return nil, false
	}
	for _, n := range s.Counts {
		if n < 0 {
			return nil, false
		}
	}
	for side, list := range s.Recent {
		if len(list) > recentMost || !eprocess.UpTo(s.Next[side], recentMost-1) {
			return nil, false
		}
		t.recent[side] = recent{list, s.Next[side]}
	}
	k := &t.kinds
	t.middle, k.edges = s.Middle, s.Edges
	t.n, k.n, k.again, k.window, k.last, k.windows = s.Counts[0], s.Counts[1], s.Counts[2], s.Counts[3], s.Counts[4], s.Counts[5]
	for _, row := range s.Rows {
		r := kindRow{code: row.Code, of: row.Of}
		if len(row.Sums) != 8 || isRange(row.Code) && int(row.Code-firstRange) > len(k.edges) {
			return nil, false
		}
		for i, p := range r.trial.parts() {
			if p.N, p.Sum, p.Squares = k.n, row.Sums[2*i], row.Sums[2*i+1]; !p.Valid() {
				return nil, false
			}
			p.N = 0
		}
		k.rows = append(k.rows, r)
	}
	return t, true
}
