package transcode

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// enums puts other JSON in the place of each enum's value in a JSON text of
// message md. All else stays as it is, to the byte: what is wrong with it, or
// odd, is for protojson to say.
func (w *words) enums(text []byte, md protoreflect.MessageDescriptor, put func(protoreflect.FieldDescriptor, []byte) ([]byte, error)) ([]byte, error) {
	if !w.reach[md.FullName()] || !json.Valid(text) {
		return text, nil
	}
	r := rewriter{in: text, reach: w.reach, put: put}
	if err := r.object(md, 0); err != nil {
		return nil, err
	}
	if r.copied == 0 {
		return text, nil
	}
	return append(r.out, r.in[r.copied:]...), nil
}

// rewriter goes through valid JSON once. in[:at] was read, in[:copied] is in out.
type rewriter struct {
	in         []byte
	at, copied int
	out        []byte
	reach      map[protoreflect.FullName]bool
	put        func(protoreflect.FieldDescriptor, []byte) ([]byte, error)
}

// next passes over blanks and gives the byte that follows.
func (r *rewriter) next() byte {
	for r.in[r.at] == ' ' || r.in[r.at] == '\t' || r.in[r.at] == '\n' || r.in[r.at] == '\r' {
		r.at++
	}
	return r.in[r.at]
}

// members calls f with the name of each member, before its value, which f
// passes over. What is no object is passed over.
func (r *rewriter) members(f func(name string) error) error {
	if r.next() != '{' {
		r.skip()
		return nil
	}
	for {
		r.at++ // the brace, or a comma
		if r.next() == '}' {
			r.at++
			return nil
		}
		name, _ := textOf(r.skip())
		r.next()
		r.at++ // the colon
		if err := f(name); err != nil {
			return err
		}
		if r.next() == '}' {
			r.at++
			return nil
		}
	}
}

func (r *rewriter) object(md protoreflect.MessageDescriptor, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	return r.members(func(name string) error {
		f := md.Fields().ByJSONName(name) // which protojson prefers, too
		if f == nil {
			f = md.Fields().ByName(protoreflect.Name(name))
		}
		switch {
		case f == nil:
			r.skip()
			return nil
		case f.IsMap():
			return r.members(func(string) error { return r.single(f.MapValue(), depth) })
		case f.IsList():
			return r.items(func() error { return r.single(f, depth) })
		}
		return r.single(f, depth)
	})
}

// items calls f before each item of a list, which f passes over.
func (r *rewriter) items(f func() error) error {
	if r.next() != '[' {
		r.skip()
		return nil
	}
	for {
		r.at++ // the bracket, or a comma
		if r.next() == ']' {
			r.at++
			return nil
		}
		if err := f(); err != nil {
			return err
		}
		if r.next() == ']' {
			r.at++
			return nil
		}
	}
}

func (r *rewriter) single(f protoreflect.FieldDescriptor, depth int) error {
	switch {
	case f.Message() != nil && r.reach[f.Message().FullName()]:
		return r.object(f.Message(), depth+1)
	case f.Enum() == nil || f.Enum().FullName() == "google.protobuf.NullValue":
		r.skip()
		return nil
	}
	token := r.skip()
	with, err := r.put(f, token)
	if err != nil {
		return err
	}
	if !bytes.Equal(with, token) {
		r.out = append(append(r.out, r.in[r.copied:r.at-len(token)]...), with...)
		r.copied = r.at
	}
	return nil
}

// skip passes over a value and gives it.
func (r *rewriter) skip() []byte {
	r.next()
	from, depth := r.at, 0
	for r.at < len(r.in) {
		switch c := r.in[r.at]; c {
		case '"':
			r.quoted()
			if depth == 0 {
				return r.in[from:r.at]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']', ',', ' ', '\t', '\n', '\r':
			if depth == 0 { // behind a number, true, false or null
				return r.in[from:r.at]
			}
			if c == '}' || c == ']' {
				if depth--; depth == 0 {
					r.at++
					return r.in[from:r.at]
				}
			}
		}
		r.at++
	}
	return r.in[from:r.at]
}

// quoted passes over a string.
func (r *rewriter) quoted() {
	for r.at++; r.in[r.at] != '"'; r.at++ {
		if r.in[r.at] == '\\' {
			r.at++
		}
	}
	r.at++
}
