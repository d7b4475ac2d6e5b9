package transcode

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"whittle/internal/jsonscan"
)

var (
	errTooDeep = errors.New("messages are nested too deeply")
	errTooLong = errors.New("the mapped response is too long")
)

// jsonWriter writes messages as JSON. protojson is not used for it, but where
// the mapping of a well-known type is its own: it writes 64-bit integers as
// strings, and strews in blanks at random so that nobody relies on its bytes,
// which is what an exact comparison does.
type jsonWriter struct {
	b     []byte
	types *dynamicpb.Types
	words *words
	// asks says that a request is written, as a candidate writes it: what is
	// unset and has no word is left out, and so are the fields next to the body.
	asks  bool
	apart map[protoreflect.FieldNumber]bool
}

func (w *jsonWriter) message(m protoreflect.Message, depth int, unset *absence) error {
	if depth > maxDepth {
		return errTooDeep
	}
	if len(w.b) > maxRendered {
		return errTooLong
	}
	if name, ok := strings.CutPrefix(string(m.Descriptor().FullName()), "google.protobuf."); ok {
		if done, err := w.wellKnown(m, name); done || err != nil {
			return err
		}
	}
	w.b = append(w.b, '{')
	first := true
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		below := unset.at(f)
		if depth == 0 && w.apart[f.Number()] {
			continue
		}
		if !m.Has(f) && !below.isNull() && (f.HasPresence() || below.isAbsent() || w.asks && w.words.unsaid(f)) {
			continue
		}
		if !first {
			w.b = append(w.b, ',')
		}
		first = false
		w.b = append(appendString(w.b, f.JSONName()), ':')
		if below.isNull() && !m.Has(f) {
			w.b = append(w.b, "null"...)
			continue
		}
		if err := w.field(f, m.Get(f), depth, below); err != nil {
			return err
		}
	}
	w.b = append(w.b, '}')
	return nil
}

// wellKnown writes the types whose JSON is not that of their fields. It reports
// false for the others.
func (w *jsonWriter) wellKnown(m protoreflect.Message, name string) (bool, error) {
	switch name {
	case "DoubleValue", "FloatValue", "Int64Value", "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue":
		f := m.Descriptor().Fields().ByNumber(1)
		if f == nil {
			return false, nil
		}
		return true, w.single(f, m.Get(f), 0, nil)
	case "Any", "Timestamp", "Duration", "Struct", "Value", "ListValue", "FieldMask":
		text, err := protojson.MarshalOptions{Resolver: w.types}.Marshal(m.Interface())
		if err != nil {
			return true, err
		}
		out := bytes.NewBuffer(w.b)
		err = json.Compact(out, text)
		w.b = out.Bytes()
		return true, err
	}
	return false, nil
}

func (w *jsonWriter) field(f protoreflect.FieldDescriptor, v protoreflect.Value, depth int, unset *absence) error {
	switch {
	case f.IsList():
		list := v.List()
		w.b = append(w.b, '[')
		for i := range list.Len() {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			if err := w.single(f, list.Get(i), depth, unset); err != nil {
				return err
			}
		}
		w.b = append(w.b, ']')
		return nil
	case f.IsMap():
		w.b = append(w.b, '{')
		for i, key := range sortedKeys(v.Map()) {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.b = append(appendString(w.b, key.String()), ':')
			if err := w.single(f.MapValue(), v.Map().Get(key), depth, unset); err != nil {
				return err
			}
		}
		w.b = append(w.b, '}')
		return nil
	}
	return w.single(f, v, depth, unset)
}

func (w *jsonWriter) single(f protoreflect.FieldDescriptor, v protoreflect.Value, depth int, unset *absence) error {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return w.message(v.Message(), depth+1, unset)
	case protoreflect.BoolKind:
		w.b = strconv.AppendBool(w.b, v.Bool())
	case protoreflect.StringKind:
		w.b = appendString(w.b, v.String())
	case protoreflect.BytesKind:
		w.b = append(base64.StdEncoding.AppendEncode(append(w.b, '"'), v.Bytes()), '"')
	case protoreflect.EnumKind:
		switch word, ok := w.words.word(f.Enum(), v.Enum()); {
		case f.Enum().FullName() == "google.protobuf.NullValue":
			w.b = append(w.b, "null"...)
		case ok:
			w.b = appendString(w.b, word)
		case w.words.has(f.Enum()):
			return wordless(f, word)
		default:
			w.b = append(w.b, word...)
		}
	case protoreflect.FloatKind:
		w.b = appendFloat(w.b, v.Float(), 32)
	case protoreflect.DoubleKind:
		w.b = appendFloat(w.b, v.Float(), 64)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		w.b = strconv.AppendUint(w.b, v.Uint(), 10)
	default:
		w.b = strconv.AppendInt(w.b, v.Int(), 10)
	}
	if len(w.b) > maxRendered {
		return errTooLong
	}
	return nil
}

func sortedKeys(m protoreflect.Map) []protoreflect.MapKey {
	keys := make([]protoreflect.MapKey, 0, m.Len())
	m.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int {
		switch a.Interface().(type) {
		case int32, int64:
			return cmp.Compare(a.Int(), b.Int())
		case uint32, uint64:
			return cmp.Compare(a.Uint(), b.Uint())
		}
		return cmp.Compare(a.String(), b.String())
	})
	return keys
}

// appendFloat writes a number as ECMAScript does, and what JSON has no number
// for as the proto3 mapping's strings.
func appendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 0):
		if v < 0 {
			return append(b, `"-Infinity"`...)
		}
		return append(b, `"Infinity"`...)
	}
	if v == 0 {
		return append(b, '0') // −0 too
	}
	format := byte('f')
	if a := math.Abs(v); a < 1e-6 || a >= 1e21 {
		format = 'e'
	}
	b = strconv.AppendFloat(b, v, format, -1, bits)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' {
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}

// appendString quotes as JSON.stringify does: only what must be escaped is.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return jsonscan.AppendString(b, s)
}
