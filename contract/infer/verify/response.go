package verify

import (
	"errors"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/contract/infer/pattern"
	"whittle/record/capture"
)

// response sends a response through the output.
func (k *Checker) response(m *Checked, x *capture.Entry) error {
	a := &m.HTTP.Response
	output := k.mapping.c.Message(m.Output)
	switch a.Form {
	case contract.NoBody:
		if len(x.Response.Body) > 0 {
			return errors.New("there is a body")
		}
		return nil
	case contract.Text:
		return k.mapping.textTrip(dynamicpb.NewMessage(k.mapping.types[m.Output]), output, a.Parts, string(x.Response.Body))
	}
	v, err := document.Parse(x.Response.Body)
	if err != nil {
		return err
	}
	msg, err := k.Message(m, v)
	if err != nil {
		return err
	}
	if msg, err = wire(msg); err != nil {
		return err
	}
	var back *document.Value
	if a.Form == contract.Object {
		back = m.response.write(msg, m.Output, "$")
	} else if back = m.response.writeField(msg, output.Field(a.Field), "$"); back == nil {
		return differs("$")
	}
	if d := document.FirstDifference(v, back, "$"); d != "" {
		return differs(d)
	}
	return nil
}

// Message is what a response in JSON becomes.
func (k *Checker) Message(m *Checked, v *document.Value) (protoreflect.Message, error) {
	a := &m.HTTP.Response
	if a.Form == contract.Object {
		return m.response.read(v, m.Output, "$")
	}
	msg := protoreflect.Message(dynamicpb.NewMessage(k.mapping.types[m.Output]))
	return msg, m.response.readField(msg, k.mapping.c.Message(m.Output).Field(a.Field), v, "$")
}

// textTrip parses a text by the template and writes it again.
func (m *mapping) textTrip(msg protoreflect.Message, output *contract.Message, template []contract.Part, text string) error {
	parts := make([]pattern.Part, len(template))
	for i, p := range template {
		parts[i].Literal = p.Literal
		if f := output.Field(p.Field); f != nil {
			parts[i].Hole = &pattern.Hole{Text: f.Type == contract.String}
		}
	}
	found, ok := pattern.Fit(parts, text)
	if !ok {
		return errors.New("the text does not fit the template")
	}
	for _, p := range template {
		if p.Field != "" {
			if err := m.setText(msg, output.Field(p.Field), found[:1]); err != nil {
				return err
			}
			found = found[1:]
		}
	}
	msg, err := wire(msg)
	if err != nil {
		return err
	}
	back := ""
	for _, p := range template {
		back += p.Literal
		if p.Field != "" {
			back += strings.Join(m.textsOf(msg, output.Field(p.Field)), "")
		}
	}
	if back != text {
		return errors.New("the text came back as another one")
	}
	return nil
}
