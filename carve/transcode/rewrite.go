package transcode

import (
	"bytes"

	"google.golang.org/protobuf/reflect/protoreflect"

	"whittle/internal/jsonscan"
)

// enums puts other JSON in the place of each enum's value in a JSON text of
// message md, and an empty list in that of null for a list of anything, which protojson
// does not read as it reads null for other lists. All else stays as it is, to the byte:
// what is wrong with it, or odd, is for protojson to say.
func (w *words) enums(text []byte, md protoreflect.MessageDescriptor, put func(protoreflect.FieldDescriptor, []byte) ([]byte, error)) ([]byte, error) {
	if !w.reach[md.FullName()] || jsonscan.Check(text, jsonscan.MaxDepth) != nil {
		return text, nil //nolint:nilerr // protojson says what is wrong
	}
	r := rewriter{in: text, reach: w.reach, put: put}
	r.scan.Reset(text, 0, jsonscan.MaxDepth)
	if err := r.object(r.scan.Next(), md, 0); err != nil {
		return nil, err
	}
	if r.copied == 0 {
		return text, nil
	}
	return append(r.out, r.in[r.copied:]...), nil
}

// rewriter goes through valid JSON once. in[:copied] is in out.
type rewriter struct {
	in     []byte
	scan   jsonscan.Scanner
	copied int
	out    []byte
	reach  map[protoreflect.FullName]bool
	put    func(protoreflect.FieldDescriptor, []byte) ([]byte, error)
}

// members calls f with the name of each member and the beginning of its value,
// which f reads to its end. What is no object is passed over.
func (r *rewriter) members(kind jsonscan.Kind, f func(name string, kind jsonscan.Kind) error) error {
	if kind != jsonscan.Object {
		r.scan.Skip()
		return nil
	}
	for r.scan.Next() == jsonscan.Key {
		name, _ := textOf(r.scan.Bytes())
		if err := f(name, r.scan.Next()); err != nil {
			return err
		}
	}
	return nil
}

func (r *rewriter) object(kind jsonscan.Kind, md protoreflect.MessageDescriptor, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	return r.members(kind, func(name string, kind jsonscan.Kind) error {
		f := md.Fields().ByJSONName(name) // which protojson prefers, too
		if f == nil {
			f = md.Fields().ByName(protoreflect.Name(name))
		}
		switch {
		case f == nil:
			r.scan.Skip()
			return nil
		case f.IsMap():
			return r.members(kind, func(_ string, kind jsonscan.Kind) error { return r.single(kind, f.MapValue(), depth) })
		case isListOfAny(f) && kind == jsonscan.Null:
			r.scan.Skip()
			r.replace("[]")
			return nil
		case f.IsList():
			return r.items(kind, f, depth)
		}
		return r.single(kind, f, depth)
	})
}

func isListOfAny(f protoreflect.FieldDescriptor) bool {
	return f.IsList() && f.Message() != nil && f.Message().FullName() == "google.protobuf.Value"
}

// replace puts other JSON in the place of the value that was read last.
func (r *rewriter) replace(with string) {
	r.out = append(append(r.out, r.in[r.copied:r.scan.Start()]...), with...)
	r.copied = r.scan.End()
}

// items reads the items of a list. What is no list is passed over.
func (r *rewriter) items(kind jsonscan.Kind, f protoreflect.FieldDescriptor, depth int) error {
	if kind != jsonscan.Array {
		r.scan.Skip()
		return nil
	}
	for {
		kind := r.scan.Next()
		if kind == jsonscan.End || kind == jsonscan.None {
			return nil
		}
		if err := r.single(kind, f, depth); err != nil {
			return err
		}
	}
}

// single reads a value of a field.
func (r *rewriter) single(kind jsonscan.Kind, f protoreflect.FieldDescriptor, depth int) error {
	if f.Message() != nil && r.reach[f.Message().FullName()] {
		return r.object(kind, f.Message(), depth+1)
	}
	r.scan.Skip()
	if f.Enum() == nil || f.Enum().FullName() == "google.protobuf.NullValue" {
		return nil
	}
	token := r.scan.Bytes()
	with, err := r.put(f, token)
	if err != nil {
		return err
	}
	if !bytes.Equal(with, token) {
		r.replace(string(with))
	}
	return nil
}
