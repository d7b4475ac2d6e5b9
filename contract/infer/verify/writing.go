package verify

import (
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"

	"whittle/contract"
	"whittle/contract/infer/document"
)

// write gives a message's members as an object.
func (t *trip) write(msg protoreflect.Message, name, path string) *document.Value {
	out := &document.Value{Kind: document.Object}
	m := t.m.c.Message(name)
	for i := range m.Fields {
		f := &m.Fields[i]
		if v := t.writeField(msg, f, path+contract.PathStep(f.JSONName())); v != nil {
			out.Keys, out.Items = append(out.Keys, f.JSONName()), append(out.Items, *v)
		}
	}
	return out
}

// writeField gives a field's JSON, nil where it is left out.
func (t *trip) writeField(msg protoreflect.Message, f *contract.Field, path string) *document.Value {
	fd := msg.Descriptor().Fields().ByNumber(protoreflect.FieldNumber(f.Number))
	list := f.Repeated || f.Map
	if !msg.Has(fd) && (list || fd.HasPresence()) {
		switch {
		case t.nulls[path]:
			return &document.Value{Kind: document.Null}
		case t.omits[path] || !list:
			return nil
		}
	}
	switch {
	case f.Repeated:
		out := &document.Value{Kind: document.Array}
		items := msg.Get(fd).List()
		for i := range items.Len() {
			out.Items = append(out.Items, *t.writeSingle(f, items.Get(i), path+"[*]"))
		}
		return out
	case f.Map:
		out := &document.Value{Kind: document.Object}
		msg.Get(fd).Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			out.Keys, out.Items = append(out.Keys, k.String()), append(out.Items, *t.writeSingle(f, v, path+".*"))
			return true
		})
		return out
	}
	return t.writeSingle(f, msg.Get(fd), path)
}

func (t *trip) writeSingle(f *contract.Field, v protoreflect.Value, path string) *document.Value {
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

func writeScalar(v protoreflect.Value) *document.Value {
	switch x := v.Interface().(type) {
	case string:
		return &document.Value{Kind: document.Text, Text: x}
	case bool:
		return &document.Value{Kind: document.Bool, Text: strconv.FormatBool(x)}
	case float64:
		return &document.Value{Kind: document.Number, Text: strconv.FormatFloat(x, 'g', -1, 64)}
	}
	return &document.Value{Kind: document.Number, Text: v.String()}
}

func writeAny(m protoreflect.Message) *document.Value {
	set := m.WhichOneof(m.Descriptor().Oneofs().Get(0))
	if set == nil {
		return &document.Value{Kind: document.Null}
	}
	v := m.Get(set)
	switch set.Name() {
	case "null_value":
		return &document.Value{Kind: document.Null}
	case "list_value":
		out := &document.Value{Kind: document.Array}
		items := v.Message().Get(v.Message().Descriptor().Fields().ByName("values")).List()
		for i := range items.Len() {
			out.Items = append(out.Items, *writeAny(items.Get(i).Message()))
		}
		return out
	case "struct_value":
		out := &document.Value{Kind: document.Object}
		members := v.Message().Get(v.Message().Descriptor().Fields().ByName("fields")).Map()
		members.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			out.Keys, out.Items = append(out.Keys, k.String()), append(out.Items, *writeAny(v.Message()))
			return true
		})
		return out
	}
	return writeScalar(v)
}
