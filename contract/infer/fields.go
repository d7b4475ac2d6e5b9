package infer

import (
	"cmp"
	"slices"

	"whittle/contract"
)

// message makes a message of planned fields. Names and numbers are those of the
// earlier run where it had the field.
func message(name string, fields []planned, was *contract.Message) contract.Message {
	m := contract.Message{Name: name}
	if was != nil {
		m.Reserved = slices.Clone(was.Reserved)
	}
	sortLikeBefore(fields, was)
	nameFields(fields)
	next := nextNumber(was)
	for i := range fields {
		p := &fields[i]
		f := &p.field
		f.JSON = p.key
		f.Type, f.Repeated, f.Map = p.typed.typ, p.typed.repeated, p.typed.isMap
		switch {
		case p.typed.child != nil:
			f.Ref = p.typed.child.name
		case p.was != nil && !p.moved:
			f.Ref = p.was.Ref
		}
		f.Optional = p.optional && p.typed.singular()
		f.Doc = p.doc()
		if p.was != nil && !p.moved {
			f.Number = p.was.Number
			f.Optional = f.Optional || p.was.Optional && p.typed.singular()
		} else {
			if p.moved {
				m.Reserved = append(m.Reserved, p.was.Number)
			}
			f.Number = next
			next = skipOwn(next + 1)
		}
		m.Fields = append(m.Fields, *f)
	}
	slices.Sort(m.Reserved)
	return m
}

// sortLikeBefore puts the fields of the earlier run first, in its order, so
// that the .proto file changes only where something is new.
func sortLikeBefore(fields []planned, was *contract.Message) {
	if was == nil {
		return
	}
	at := func(p planned) int {
		if p.was == nil {
			return len(was.Fields)
		}
		return slices.IndexFunc(was.Fields, func(f contract.Field) bool { return f.Name == p.was.Name })
	}
	slices.SortStableFunc(fields, func(a, b planned) int { return at(a) - at(b) })
}

// nameFields gives each field its name in proto: that of the earlier run; then,
// before those that are made, names that are a field's in JSON already.
func nameFields(fields []planned) {
	var keys []string
	for i := range fields {
		if fields[i].key != "" && fields[i].name == "" {
			keys = append(keys, fields[i].key)
		}
	}
	names := contract.NewFieldNames(keys...)
	for i := range fields {
		if p := &fields[i]; p.was != nil {
			p.key = p.was.JSONName()
			p.field.Name = p.was.Name
			names.Take(p.was.Name, p.key)
		}
	}
	for _, made := range []bool{false, true} {
		for i := range fields {
			p := &fields[i]
			want := p.name
			want = cmp.Or(want, contract.FieldName(p.key))
			if p.was != nil || made != (p.name != "" || want != p.key) {
				continue
			}
			p.field.Name = names.Make(want, p.key)
			p.key = cmp.Or(p.key, contract.DefaultJSON(p.field.Name))
		}
	}
}
