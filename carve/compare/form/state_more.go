package form

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"
)

// moreState is what is kept of a place's sets, pairs and numbers: hashes, in 8 bytes each, the
// last numbers, and since when something is watched, in ns.
type moreState struct {
	Members  []byte          `json:"m,omitempty"`
	Many     bool            `json:"many,omitempty"`
	Last     [2]uint64       `json:"l"`
	Since    int64           `json:"t,omitempty"`
	Long     bool            `json:"long,omitempty"`
	Watched  [2]watchState   `json:"w"` // of sets and pairs
	Ranges   *rangesState    `json:"r,omitempty"`
	Partners []*partnerState `json:"p,omitempty"` // nil: the values do not follow from it
}

type watchState struct {
	Since int64 `json:"t,omitempty"`
	Long  bool  `json:"long,omitempty"`
}

type rangesState struct {
	Kept   [2][]float64 `json:"k"`
	Next   [2]int       `json:"next"`
	N      int          `json:"n"`
	Beyond float64      `json:"b"`
	Above  bool         `json:"a,omitempty"`
	Apart  bool         `json:"apart,omitempty"`
}

type partnerState struct {
	To    []byte `json:"to,omitempty"`
	Spent []byte `json:"s,omitempty"`
	Again int    `json:"again,omitempty"`
	Tries int    `json:"tries,omitempty"`
}

func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func timeOf(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// more is what is to be kept.
func (p *formPath) more() *moreState {
	s := &moreState{Many: p.members.more, Last: p.still.last, Since: nanos(p.still.since), Long: p.still.long}
	for _, h := range slices.Sorted(maps.Keys(p.members.of)) {
		s.Members = binary.LittleEndian.AppendUint64(s.Members, h)
	}
	for i, k := range []int{featMember, featPair} {
		s.Watched[i] = watchState{nanos(p.watched[k].since), p.watched[k].long}
	}
	if r := &p.ranges; r.n > 0 || len(r.kept[0])+len(r.kept[1]) > 0 {
		s.Ranges = &rangesState{r.kept, r.next, r.n, r.beyond, r.above, r.apart}
	}
	for _, t := range p.partners {
		if t.over {
			s.Partners = append(s.Partners, nil)
			continue
		}
		k := &partnerState{Again: t.again, Tries: t.tries}
		for _, key := range slices.Sorted(maps.Keys(t.to)) {
			k.To = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(k.To, key), t.to[key])
		}
		for _, pair := range slices.Sorted(maps.Keys(t.spent)) {
			k.Spent = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(k.Spent, pair), uint64(nanos(t.spent[pair])))
		}
		s.Partners = append(s.Partners, k)
	}
	return s
}

// take restores what was kept; false: it is not a possible state.
func (p *formPath) take(s *moreState) bool {
	if s == nil { // of a version that kept none
		return true
	}
	if len(s.Members) > 8*membersMost || len(s.Partners) > len(p.partners) {
		return false
	}
	p.members.more = s.Many
	for b := s.Members; len(b) >= 8; b = b[8:] {
		if p.members.of == nil {
			p.members.of = map[uint64]bool{}
		}
		p.members.of[binary.LittleEndian.Uint64(b)] = true
	}
	p.still = still{last: s.Last, since: timeOf(s.Since), long: s.Long}
	for i, k := range []int{featMember, featPair} {
		p.watched[k] = watch{timeOf(s.Watched[i].Since), s.Watched[i].Long}
	}
	if r := s.Ranges; r != nil {
		for side := range r.Kept {
			if len(r.Kept[side]) > rangeKept || r.Next[side] < 0 || r.Next[side] >= rangeKept {
				return false
			}
		}
		p.ranges = ranges{r.Kept, r.Next, r.N, r.Beyond, r.Above, r.Apart}
	}
	for i, k := range s.Partners {
		t := p.partners[i]
		if k == nil {
			t.over = true
			continue
		}
		if len(k.To) > 16*pairKeys || len(k.Spent) > 16*pairWrong || k.Again < 0 || k.Tries < k.Again {
			return false
		}
		if t.again, t.tries = k.Again, k.Tries; t.tries > 0 {
			t.to, t.values, t.spent = map[uint64]uint64{}, map[uint64]bool{}, map[uint64]time.Time{}
		}
		for b := k.To; len(b) >= 16 && t.to != nil; b = b[16:] {
			v := binary.LittleEndian.Uint64(b[8:])
			t.to[binary.LittleEndian.Uint64(b)], t.values[v] = v, true
		}
		for b := k.Spent; len(b) >= 16 && t.to != nil; b = b[16:] {
			t.spent[binary.LittleEndian.Uint64(b)] = timeOf(int64(binary.LittleEndian.Uint64(b[8:])))
		}
	}
	return true
}
