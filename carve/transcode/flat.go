package transcode

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
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
	s := scanner{rest: body}
	if !s.sign('{') {
		return nil, false
	}
	if s.sign('}') {
		return out, s.end() && f.needed == 0
	}
	var seen uint64
	for {
		key, ok := s.plainString()
		if !ok || !s.sign(':') {
			return nil, false
		}
		field, known := f.fields[string(key)]
		if known && seen&field.bit != 0 || !known && f.strict {
			return nil, false
		}
		seen |= field.bit
		if known {
			out, ok = s.value(out, field)
		} else {
			ok = s.skip()
		}
		switch {
		case !ok:
			return nil, false
		case s.sign(','):
		case s.sign('}'):
			return out, s.end() && seen&f.needed == f.needed
		default:
			return nil, false
		}
	}
}

// scanner reads JSON of which it understands the plainest part.
type scanner struct{ rest []byte }

func (s *scanner) blank() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\n' || s.rest[0] == '\t' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

func (s *scanner) end() bool {
	s.blank()
	return len(s.rest) == 0
}

func (s *scanner) sign(c byte) bool {
	s.blank()
	if len(s.rest) > 0 && s.rest[0] == c {
		s.rest = s.rest[1:]
		return true
	}
	return false
}

// plainString reads a string of printable ASCII without escapes.
func (s *scanner) plainString() ([]byte, bool) {
	if !s.sign('"') {
		return nil, false
	}
	for i, c := range s.rest {
		switch {
		case c == '"':
			text := s.rest[:i]
			s.rest = s.rest[i+1:]
			return text, true
		case c < ' ' || c >= 0x7f || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// plainNumber reads an integer without fraction or exponent.
func (s *scanner) plainNumber() ([]byte, bool) {
	s.blank()
	n := 0
	if n < len(s.rest) && s.rest[n] == '-' {
		n++
	}
	first := n
	for n < len(s.rest) && s.rest[n] >= '0' && s.rest[n] <= '9' {
		n++
	}
	if n == first || n-first > 1 && s.rest[first] == '0' {
		return nil, false
	}
	if n < len(s.rest) && (s.rest[n] == '.' || s.rest[n]|0x20 == 'e') {
		return nil, false
	}
	text := s.rest[:n]
	s.rest = s.rest[n:]
	return text, true
}

func (s *scanner) word(w string) bool {
	s.blank()
	if len(s.rest) < len(w) || string(s.rest[:len(w)]) != w {
		return false
	}
	s.rest = s.rest[len(w):]
	return true
}

// skip passes over the plain value of an unknown field.
func (s *scanner) skip() bool {
	if s.word("true") || s.word("false") || s.word("null") {
		return true
	}
	if len(s.rest) > 0 && s.rest[0] == '"' {
		_, ok := s.plainString()
		return ok
	}
	_, ok := s.plainNumber()
	return ok
}

// value appends a field as it stands on the wire; zero is left out where the
// field cannot tell it from unset.
func (s *scanner) value(out []byte, f flatField) ([]byte, bool) {
	var v uint64
	switch f.kind {
	case protoreflect.StringKind:
		text, ok := s.plainString()
		if !ok {
			return nil, false
		}
		if len(text) > 0 || f.presence {
			out = protowire.AppendTag(out, f.number, protowire.BytesType)
			out = protowire.AppendBytes(out, text)
		}
		return out, true
	case protoreflect.BoolKind:
		if s.word("true") {
			v = 1
		} else if !s.word("false") {
			return nil, false
		}
	default:
		text, ok := s.plainNumber()
		if !ok {
			return nil, false
		}
		if v, ok = varint(f.kind, string(text)); !ok {
			return nil, false
		}
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
	switch k {
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		bits := 64
		if k == protoreflect.Uint32Kind {
			bits = 32
		}
		v, err := strconv.ParseUint(text, 10, bits)
		return v, err == nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false
	}
	if k == protoreflect.Int32Kind || k == protoreflect.Sint32Kind {
		if v < math.MinInt32 || v > math.MaxInt32 {
			return 0, false
		}
	}
	if k == protoreflect.Sint32Kind || k == protoreflect.Sint64Kind {
		return protowire.EncodeZigZag(v), true
	}
	return uint64(v), true
}
