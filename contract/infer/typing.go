package infer

import (
	"strings"

	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/contract/infer/shape"
)

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
func typeOf(s *shape.Shape, child *class, clash bool) typed {
	kinds := s.Kinds()
	if len(kinds) != 1 || clash || s.Closed {
		return anyValue
	}
	var t typed
	switch {
	case kinds[0] == document.Array:
		t.typ, t.repeated = elementType(s.Element, child), true
	case kinds[0] == document.Object && s.Any != nil:
		t.typ, t.isMap = elementType(s.Any, child), true
	case kinds[0] == document.Object && child == nil:
		return anyValue
	case kinds[0] == document.Object:
		t.typ = contract.MessageType
	default:
		t.typ = s.Scalar(kinds[0])
	}
	if t.typ == contract.MessageType {
		t.child = child
	}
	return t
}

// elementType is the type of an array's elements or a map's values: a Value
// where they are null at times, of several kinds, arrays or maps themselves, or
// not known.
func elementType(s *shape.Shape, child *class) contract.Type {
	if s == nil || s.Nulls > 0 || s.Closed {
		return contract.Value
	}
	kinds := s.Kinds()
	switch {
	case len(kinds) != 1 || kinds[0] == document.Array:
		return contract.Value
	case kinds[0] == document.Object && child != nil && s.Any == nil:
		return contract.MessageType
	case kinds[0] == document.Object:
		return contract.Value
	}
	return s.Scalar(kinds[0])
}

// carries reports whether a field of the type gives back every number that the
// shape saw.
func (t typed) carries(s *shape.Shape) bool {
	return t.typ != contract.Value && t.typ != contract.Double || s.Lossy() == 0
}

// presence is how often a field was not simply there.
type presence struct{ absent, nulls, empty int }

// presenceOf counts it for one member of a class; f is nil where the member
// never had the field.
func (m *member) presenceOf(f *shape.Shape) presence {
	p := presence{absent: m.shape.Objects + m.without}
	if f != nil {
		p.absent -= f.Seen
		p.nulls = f.Nulls
		p.empty = f.EmptyArrays + f.EmptyObjects
	}
	return p
}

// ambiguous says that no field but a Value distinguishes all of it: null and
// absent, or, of a list or a map, either of them and empty.
func (p presence) ambiguous(t typed) bool {
	if t.singular() {
		return t.typ != contract.Value && p.absent > 0 && p.nulls > 0
	}
	ways := 0
	for _, n := range []int{p.absent, p.nulls, p.empty} {
		if n > 0 {
			ways++
		}
	}
	return ways > 1
}
