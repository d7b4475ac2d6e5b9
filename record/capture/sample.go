package capture

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
)

// maxDistinct bounds the inputs, and the kinds, that one Sample tracks.
const maxDistinct = 1 << 16

// Sample chooses, of any number of exchanges, those that represent them in
// tests and load plans: each kind of exchange once while there is room, and
// then distinct inputs, each once and none preferred (those with the smallest
// hashes, the bottom-k sketch of Cohen and Kaplan, PODC 2007). The same
// exchanges in the same order give the same choice.
//
// An input is a request; two with responses of different kinds are two. The
// zero value has no room. It is not safe for concurrent use.
type Sample[T any] struct {
	// Room bounds the number of chosen exchanges, Bytes their size together.
	Room, Bytes int

	seen   int
	inputs map[uint64]struct{}
	kinds  map[uint64]struct{}
	more   bool
	bytes  int
	first  map[uint64]*pick[T] // by kind
	plain  []*pick[T]          // in addition to those, by id
}

// pick is a candidate for the choice.
type pick[T any] struct {
	id, input, kind uint64
	at, size        int
	item            T
}

// See considers an exchange of a kind, of size bytes. keep makes the value that
// is stored, and is called only where it may be needed; it returns false where
// the exchange cannot be chosen.
func (s *Sample[T]) See(request RequestKey, kind string, size int, keep func() (T, bool)) {
	if s.first == nil {
		s.inputs, s.kinds, s.first = map[uint64]struct{}{}, map[uint64]struct{}{}, map[uint64]*pick[T]{}
	}
	s.seen++
	p := &pick[T]{id: hashed(request[:], kind), input: hashed(request[:], ""), kind: hashed(nil, kind), at: s.seen, size: size}
	s.note(s.inputs, p.input)
	s.note(s.kinds, p.kind)
	same := s.first[p.kind]
	leads := same == nil && len(s.first) < s.Room
	if same != nil && same.id == p.id || !leads && !s.wants(p) {
		return
	}
	var ok bool
	if p.item, ok = keep(); !ok {
		return
	}
	if leads {
		s.lead(p)
		return
	}
	s.insert(p)
}

// note counts one distinct value, up to maxDistinct.
func (s *Sample[T]) note(of map[uint64]struct{}, one uint64) {
	if _, known := of[one]; known {
		return
	}
	if len(of) >= maxDistinct {
		s.more = true
		return
	}
	of[one] = struct{}{}
}

// lead makes an exchange the representative of its kind, for which others make
// room.
func (s *Sample[T]) lead(p *pick[T]) {
	for s.bytes+p.size > s.Bytes && len(s.plain) > 0 {
		s.drop()
	}
	if s.bytes+p.size <= s.Bytes {
		s.first[p.kind] = p
		s.bytes += p.size
	}
}

// wants reports whether an exchange may be chosen among the others.
func (s *Sample[T]) wants(p *pick[T]) bool {
	i, known := s.place(p)
	return !known && i < s.Room && (s.bytes+p.size <= s.Bytes || i < len(s.plain))
}

func (s *Sample[T]) place(p *pick[T]) (int, bool) {
	return slices.BinarySearchFunc(s.plain, p.id, func(q *pick[T], id uint64) int { return cmp.Compare(q.id, id) })
}

func (s *Sample[T]) insert(p *pick[T]) {
	i, _ := s.place(p)
	s.plain = slices.Insert(s.plain, i, p)
	s.bytes += p.size
	for len(s.plain) > s.Room || s.bytes > s.Bytes { // the firsts of their kinds fit by themselves
		s.drop()
	}
}

// drop removes the one with the largest hash.
func (s *Sample[T]) drop() {
	last := len(s.plain) - 1
	s.bytes -= s.plain[last].size
	s.plain[last] = nil
	s.plain = s.plain[:last]
}

func (s *Sample[T]) picks() []*pick[T] {
	out := slices.Collect(maps.Values(s.first))
	out = append(out, s.plain[:min(len(s.plain), s.Room-len(out))]...)
	slices.SortFunc(out, func(a, b *pick[T]) int { return a.at - b.at })
	return out
}

// Chosen returns the choice in the order in which its exchanges came.
func (s *Sample[T]) Chosen() []T {
	picks := s.picks()
	out := make([]T, len(picks))
	for i, p := range picks {
		out[i] = p.item
	}
	return out
}

// Seen is how many exchanges there were.
func (s *Sample[T]) Seen() int { return s.seen }

// Coverage says how much of all exchanges the choice represents.
func (s *Sample[T]) Coverage() Coverage {
	inputs, kinds := map[uint64]bool{}, map[uint64]bool{}
	for _, p := range s.picks() {
		inputs[p.input], kinds[p.kind] = true, true
	}
	return Coverage{Inputs: len(s.inputs), Covered: len(inputs), Kinds: len(s.kinds), KindsCovered: len(kinds), More: s.more}
}

// Coverage is how many of the distinct inputs, and of the kinds of exchange,
// are represented. More: there were more of them than were tracked.
type Coverage struct {
	Inputs       int  `json:"inputs"`
	Covered      int  `json:"covered"`
	Kinds        int  `json:"kinds"`
	KindsCovered int  `json:"kinds_covered"`
	More         bool `json:"more,omitempty"`
}

// Of is the coverage by some of the inputs alone; it has no kinds.
func (c Coverage) Of(inputs []RequestKey) Coverage {
	distinct := map[RequestKey]bool{}
	for _, k := range inputs {
		distinct[k] = true
	}
	return Coverage{Inputs: c.Inputs, Covered: len(distinct), More: c.More}
}

// String is "9 of 9 distinct recorded inputs".
func (c Coverage) String() string {
	than := ""
	if c.More {
		than = "more than "
	}
	words := "inputs"
	if c.Inputs == 1 && !c.More {
		words = "input"
	}
	text := fmt.Sprintf("%d of %s%d distinct recorded %s", c.Covered, than, c.Inputs, words)
	if c.KindsCovered < c.Kinds {
		text += fmt.Sprintf(", and %d of %d kinds of exchange", c.KindsCovered, c.Kinds)
	}
	return text
}

func hashed(b []byte, s string) uint64 {
	h := sha256.New()
	h.Write(b)
	part(h, s)
	return binary.LittleEndian.Uint64(h.Sum(nil))
}
