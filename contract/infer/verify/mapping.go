package verify

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"whittle"
	"whittle/contract"
	"whittle/contract/infer/document"
)

// mapping carries JSON through a contract's messages: into a message, its bytes
// on the wire, and out of it again.
type mapping struct {
	c     *contract.Contract
	types map[string]protoreflect.MessageDescriptor
}

func newMapping(c *contract.Contract) (*mapping, error) {
	set, err := c.Descriptor()
	if err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "check contract: %w", err)
	}
	m := &mapping{c: c, types: map[string]protoreflect.MessageDescriptor{}}
	for _, msg := range c.Messages {
		name := protoreflect.FullName(strings.TrimPrefix(c.Package+"."+msg.Name, "."))
		d, err := files.FindDescriptorByName(name)
		if err != nil {
			return nil, whittle.Errorf(whittle.Internal, "check contract: %w", err)
		}
		m.types[msg.Name], _ = d.(protoreflect.MessageDescriptor)
	}
	return m, nil
}

// wire sends a message over the wire.
func wire(m protoreflect.Message) (protoreflect.Message, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
	if err != nil {
		return nil, err
	}
	out := dynamicpb.NewMessage(m.Descriptor())
	return out, proto.Unmarshal(b, out)
}

// trip is one body's way through.
type trip struct {
	m            *mapping
	nulls, omits map[string]bool
}

func (m *mapping) trip(u contract.Unset) *trip {
	nulls, omits := u.Sets()
	return &trip{m, nulls, omits}
}

// read fills a message from an object's members.
func (t *trip) read(v *document.Value, name, path string) (protoreflect.Message, error) {
	d := t.m.types[name]
	if d == nil || v.Kind != document.Object {
		return nil, fmt.Errorf("%s is no object of %s", path, name)
	}
	msg := dynamicpb.NewMessage(d)
	for i, k := range v.Keys {
		f := t.m.c.Message(name).FieldOf(k)
		if f == nil {
			return nil, fmt.Errorf("%s has no field", path+contract.PathStep(k))
		}
		if err := t.readField(msg, f, &v.Items[i], path+contract.PathStep(k)); err != nil {
			return nil, err
		}
	}
	return msg, nil
}

func (t *trip) readField(msg protoreflect.Message, f *contract.Field, v *document.Value, path string) error {
	fd := msg.Descriptor().Fields().ByNumber(protoreflect.FieldNumber(f.Number))
	anything := f.Type == contract.Value && !f.Repeated && !f.Map
	if v.Kind == document.Null && !anything {
		if t.nulls[path] {
			return nil
		}
		return fmt.Errorf("%s is null", path)
	}
	switch {
	case f.Repeated:
		if v.Kind != document.Array {
			return fmt.Errorf("%s is no array", path)
		}
		list := msg.Mutable(fd).List()
		for i := range v.Items {
			item, err := t.readSingle(f, fd, list.NewElement(), &v.Items[i], path+"[*]")
			if err != nil {
				return err
			}
			list.Append(item)
		}
		return nil
	case f.Map:
		if v.Kind != document.Object {
			return fmt.Errorf("%s is no object", path)
		}
		m := msg.Mutable(fd).Map()
		for i, k := range v.Keys {
			item, err := t.readSingle(f, fd.MapValue(), m.NewValue(), &v.Items[i], path+".*")
			if err != nil {
				return err
			}
			m.Set(protoreflect.ValueOfString(k).MapKey(), item)
		}
		return nil
	}
	item, err := t.readSingle(f, fd, msg.NewField(fd), v, path)
	if err == nil {
		msg.Set(fd, item)
	}
	return err
}

