package proto

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
	"whittle/contract"
)

// maxReserved bounds how many reserved numbers of a message are listed one by
// one.
const maxReserved = 1000

// name is what the contract calls a message or an enum: its own name; with that
// of what it is declared in before it where it is nested.
func (r *reader) name(d protoreflect.Descriptor) (name string, known bool) {
	if name, known = r.names[d.FullName()]; known {
		return name, true
	}
	full := strings.TrimPrefix(string(d.FullName()), string(d.ParentFile().Package())+".")
	name = contract.Unique(strings.ReplaceAll(full, ".", ""), "", func(n string) bool { return r.taken[n] })
	r.names[d.FullName()], r.taken[name] = name, true
	return name, false
}

// message adds a message and all that it refers to.
func (r *reader) message(d protoreflect.MessageDescriptor) (string, error) {
	if syntax := d.ParentFile().Syntax(); syntax != protoreflect.Proto3 {
		return "", whittle.Errorf(whittle.Unsupported, "%s is declared in %s, and not in proto3", d.FullName(), syntax)
	}
	name, known := r.name(d)
	if known {
		return name, nil
	}
	at := len(r.c.Messages)
	r.c.Messages = append(r.c.Messages, contract.Message{Name: name})
	m := contract.Message{Name: name, Doc: comment(d), Reserved: reserved(d)}
	for i := range d.Fields().Len() {
		f, err := r.field(d.Fields().Get(i))
		if err != nil {
			return "", err
		}
		m.Fields = append(m.Fields, f)
	}
	for i := range d.Oneofs().Len() {
		if o := d.Oneofs().Get(i); !o.IsSynthetic() {
			r.guess(name+"."+string(o.Name()), "optional fields", "a oneof", "a contract has no oneof; on the wire and in JSON the two are the same")
		}
	}
	r.c.Messages[at] = m
	return name, nil
}

func reserved(d protoreflect.MessageDescriptor) []int32 {
	var out []int32
	ranges := d.ReservedRanges()
	for i := range ranges.Len() {
		for n := ranges.Get(i)[0]; n < ranges.Get(i)[1] && len(out) < maxReserved; n++ {
			out = append(out, int32(n))
		}
	}
	return out
}

func (r *reader) field(d protoreflect.FieldDescriptor) (contract.Field, error) {
	f := contract.Field{
		Name: string(d.Name()), JSON: d.JSONName(), Number: int32(d.Number()),
		Repeated: d.IsList(), Map: d.IsMap(), Doc: comment(d),
	}
	value := d
	if d.IsMap() {
		if d.MapKey().Kind() != protoreflect.StringKind {
			return f, whittle.Errorf(whittle.Unsupported, "%s is a map whose keys are %s, not strings", d.FullName(), d.MapKey().Kind())
		}
		value = d.MapValue()
	}
	f.Optional = d.HasPresence() && value.Message() == nil
	var err error
	switch {
	case value.Enum() != nil:
		f.Type, f.Ref = contract.EnumType, r.enum(value.Enum())
	case value.Message() != nil && value.Message().ParentFile().Package() == "google.protobuf":
		f.Type = contract.Type(value.Message().FullName())
	case value.Message() != nil:
		f.Type = contract.MessageType
		f.Ref, err = r.message(value.Message())
	default:
		f.Type = contract.Type(value.Kind().String())
	}
	return f, err
}

// enum adds an enum. Of several names for one number the first stays. A nested enum's
// names may be another's too, and a contract nests nothing: then all of them get the
// enum's name before them, and keep their own in JSON.
func (r *reader) enum(d protoreflect.EnumDescriptor) string {
	name, known := r.name(d)
	if known {
		return name
	}
	e := contract.Enum{Name: name}
	numbers := map[protoreflect.EnumNumber]bool{}
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		if numbers[v.Number()] {
			r.guess(name+"."+string(v.Name()), "left out", "a second name", fmt.Sprintf("it has the number %d of another", v.Number()))
			continue
		}
		numbers[v.Number()] = true
		e.Values = append(e.Values, contract.EnumValue{Name: string(v.Name()), JSON: string(v.Name()), Number: int32(v.Number())})
	}
	r.distinguish(&e)
	r.c.Enums = append(r.c.Enums, e)
	return name
}

func (r *reader) distinguish(e *contract.Enum) {
	taken := func(name string) bool { return r.taken[name] }
	if slices.ContainsFunc(e.Values, func(v contract.EnumValue) bool { return taken(v.Name) }) {
		for i := range e.Values {
			e.Values[i].Name = contract.Unique(strings.ToUpper(contract.FieldName(e.Name))+"_"+e.Values[i].Name, "_", taken)
		}
		r.guess(e.Name, "names with the enum's before them", "its own names", "others in the file have them; JSON and the wire have what they had, JSON over Connect and Twirp has the new ones")
	}
	for _, v := range e.Values {
		r.taken[v.Name] = true
	}
}

func goPackage(d protoreflect.FileDescriptor) string {
	o, _ := d.Options().(*descriptorpb.FileOptions)
	return o.GetGoPackage()
}
