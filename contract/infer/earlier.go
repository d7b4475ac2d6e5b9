package infer

import (
	"cmp"
	"math"

	"whittle/contract"
	"whittle/contract/infer/pattern"
	"whittle/contract/infer/shape"
)

// earlier is the contract of an earlier run, by what endpoints are; an empty one
// where there was none.
type earlier struct {
	c       *contract.Contract
	methods map[string]*contract.Method
}

func newEarlier(c *contract.Contract) *earlier {
	e := &earlier{c: cmp.Or(c, &contract.Contract{}), methods: map[string]*contract.Method{}}
	for i := range e.c.Methods {
		m := &e.c.Methods[i]
		e.methods[pattern.KeyOf(m.HTTP.Method, m.HTTP.Pattern)] = m
	}
	return e
}

// earlierBody is what the earlier run made of a body.
type earlierBody struct {
	e     *earlier
	form  contract.BodyForm
	field *contract.Field // of Whole
	// nulls and omits are known only where the contract was inferred, too.
	inferred     bool
	nulls, omits map[string]bool
}

func (e *earlier) body(m *contract.Method, response bool) *earlierBody {
	if m == nil {
		return nil
	}
	form, field, unset, in := m.HTTP.Body.Form, m.HTTP.Body.Field, m.HTTP.Body.Unset, m.Input
	if response {
		form, field, unset, in = m.HTTP.Response.Form, m.HTTP.Response.Field, m.HTTP.Response.Unset, m.Output
	}
	out := &earlierBody{e: e, form: form, field: e.c.Message(in).Field(field), inferred: m.Seen > 0}
	out.nulls, out.omits = unset.Sets()
	return out
}

func (b *earlierBody) whole() bool { return b != nil && b.form == contract.Whole }

// rootMessage is the message that a whole body, or each of its elements, was.
func (b *earlierBody) rootMessage() string {
	if b == nil || b.field == nil || b.field.Type != contract.MessageType {
		return ""
	}
	return b.field.Ref
}

// below is the message that a field of a message had.
func (b *earlierBody) below(message, key string) string {
	if b == nil {
		return ""
	}
	if f := b.e.c.Message(message).FieldOf(key); f != nil && f.Type == contract.MessageType {
		return f.Ref
	}
	return ""
}

// asBefore gives the type of texts whose field was an enum: the enum, as long as
// it has every word that was seen. An enum is what somebody declared, in an
// OpenAPI document or by hand; none is made of words that were only seen.
func (i *inference) asBefore(t typed, s *shape.Texts, was *contract.Field) typed {
	if was == nil || was.Type != contract.EnumType || t.typ != contract.String || s.Many {
		return t
	}
	e := i.before.c.Enum(was.Ref)
	for w := range s.Words {
		if e == nil || e.Value(w) == nil {
			return t
		}
	}
	t.typ = contract.EnumType
	return t
}

// keepEnum puts an enum of the earlier run into the contract.
func (i *inference) keepEnum(name string) {
	if e := i.before.c.Enum(name); e != nil && i.c.Enum(name) == nil {
		i.c.Enums = append(i.c.Enums, *e)
	}
}

// join gives the type that holds what the earlier run's field held and what the
// shape saw; s is nil for what is no JSON.
func join(was *contract.Field, now typed, s *shape.Shape) typed {
	before := typed{typ: was.Type, repeated: was.Repeated, isMap: was.Map, child: now.child}
	exact := s == nil || s.Lossy() == 0
	switch {
	case sameWire(was, now):
		if widerInt(was.Type, now.typ) {
			return before
		}
		return now
	case was.Type == contract.Value && before.singular() && exact:
		return anyValue
	case s != nil && s.Nulls == s.Seen && exact: // only nulls now
		return before
	case before.repeated != now.repeated || before.isMap != now.isMap:
		return anyValue
	case was.Type == contract.Value && exact:
		return before
	case isNumber(was.Type) && isNumber(now.typ):
		return joinNumbers(before, now, s, exact)
	case was.Type == contract.EnumType && now.typ == contract.String:
		return now
	case now.typ == contract.Value && now.singular():
		return now
	case !now.singular():
		now.typ, now.child = contract.Value, nil
		return now
	}
	return anyValue
}

func joinNumbers(before, now typed, s *shape.Shape, exact bool) typed {
	switch {
	case before.typ == contract.Double && exact:
		return before
	case now.typ == contract.Double || before.typ == contract.Double:
		return now
	case before.typ == contract.Uint64 && s != nil && !s.Number.Negative:
		return before
	}
	return now
}

func isNumber(t contract.Type) bool {
	return t == contract.Int32 || t == contract.Int64 || t == contract.Uint64 || t == contract.Double
}

// widerInt says that a holds all that b holds, and more.
func widerInt(a, b contract.Type) bool { return a == contract.Int64 && b == contract.Int32 }

// sameWire reports whether what was written as the one is read as the other:
// the same type, or an int32 and an int64, which are the same varint.
func sameWire(was *contract.Field, t typed) bool {
	if was.Repeated != t.repeated || was.Map != t.isMap {
		return false
	}
	ints := func(t contract.Type) bool { return t == contract.Int32 || t == contract.Int64 }
	switch {
	case ints(was.Type) && ints(t.typ):
		return true
	case was.Type == contract.MessageType && t.typ == contract.MessageType:
		return t.child == nil || t.child.before == was.Ref
	}
	return was.Type == t.typ
}

// nextNumber is the first number that a message never had. 19000 to 19999 are
// protobuf's own.
func nextNumber(m *contract.Message) int32 {
	next := int32(1)
	if m != nil {
		for _, f := range m.Fields {
			next = max(next, f.Number+1)
		}
		for _, n := range m.Reserved {
			next = max(next, n+1)
		}
	}
	return skipOwn(next)
}

func skipOwn(n int32) int32 {
	if n >= 19000 && n <= 19999 {
		return 20000
	}
	return min(n, math.MaxInt32>>2)
}