// readSingle reads one value; empty is a new one of the field's.
func (t *trip) readSingle(f *contract.Field, fd protoreflect.FieldDescriptor, empty protoreflect.Value, v *document.Value, path string) (protoreflect.Value, error) {
	switch f.Type {
	case contract.MessageType:
		m, err := t.read(v, f.Ref, path)
		return protoreflect.ValueOfMessage(m), err
	case contract.Value:
		return empty, readAny(empty.Message(), v)
	case contract.EnumType:
		out, ok := t.m.enumOf(f, v.Kind, v.Text)
		if !ok {
			return empty, fmt.Errorf("%s is no word of %s", path, f.Ref)
		}
		return out, nil
	}
	out, ok := scalarOf(f.Type, v.Kind, v.Text)
	if !ok {
		return empty, fmt.Errorf("%s is no %s", path, f.Type)
	}
	return out, nil
}

// enumOf reads a word of a field's enum.
func (m *mapping) enumOf(f *contract.Field, k document.Kind, text string) (protoreflect.Value, bool) {
	e := m.c.Enum(f.Ref)
	if e == nil || k != document.Text || e.Value(text) == nil {
		return protoreflect.Value{}, false
	}
	return protoreflect.ValueOfEnum(protoreflect.EnumNumber(e.Value(text).Number)), true
}

// wordOf writes it; a value without a word is its number, which no JSON has.
func (m *mapping) wordOf(f *contract.Field, v protoreflect.Value) *document.Value {
	if e := m.c.Enum(f.Ref); e != nil {
		if w := e.Number(int32(v.Enum())); w != nil && w.JSON != "" {
			return &document.Value{Kind: document.Text, Text: w.JSON}
		}
	}
	return writeScalar(v)
}

// scalarOf reads a scalar; texts outside of JSON are of the kind of their type.
func scalarOf(t contract.Type, k document.Kind, text string) (protoreflect.Value, bool) {
	switch {
	case t == contract.String && k == document.Text:
		return protoreflect.ValueOfString(text), true
	case t == contract.Bool && k == document.Bool:
		return protoreflect.ValueOfBool(text == "true"), true
	case k != document.Number:
	case t == contract.Int32:
		i, err := strconv.ParseInt(text, 10, 32)
		return protoreflect.ValueOfInt32(int32(i)), err == nil
	case t == contract.Int64:
		i, err := strconv.ParseInt(text, 10, 64)
		return protoreflect.ValueOfInt64(i), err == nil
	case t == contract.Uint64:
		u, err := strconv.ParseUint(text, 10, 64)
		return protoreflect.ValueOfUint64(u), err == nil
	case t == contract.Double:
		d, err := strconv.ParseFloat(text, 64)
		return protoreflect.ValueOfFloat64(d), err == nil && !math.IsInf(d, 0)
	}
	return protoreflect.Value{}, false
}

// readAny fills a google.protobuf.Value.
func readAny(m protoreflect.Message, v *document.Value) error {
	fields := m.Descriptor().Fields()
	switch v.Kind {
	case document.Null:
		m.Set(fields.ByName("null_value"), protoreflect.ValueOfEnum(0))
	case document.Bool:
		m.Set(fields.ByName("bool_value"), protoreflect.ValueOfBool(v.Text == "true"))
	case document.Number:
		d, ok := scalarOf(contract.Double, document.Number, v.Text)
		if !ok {
			return fmt.Errorf("%.40s is beyond a double", v.Text)
		}
		m.Set(fields.ByName("number_value"), d)
	case document.Text:
		m.Set(fields.ByName("string_value"), protoreflect.ValueOfString(v.Text))
	case document.Array:
		l := m.Mutable(fields.ByName("list_value")).Message()
		values := l.Mutable(l.Descriptor().Fields().ByName("values")).List()
		for i := range v.Items {
			item := values.NewElement()
			if err := readAny(item.Message(), &v.Items[i]); err != nil {
				return err
			}
			values.Append(item)
		}
	case document.Object:
		s := m.Mutable(fields.ByName("struct_value")).Message()
		members := s.Mutable(s.Descriptor().Fields().ByName("fields")).Map()
		for i, k := range v.Keys {
			item := members.NewValue()
			if err := readAny(item.Message(), &v.Items[i]); err != nil {
				return err
			}
			members.Set(protoreflect.ValueOfString(k).MapKey(), item)
		}
	}
	return nil
}
