package transcode

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"whittle/internal/jsonscan"
)

// flat is the short way for messages of single numbers, bools and strings,
// which is what hot endpoints are called with: from JSON straight to the wire
// format. It takes on only what is plain beyond doubt, and leaves all else,
// every error included, to protojson; FuzzFlat holds the two to the same.
type flat struct {
	fields map[string]flatField // by proto name and by JSON name
	strict bool                 // leave messages with unknown fields to protojson
	needed uint64               // bits of fields without which a message is left to protojson
}

type flatField struct {
	number   protowire.Number
	kind     protoreflect.Kind
	presence bool
	bit      uint64 // of the fields that were seen
}

// newFlat gives nil where the message has fields of other kinds.
func newFlat(md protoreflect.MessageDescriptor, strict, lossless bool) *flat {
	fields := md.Fields()
	if fields.Len() > 64 || md.FullName().Parent() == "google.protobuf" {
		return nil
	}
	f := &flat{fields: make(map[string]flatField, 2*fields.Len()), strict: strict}
	for i := range fields.Len() {
		fd := fields.Get(i)
		oneof := fd.ContainingOneof()
		if fd.Cardinality() != protoreflect.Optional || oneof != nil && !oneof.IsSynthetic() {
			return nil
		}
		switch fd.Kind() {
		case protoreflect.Int32Kind, protoreflect.Int64Kind, protoreflect.Uint32Kind, protoreflect.Uint64Kind,
			protoreflect.Sint32Kind, protoreflect.Sint64Kind, protoreflect.BoolKind, protoreflect.StringKind:
		default:
			return nil
		}
		field := flatField{fd.Number(), fd.Kind(), fd.HasPresence(), 1 << i}
		f.fields[fd.JSONName()] = field
		switch {
		case !lossless:
			f.fields[string(fd.Name())] = field
		case !field.presence:
			f.needed |= field.bit
		}
	}
	return f
}

// encode gives the message after free bytes left for a frame. It reports false
// for what is not plain.
func (f *flat) encode(body []byte, free int) ([]byte, bool) {
	out := make([]byte, free, free+32)
	var s jsonscan.Scanner
	s.Reset(body, 0, 1)
	if s.Next() != jsonscan.Object {
		return nil, false
	}
	var seen uint64
	for s.Next() == jsonscan.Key {
		if s.Escaped() {
			return nil, false
		}
		field, known := f.fields[string(s.Inside())]
		if known && seen&field.bit != 0 || !known && f.strict {
			return nil, false
		}
		kind := s.Next()
		if s.Escaped() {
			return nil, false
		}
		if known {
			var ok bool
			seen |= field.bit
			if out, ok = field.value(out, kind, &s); !ok {
				return nil, false
			}
		}
	}
	return out, s.Finish() == nil && s.ASCII() && seen&f.needed == f.needed
}

// value appends a field as it stands on the wire; zero is left out where the
// field cannot distinguish it from unset.
func (f *flatField) value(out []byte, kind jsonscan.Kind, s *jsonscan.Scanner) ([]byte, bool) {
	var v uint64
	switch {
	case f.kind == protoreflect.StringKind && kind == jsonscan.String:
		if text := s.Inside(); len(text) > 0 || f.presence {
			out = protowire.AppendTag(out, f.number, protowire.BytesType)
			out = protowire.AppendBytes(out, text)
		}
		return out, true
	case f.kind == protoreflect.BoolKind && kind == jsonscan.Bool:
		if s.Bytes()[0] == 't' {
			v = 1
		}
	case f.kind != protoreflect.StringKind && f.kind != protoreflect.BoolKind && kind == jsonscan.Number:
		var ok bool
		if v, ok = varint(f.kind, string(s.Bytes())); !ok {
			return nil, false
		}
	default:
		return nil, false
	}
	if v != 0 || f.presence {
		out = protowire.AppendTag(out, f.number, protowire.VarintType)
		out = protowire.AppendVarint(out, v)
	}
	return out, true
}

// varint gives an integer as its kind's varint, or false where it is out of
// the kind's range.
func varint(k protoreflect.Kind, text string) (uint64, bool) {
	bits := 64
	switch k {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Uint32Kind:
		bits = 32
	}
	if k == protoreflect.Uint32Kind || k == protoreflect.Uint64Kind {
		v, err := strconv.ParseUint(text, 10, bits)
		return v, err == nil
	}
	v, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		return 0, false
	}
	if k == protoreflect.Sint32Kind || k == protoreflect.Sint64Kind {
		return protowire.EncodeZigZag(v), true
	}
	return uint64(v), true
}
