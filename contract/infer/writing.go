package infer

import (
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"whittle/contract"
)

// write gives a message's members as an object.
func (t *trip) write(msg protoreflect.Message, name, path string) *value {
	out := &value{kind: kindObject}
	m := t.m.c.Message(name)
	for i := range m.Fields {
		f := &m.Fields[i]
		if v := t.writeField(msg, f, path+step(f.JSONName())); v != nil {
			out.keys, out.items = append(out.keys, f.JSONName()), append(out.items, *v)
		}
	}
	return out
}

// writeField gives a field's JSON, nil where it is left out.
func (t *trip) writeField(msg protoreflect.Message, f *contract.Field, path string) *value {
	fd := msg.Descriptor().Fields().ByNumber(protoreflect.FieldNumber(f.Number))
	list := f.Repeated || f.Map
	if !msg.Has(fd) && (list || fd.HasPresence()) {
		switch {
		case t.nulls[path]:
			return &value{kind: kindNull}
		case t.omits[path] || !list:
			return nil
		}
	}
	switch {
	case f.Repeated:
		out := &value{kind: kindArray}
		items := msg.Get(fd).List()
		for i := range items.Len() {
			out.items = append(out.items, *t.writeSingle(f, items.Get(i), path+"[*]"))
		}
		return out
	case f.Map:
		out := &value{kind: kindObject}
		msg.Get(fd).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			out.keys, out.items = append(out.keys, k.String()), append(out.items, *t.writeSingle(f, v, path+".*"))
			return true
		})
		return out
	}
	return t.writeSingle(f, msg.Get(fd), path)
}

func (t *trip) writeSingle(f *contract.Field, v protoreflect.Value, path string) *value {
	switch f.Type {
	case contract.MessageType:
		return t.write(v.Message(), f.Ref, path)
	case contract.Value:
		return writeAny(v.Message())
	case contract.EnumType:
		return t.m.wordOf(f, v)
	}
	return writeScalar(v)
}

func writeScalar(v protoreflect.Value) *value {
	switch x := v.Interface().(type) {
	case string:
		return &value{kind: kindText, text: x}
	case bool:
		return &value{kind: kindBool, text: strconv.FormatBool(x)}
	case float64:
		return &value{kind: kindNumber, text: strconv.FormatFloat(x, 'g', -1, 64)}
	}
	return &value{kind: kindNumber, text: v.String()}
}

func writeAny(m protoreflect.Message) *value {
	set := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	if set == nil {
		return &value{kind: kindNull}
	}
	v := m.Get(set)
	switch set.Name() {
	case "null_value":
		return &value{kind: kindNull}
	case "list_value":
		out := &value{kind: kindArray}
		items := v.Message().Get(v.Message().Descriptor().Fields().ByName("values")).List()
		for i := range items.Len() {
			out.items = append(out.items, *writeAny(items.Get(i).Message()))
		}
		return out
	case "struct_value":
		out := &value{kind: kindObject}
		members := v.Message().Get(v.Message().Descriptor().Fields().ByName("fields")).Map()
		members.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			out.keys, out.items = append(out.keys, k.String()), append(out.items, *writeAny(v.Message()))
			return true
		})
		return out
	}
	return writeScalar(v)
}
