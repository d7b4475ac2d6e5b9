package transcode

import (
	"encoding/base64"
	"fmt"
	"io"
	"strconv"
	"text/template"
	"text/template/parse"

	"google.golang.org/protobuf/reflect/protoreflect"

	"whittle"
)

// renderer makes a text of a message by a template.
type renderer struct {
	tmpl *template.Template // nil: the response is JSON
	// pieces is the template taken apart, where it is only text and fields
	// whose printed form needs no reflection. Nil: the template is executed.
	pieces []piece
	words  *words
}

// piece is a text, or a field where field is set.
type piece struct {
	text  string
	field protoreflect.FieldDescriptor
}

// newRenderer parses the template and renders it once from the zero message,
// so that a field which the message does not have is found at the start.
func newRenderer(text string, out protoreflect.MessageType, w *words) (*renderer, error) {
	if text == "" {
		return &renderer{}, nil
	}
	const field = "candidate.response.template"
	t, err := template.New("template").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "parse template: %w", err).WithField(field)
	}
	if err := t.Execute(io.Discard, w.asMap(out.Zero())); err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "render template from an empty %s: %w", out.Descriptor().FullName(), err).
			WithField(field).WithHint("use the message's own fields, and {{with .Field}} around what may be unset")
	}
	return &renderer{tmpl: t, pieces: takeApart(t, out.Descriptor()), words: w}, nil
}

// takeApart gives nil for a template that does more than name fields.
func takeApart(t *template.Template, md protoreflect.MessageDescriptor) []piece {
	if len(t.Templates()) != 1 {
		return nil
	}
	var out []piece
	for _, n := range t.Root.Nodes {
		switch v := n.(type) {
		case *parse.TextNode:
			out = append(out, piece{text: string(v.Text)})
		case *parse.ActionNode:
			name := fieldOf(v)
			f := fieldByName(md, name)
			if name == "" || f == nil || f.IsList() || f.IsMap() || !printsPlainly(f.Kind()) {
				return nil
			}
			out = append(out, piece{field: f})
		default:
			return nil
		}
	}
	return out
}

// fieldOf gives "Sum" for {{.Sum}}, and "" for all else.
func fieldOf(a *parse.ActionNode) string {
	if len(a.Pipe.Decl) != 0 || len(a.Pipe.Cmds) != 1 || len(a.Pipe.Cmds[0].Args) != 1 {
		return ""
	}
	f, ok := a.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
	if !ok || len(f.Ident) != 1 {
		return ""
	}
	return f.Ident[0]
}

func printsPlainly(k protoreflect.Kind) bool {
	switch k {
	case protoreflect.MessageKind, protoreflect.GroupKind, protoreflect.EnumKind, protoreflect.BytesKind,
		protoreflect.FloatKind, protoreflect.DoubleKind:
		return false
	}
	return true
}

func (r *renderer) render(m protoreflect.Message) ([]byte, error) {
	w := bounded{b: make([]byte, 0, 64)}
	if r.pieces == nil {
		err := r.tmpl.Execute(&w, r.words.asMap(m))
		return w.b, err
	}
	for _, p := range r.pieces {
		if p.field == nil {
			w.b = append(w.b, p.text...)
			continue
		}
		switch v := m.Get(p.field); v.Interface().(type) {
		case int32, int64:
			w.b = strconv.AppendInt(w.b, v.Int(), 10)
		case uint32, uint64:
			w.b = strconv.AppendUint(w.b, v.Uint(), 10)
		case bool:
			w.b = strconv.AppendBool(w.b, v.Bool())
		case string:
			w.b = append(w.b, v.String()...)
		}
		if len(w.b) > maxRendered {
			return nil, errTooLong
		}
	}
	return w.b, nil
}

// bounded keeps what is written, up to maxRendered.
type bounded struct{ b []byte }

func (w *bounded) Write(p []byte) (int, error) {
	if len(w.b)+len(p) > maxRendered {
		return 0, errTooLong
	}
	w.b = append(w.b, p...)
	return len(p), nil
}

// asMap gives a message's fields to a template, by both of their names.
func (w *words) asMap(m protoreflect.Message) map[string]any {
	fields := m.Descriptor().Fields()
	out := make(map[string]any, 2*fields.Len())
	for i := range fields.Len() {
		f := fields.Get(i)
		v := w.asValue(f, m)
		out[string(f.Name())] = v
		out[f.JSONName()] = v
	}
	return out
}

func (w *words) asValue(f protoreflect.FieldDescriptor, m protoreflect.Message) any {
	v := m.Get(f)
	switch {
	case f.IsList():
		out := make([]any, v.List().Len())
		for i := range out {
			out[i] = w.text(f, v.List().Get(i))
		}
		return out
	case f.IsMap():
		out := make(map[string]any, v.Map().Len())
		v.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
			out[fmt.Sprint(k.Interface())] = w.text(f.MapValue(), v)
			return true
		})
		return out
	case f.Message() != nil && !m.Has(f):
		return nil
	}
	return w.text(f, v)
}

func (w *words) text(f protoreflect.FieldDescriptor, v protoreflect.Value) any {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return w.asMap(v.Message())
	case protoreflect.EnumKind:
		word, _ := w.word(f.Enum(), v.Enum())
		return word
	case protoreflect.BytesKind:
		return base64.StdEncoding.EncodeToString(v.Bytes())
	case protoreflect.FloatKind:
		return single(v.Float())
	case protoreflect.DoubleKind:
		return double(v.Float())
	}
	return v.Interface()
}

// double and single are numbers that a template prints as ECMAScript does, and
// computes with and formats as it does with any other.
type (
	double float64
	single float32
)

func (d double) String() string { return string(appendFloat(nil, float64(d), 64)) }
func (s single) String() string { return string(appendFloat(nil, float64(s), 32)) }
