package verify

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/record/capture"
)

// request sends path, query and body through the input.
func (k *Checker) request(m *Checked, path []string, query url.Values, x *capture.Entry) error {
	msg := protoreflect.Message(dynamicpb.NewMessage(k.mapping.types[m.Input]))
	input := k.mapping.c.Message(m.Input)
	h := &m.HTTP
	if h.Body.Form == contract.Object && len(x.Request.Body) > 0 {
		v, err := document.Parse(x.Request.Body)
		if err != nil {
			return err
		}
		if msg, err = m.request.read(v, m.Input, "$"); err != nil {
			return err
		}
	}
	param := 0
	for i, s := range m.segments {
		if s.Wildcard {
			if err := k.mapping.setText(msg, input.Field(h.Path[param].Field), path[i:i+1]); err != nil {
				return fmt.Errorf("path: %w", err)
			}
			param++
		}
	}
	for _, p := range h.Query {
		if err := k.mapping.setText(msg, input.Field(p.Field), query[p.Name]); err != nil {
			return fmt.Errorf("query %s: %w", p.Name, err)
		}
	}
	if err := m.fillBody(msg, input, x.Request.Body); err != nil {
		return err
	}
	back, err := wire(msg)
	if err != nil {
		return err
	}
	return m.sameRequest(back, input, path, query, x.Request.Body)
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

// sameRequest compares what a message gives with what went into it.
func (m *Checked) sameRequest(msg protoreflect.Message, input *contract.Message, path []string, query url.Values, body []byte) error {
	h := &m.HTTP
	param := 0
	for i, s := range m.segments {
		if s.Wildcard {
			if !slices.Equal(m.request.m.textsOf(msg, input.Field(h.Path[param].Field)), path[i:i+1]) {
				return fmt.Errorf("path {%s} came back as another value", h.Path[param].Field)
			}
			param++
		}
	}
	for _, p := range h.Query {
		if !slices.Equal(m.request.m.textsOf(msg, input.Field(p.Field)), query[p.Name]) {
			return fmt.Errorf("query %s came back as another value", p.Name)
		}
	}
	switch h.Body.Form {
	case contract.Object, contract.Whole:
		return m.sameBody(msg, input, body)
	case contract.Form:
		values, _ := url.ParseQuery(string(body))
		for _, p := range h.Body.Pairs {
			if !slices.Equal(m.request.m.textsOf(msg, input.Field(p.Field)), values[p.Name]) {
				return fmt.Errorf("form %s came back as another value", p.Name)
			}
		}
	case contract.Text:
		if strings.Join(m.request.m.textsOf(msg, input.Field(h.Body.Field)), "") != string(body) {
			return errors.New("the text came back as another one")
		}
	}
	return nil
}

// fillBody sets what comes of a body that is no object.
func (m *Checked) fillBody(msg protoreflect.Message, input *contract.Message, body []byte) error {
	h := &m.HTTP.Body
	f := input.Field(h.Field)
	switch {
	case len(body) == 0:
	case h.Form == contract.Whole:
		v, err := document.Parse(body)
		if err != nil {
			return err
		}
		return m.request.readField(msg, f, v, "$")
	case h.Form == contract.Text:
		return m.request.m.setText(msg, f, []string{string(body)})
	case h.Form == contract.Form:
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return err
		}
		for _, p := range h.Pairs {
			if err := m.request.m.setText(msg, input.Field(p.Field), values[p.Name]); err != nil {
				return fmt.Errorf("form %s: %w", p.Name, err)
			}
		}
	}
	return nil
}

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
