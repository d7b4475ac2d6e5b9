// Package shape collects statistics on the values at each place of many JSON texts:
// kinds, ranges of numbers, formats and words of texts, names of members. Memory is
// bounded for any input.
package shape

import (
	"cmp"

	"whittle/contract"
	"whittle/contract/infer/document"
)

// MaxKeys bounds the names that are tracked in one object; with more it is
// taken for a map.
const MaxKeys = 256

// Bounds are those of all shapes together: Most places are tracked, at most Depth deep.
type Bounds struct {
	nodes, Most, Depth int
}

// Shape is what was seen of the values at one place of a JSON text.
type Shape struct {
	// Seen counts the values, null among them.
	Seen, Nulls, Bools int
	Number             Numbers
	Text               Texts
	// EmptyObjects and EmptyArrays count those of Objects and Arrays that had nothing in
	// them.
	Objects, Arrays int
	EmptyObjects    int
	EmptyArrays     int
	longest         int // array
	// Fields are the members by name, Keys their names in the order in which they were seen
	// first. Members counts all members of all objects.
	Fields  map[string]*Shape
	Keys    []string
	Members int
	// Any is what all members together have, once there were too many names.
	Any *Shape
	// Element is what all elements of all arrays have.
	Element *Shape
	// Closed says that what lies in this value is not looked into, since a bound was
	// reached; closedLossy counts the numbers in it that no double holds.
	Closed      bool
	closedLossy int
	// odd says that a member has a name that no field can have in JSON.
	odd bool
	// Why says why it is a map, once that is decided.
	Why string
}

// See takes one value at this place.
func (s *Shape) See(v *document.Value, b *Bounds, depth int) {
	s.Seen++
	switch v.Kind {
	case document.Null:
		s.Nulls++
	case document.Bool:
		s.Bools++
	case document.Number:
		s.Number.See(v.Text)
	case document.Text:
		s.Text.See(v.Text)
	case document.Array:
		s.Arrays++
		s.longest = max(s.longest, len(v.Items))
		if len(v.Items) == 0 {
			s.EmptyArrays++
		}
		s.inside(v, b, depth)
	case document.Object:
		s.Objects++
		s.Members += len(v.Items)
		if len(v.Items) == 0 {
			s.EmptyObjects++
		}
		s.inside(v, b, depth)
	}
}

func (s *Shape) inside(v *document.Value, b *Bounds, depth int) {
	if depth >= b.Depth {
		s.Closed = true
	}
	if s.Closed {
		s.closedLossy += lossyIn(v)
		return
	}
	for i := range v.Items {
		var place *Shape
		if v.Kind == document.Array {
			place = s.elementPlace(b)
		} else {
			place = s.memberPlace(v.Keys[i], b)
		}
		if place == nil {
			s.Closed = true
			s.closedLossy += lossyIn(v)
			return
		}
		place.See(&v.Items[i], b, depth+1)
	}
}

func (b *Bounds) place() *Shape {
	if b.nodes >= b.Most {
		return nil
	}
	b.nodes++
	return &Shape{}
}

func (s *Shape) elementPlace(b *Bounds) *Shape {
	if s.Element == nil {
		s.Element = b.place()
	}
	return s.Element
}

func (s *Shape) memberPlace(key string, b *Bounds) *Shape {
	if s.Any != nil {
		return s.Any
	}
	if f := s.Fields[key]; f != nil {
		return f
	}
	if len(s.Keys) == MaxKeys {
		s.gather()
		return s.Any
	}
	f := b.place()
	if f == nil {
		return nil
	}
	if s.Fields == nil {
		s.Fields = map[string]*Shape{}
	}
	s.Fields[key] = f
	s.Keys = append(s.Keys, key)
	s.odd = s.odd || contract.OddKey(key)
	return f
}

// gather makes one shape of all members: the names do not matter any more.
func (s *Shape) gather() {
	s.Any = s.values()
	s.Fields, s.Keys = nil, nil
}

// values is the shape that all members have together.
func (s *Shape) values() *Shape {
	if s.Any != nil {
		return s.Any
	}
	all := &Shape{}
	for _, k := range s.Keys {
		all.Absorb(s.Fields[k])
	}
	return all
}

