package verify

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/record/capture"
)

// texts are those at one place of a request outside of JSON, and the field that they are.
type texts struct {
	place string // "path {id}", "query page", "form name", "the text"
	field *contract.Field
	all   []string
}

// textsIn are those of a path, a query, and a body that is a form or a text.
func (m *Checked) textsIn(input *contract.Message, path []string, query url.Values, body []byte) (out []texts, err error) {
	h := &m.HTTP
	for i, s := range m.segments {
		if s.Wildcard {
			field := h.Path[len(out)].Field
			out = append(out, texts{"path {" + field + "}", input.Field(field), path[i : i+1]})
		}
	}
	for _, p := range h.Query {
		out = append(out, texts{"query " + p.Name, input.Field(p.Field), query[p.Name]})
	}
	switch h.Body.Form {
	case contract.Form:
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, err
		}
		for _, p := range h.Body.Pairs {
			out = append(out, texts{"form " + p.Name, input.Field(p.Field), values[p.Name]})
		}
	case contract.Text:
		out = append(out, texts{"the text", input.Field(h.Body.Field), []string{string(body)}})
	}
	return out, nil
}

// request sends path, query and body through the input.
func (k *Checker) request(m *Checked, path []string, query url.Values, x *capture.Entry) error {
	msg := protoreflect.Message(dynamicpb.NewMessage(k.mapping.types[m.Input]))
	input, body := k.mapping.c.Message(m.Input), x.Request.Body
	inJSON := m.HTTP.Body.Form == contract.Object || m.HTTP.Body.Form == contract.Whole
	if inJSON && len(body) > 0 {
		v, err := document.Parse(body)
		if err != nil {
			return err
		}
		if m.HTTP.Body.Form == contract.Whole {
			err = m.request.readField(msg, input.Field(m.HTTP.Body.Field), v, "$")
		} else {
			msg, err = m.request.read(v, m.Input, "$")
		}
		if err != nil {
			return err
		}
	}
	all, err := m.textsIn(input, path, query, body)
	if err != nil {
		return err
	}
	for _, t := range all {
		if err := k.mapping.setText(msg, t.field, t.all); err != nil {
			return fmt.Errorf("%s: %w", t.place, err)
		}
	}
	if msg, err = wire(msg); err != nil {
		return err
	}
	for _, t := range all {
		if !slices.Equal(k.mapping.textsOf(msg, t.field), t.all) {
			return fmt.Errorf("%s came back as another value", t.place)
		}
	}
	if !inJSON {
		return nil
	}
	return m.sameBody(msg, input, body)
}

// setText sets a field from the texts at its place outside of JSON.
func (m *mapping) setText(msg protoreflect.Message, f *contract.Field, texts []string) error {
	fd := msg.Descriptor().Fields().ByNumber(protoreflect.FieldNumber(f.Number))
	if len(texts) > 1 && !f.Repeated {
		return errors.New("there are several values")
	}
	for _, text := range texts {
		k := document.Text
		switch f.Type {
		case contract.Bool:
			k = document.Bool
		case contract.Int32, contract.Int64, contract.Uint64, contract.Double:
			k = document.Number
		}
		v, ok := scalarOf(f.Type, k, text)
		if f.Type == contract.EnumType {
			v, ok = m.enumOf(f, document.Text, text)
		}
		switch {
		case !ok:
			return fmt.Errorf("%.40q is no %s", text, f.Type)
		case f.Repeated:
			msg.Mutable(fd).List().Append(v)
		default:
			msg.Set(fd, v)
		}
	}
	return nil
}

// textsOf gives what setText was given.
func (m *mapping) textsOf(msg protoreflect.Message, f *contract.Field) []string {
	fd := msg.Descriptor().Fields().ByNumber(protoreflect.FieldNumber(f.Number))
	text := func(v protoreflect.Value) string {
		if f.Type == contract.EnumType {
			return m.wordOf(f, v).Text
		}
		return writeScalar(v).Text
	}
	var out []string
	switch {
	case f.Repeated:
		for i := range msg.Get(fd).List().Len() {
			out = append(out, text(msg.Get(fd).List().Get(i)))
		}
	case !fd.HasPresence() || msg.Has(fd):
		out = append(out, text(msg.Get(fd)))
	}
	return out
}

// sameBody compares the JSON that a message gives with what went into it.
func (m *Checked) sameBody(msg protoreflect.Message, input *contract.Message, body []byte) error {
	h := &m.HTTP
	var back *document.Value
	if h.Body.Form == contract.Object {
		back = m.request.write(msg, m.Input, "$")
		// Fields of path and query are no members of the body.
		for _, list := range [][]contract.Parameter{h.Path, h.Query} {
			for _, p := range list {
				back.Remove(input.Field(p.Field).JSONName())
			}
		}
		if len(body) == 0 && h.Body.Optional && len(back.Keys) == 0 {
			return nil
		}
	} else if back = m.request.writeField(msg, input.Field(h.Body.Field), "$"); back == nil || len(body) == 0 {
		if back == nil && len(body) == 0 {
			return nil
		}
		return differs("$")
	}
	sent, err := document.Parse(body)
	if err != nil {
		return err
	}
	if d := document.FirstDifference(sent, back, "$"); d != "" {
		return differs(d)
	}
	return nil
}
