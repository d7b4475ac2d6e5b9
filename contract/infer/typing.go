package infer

import (
	"math"
	"strings"

	"whittle/contract"
)

// headroom is how many times larger than what was seen an int32 must be able to
// hold: a total that wraps one day is worse than a wide number.
const headroom = 1000

// kind is the narrowest type that holds all of the numbers and leaves room for
// others.
func (s *numbers) kind() contract.Type {
	switch {
	case s.fractions > 0 || s.wide > 0:
		return contract.Double
	case s.high > math.MaxInt64 && s.negative:
		return contract.Double
	case s.high > math.MaxInt64:
		return contract.Uint64
	case s.high <= math.MaxInt32/headroom && s.low >= math.MinInt32/headroom:
		return contract.Int32
	}
	return contract.Int64
}

// isIDName says that a name is an id's: those grow, and a wide type costs them
// nothing.
func isIDName(name string) bool {
	n := contract.FieldName(name)
	return n == "id" || strings.HasSuffix(n, "_id")
}

// typed is a field's type.
type typed struct {
	typ             contract.Type
	repeated, isMap bool
	child           *class
}

func (t typed) singular() bool { return !t.repeated && !t.isMap }

var anyValue = typed{typ: contract.Value}

// typeOf gives a place its type by its shape alone; child is the class of the
// messages in it.
func typeOf(s *shape, child *class, clash bool) typed {
	kinds := s.kinds()
	if len(kinds) != 1 || clash || s.closed {
		return anyValue
	}
	switch kinds[0] {
	case kindArray:
		t := elementType(s.element, child)
		return typed{typ: t, repeated: true, child: childIf(t, child)}
	case kindObject:
		if s.any != nil {
			t := elementType(s.any, child)
			return typed{typ: t, isMap: true, child: childIf(t, child)}
		}
		if child == nil {
			return anyValue
		}
		return typed{typ: contract.MessageType, child: child}
	}
	return typed{typ: s.scalar(kinds[0])}
}

func childIf(t contract.Type, child *class) *class {
	if t == contract.MessageType {
		return child
	}
	return nil
}

func (s *shape) scalar(k kind) contract.Type {
	switch k {
	case kindBool:
		return contract.Bool
	case kindText:
		return contract.String
	}
	return s.number.kind()
}

// elementType is the type of an array's elements or a map's values: a Value
// where they are null at times, of several kinds, arrays or maps themselves, or
// not known.
func elementType(s *shape, child *class) contract.Type {
	if s == nil || s.nulls > 0 || s.closed {
		return contract.Value
	}
	kinds := s.kinds()
	switch {
	case len(kinds) != 1 || kinds[0] == kindArray:
		return contract.Value
	case kinds[0] == kindObject && child != nil && s.any == nil:
		return contract.MessageType
	case kinds[0] == kindObject:
		return contract.Value
	}
	return s.scalar(kinds[0])
}

// carries reports whether a field of the type gives back every number that the
// shape saw.
func (t typed) carries(s *shape) bool {
	switch t.typ {
	case contract.Value, contract.Double:
		return s.lossy() == 0
	}
	return true
}

// presence is how often a field was not simply there.
type presence struct{ absent, nulls, empty int }

// presenceOf counts it for one member of a class; f is nil where the member
// never had the field.
func (m *member) presenceOf(f *shape) presence {
	p := presence{absent: m.shape.objects + m.without}
	if f != nil {
		p.absent -= f.seen
		p.nulls = f.nulls
		p.empty = f.emptyArrays + f.emptyObjects
	}
	return p
}

// ambiguous says that no field but a Value tells all of it apart: null and
// absent, or, of a list or a map, either of them and empty.
func (p presence) ambiguous(t typed) bool {
	if t.typ == contract.Value && t.singular() {
		return false
	}
	if t.singular() {
		return p.absent > 0 && p.nulls > 0
	}
	ways := 0
	for _, n := range []int{p.absent, p.nulls, p.empty} {
		if n > 0 {
			ways++
		}
	}
	return ways > 1
}