// Absorb adds what another shape saw, as if it had been seen here. The other
// one stays as it is, and shares nothing with s.
func (s *Shape) Absorb(o *Shape) {
	s.Seen += o.Seen
	s.Nulls += o.Nulls
	s.Bools += o.Bools
	s.Number.Absorb(&o.Number)
	s.Text.Absorb(&o.Text)
	s.Objects += o.Objects
	s.Arrays += o.Arrays
	s.EmptyObjects += o.EmptyObjects
	s.EmptyArrays += o.EmptyArrays
	s.longest = max(s.longest, o.longest)
	s.Members += o.Members
	s.Closed = s.Closed || o.Closed
	s.closedLossy += o.closedLossy
	s.odd = s.odd || o.odd
	s.Why = cmp.Or(s.Why, o.Why)
	if o.Element != nil {
		if s.Element == nil {
			s.Element = &Shape{}
		}
		s.Element.Absorb(o.Element)
	}
	if o.Any != nil && s.Any == nil {
		s.gather()
	}
	if s.Any != nil {
		s.Any.Absorb(o.values())
		return
	}
	for _, k := range o.Keys {
		f := s.Fields[k]
		if f == nil {
			if s.Fields == nil {
				s.Fields = map[string]*Shape{}
			}
			f = &Shape{}
			s.Fields[k] = f
			s.Keys = append(s.Keys, k)
		}
		f.Absorb(o.Fields[k])
	}
	if len(s.Keys) > MaxKeys {
		s.gather()
	}
}

// Lossy counts the numbers at and below this place that no double holds.
func (s *Shape) Lossy() int {
	n := s.Number.Lossy + s.closedLossy
	if s.Element != nil {
		n += s.Element.Lossy()
	}
	if s.Any != nil {
		n += s.Any.Lossy()
	}
	for _, k := range s.Keys {
		n += s.Fields[k].Lossy()
	}
	return n
}

// Kinds lists the kinds other than null that were seen.
func (s *Shape) Kinds() []document.Kind {
	var out []document.Kind
	for k, n := range [...]int{document.Bool: s.Bools, document.Number: s.Number.N, document.Text: s.Text.N, document.Array: s.Arrays, document.Object: s.Objects} {
		if n > 0 {
			out = append(out, document.Kind(k))
		}
	}
	return out
}

func lossyIn(v *document.Value) int {
	if v.Kind == document.Number && !doubleHolds(v.Text) {
		return 1
	}
	n := 0
	for i := range v.Items {
		n += lossyIn(&v.Items[i])
	}
	return n
}

// Scalar is the type of the values of one kind.
func (s *Shape) Scalar(k document.Kind) contract.Type {
	switch k {
	case document.Bool:
		return contract.Bool
	case document.Text:
		return contract.String
	}
	return s.Number.Kind()
}

// Inner is the object shape that a field of this shape would have as its
// message: itself, its elements', its map's values'. Nil: there is none.
func (s *Shape) Inner() (in *Shape, how document.Kind) {
	kinds := s.Kinds()
	if len(kinds) != 1 || s.Closed {
		return nil, document.Null
	}
	switch {
	case kinds[0] == document.Array:
		in, how = s.Element, document.Array
	case kinds[0] == document.Object && s.Any != nil:
		in, how = s.Any, document.Object
	case kinds[0] == document.Object:
		return s.message(), document.Null
	}
	if in == nil || in.Nulls > 0 || len(in.Kinds()) != 1 || in.Objects == 0 {
		return nil, how
	}
	return in.message(), how
}

// message is s where its objects are messages.
func (s *Shape) message() *Shape {
	if s.Any != nil || s.Members == 0 || s.Closed {
		return nil
	}
	return s
}

// AlwaysEmpty says that nothing but {} was seen.
func (s *Shape) AlwaysEmpty() bool {
	return s.Objects > 0 && s.Members == 0 && s.Nulls == 0 && len(s.Kinds()) == 1 && !s.Closed
}
