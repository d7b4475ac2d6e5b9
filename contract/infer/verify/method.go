package verify

import (
	"errors"
	"net/url"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
	"whittle/carve/transcode"
	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/contract/infer/pattern"
)

// method is one of the contract's, with the gateway's translations.
type method struct {
	*contract.Method

	segments []pattern.Segment
	output   *contract.Message
	// there is the one that the gateway has for the method. back reads a response as a
	// request is read, into the output.
	there, back *transcode.Transcoder
}

// backwards is a service that the contract cannot have, since its names have no underscore.
// Its methods take the outputs of the contract's.
const backwards = "Backwards_"

// methodsOf makes a contract's ready. It fails where a pattern, or the descriptor of the
// messages, cannot be read.
func methodsOf(c *contract.Contract) ([]*method, error) {
	set, err := c.Descriptor()
	if err != nil {
		return nil, err
	}
	added := &descriptorpb.ServiceDescriptorProto{Name: proto.String(backwards)}
	prefix := strings.TrimPrefix(c.Package+".", ".")
	for i := range c.Methods {
		output := proto.String("." + prefix + c.Methods[i].Output)
		added.Method = append(added.Method, &descriptorpb.MethodDescriptorProto{Name: &c.Methods[i].Name, InputType: output, OutputType: output})
	}
	own := proto.CloneOf(set.File[len(set.File)-1])
	own.Service = append(own.Service, added)
	set.File[len(set.File)-1] = own
	descriptor, err := proto.Marshal(set)
	if err != nil {
		return nil, whittle.Errorf(whittle.Internal, "check contract: %w", err)
	}
	words := wordsOf(c)
	var out []*method
	for i := range c.Methods {
		m := &method{Method: &c.Methods[i], output: c.Message(c.Methods[i].Output)}
		var ok bool
		if m.segments, ok = pattern.Parse(m.HTTP.Pattern); !ok {
			return nil, whittle.Errorf(whittle.Unsupported, "check contract: %s has the pattern %q", m.Name, m.HTTP.Pattern)
		}
		there, back := m.rpcs()
		there.Method, back.Method = c.FullService()+"/"+m.Name, prefix+backwards+"/"+m.Name
		for _, rpc := range []*whittle.RPC{&there, &back} {
			rpc.Protocol, rpc.Descriptor, rpc.Words = whittle.Twirp, descriptor, words
		}
		if m.there, err = transcode.New(there, transcode.Pattern(m.HTTP.Pattern)); err != nil {
			return nil, err
		}
		if m.back, err = transcode.New(back); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// rpcs are the method's as the gateway's config has it, and that of its responses.
func (m *method) rpcs() (there, back whittle.RPC) {
	h := &m.HTTP
	there = whittle.RPC{
		Lossless: true, AskedNulls: h.Body.Unset.Nulls, AskedAbsent: h.Body.Unset.Omits,
		Query: named(h.Query), Path: named(h.Path), Form: named(h.Body.Pairs),
		Response: h.Response.Field, Nulls: h.Response.Unset.Nulls, Absent: h.Response.Unset.Omits, ContentType: h.Response.ContentType,
	}
	switch h.Body.Form {
	case contract.Whole, contract.Text:
		there.Body = h.Body.Field
	case contract.Form:
		there.Content = whittle.BodyForm
	case contract.NoBody:
		there.Content = whittle.BodyIgnored
	}
	back = whittle.RPC{Strict: true, Body: h.Response.Field, Lossless: h.Response.Form == contract.Text}
	return there, back
}

func named(list []contract.Parameter) map[string]string {
	out := map[string]string{}
	for _, p := range list {
		out[p.Name] = p.Field
	}
	return out
}

// wordsOf are a contract's words as whittle new writes them for the gateway.
func wordsOf(c *contract.Contract) map[string]string {
	out := map[string]string{}
	for _, e := range c.Enums {
		for _, v := range e.Values {
			if v.JSON != "" {
				out[v.Name] = v.JSON
			}
		}
	}
	return out
}

// of keeps the values that the contract has a field for.
func of(values url.Values, list []contract.Parameter) string {
	kept := url.Values{}
	for _, p := range list {
		if v, ok := values[p.Name]; ok {
			kept[p.Name] = v
		}
	}
	return kept.Encode()
}

// declaredAs are the types by which bodies are read.
var declaredAs = map[contract.BodyForm]string{
	contract.Object: "application/json", contract.Whole: "application/json", contract.Form: "application/x-www-form-urlencoded", contract.Text: "text/plain",
}

// asks sends a request through the input.
func (m *method) asks(q *whittle.Request, query url.Values) error {
	path, _, _ := strings.Cut(q.Target, "?")
	form, body := m.HTTP.Body.Form, q.Body
	if form == contract.Form {
		pairs, err := url.ParseQuery(string(body))
		if err != nil {
			return err
		}
		body = []byte(of(pairs, m.HTTP.Body.Pairs))
	}
	_, err := m.there.Request(&whittle.Request{
		Method: q.Method, Target: path + "?" + of(query, m.HTTP.Query), Header: whittle.Header{"Content-Type": {declaredAs[form]}}, Body: body,
	})
	return err
}

// responds sends a response through the output.
func (m *method) responds(body []byte) error {
	a := &m.HTTP.Response
	q := whittle.Request{Method: "POST", Target: "/", Header: whittle.Header{"Content-Type": {declaredAs[a.Form]}}}
	switch {
	case a.Form == contract.NoBody && len(body) > 0:
		return errors.New("there is a body")
	case a.Form == contract.NoBody:
		return nil
	case a.Form == contract.Text:
		texts, err := m.texts(string(body))
		if err == nil {
			q.Target += "?" + texts.Encode()
			_, err = m.back.Request(&q)
		}
		return err
	}
	want, err := document.Parse(body)
	if err != nil {
		return err
	}
	q.Body = body
	message, err := m.back.Request(&q)
	if err != nil {
		return err
	}
	back := m.there.Response(&whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/protobuf"}}, Body: message.Body})
	if back.Failure != whittle.NoFailure {
		return errors.New(back.Detail)
	}
	got, err := document.Parse(back.Body)
	if err != nil {
		return err
	}
	if d := document.FirstDifference(want, got, "$"); d != "" {
		return differs(d)
	}
	return nil
}

// texts are those in the fields of a text's template.
func (m *method) texts(body string) (url.Values, error) {
	parts := make([]pattern.Part, len(m.HTTP.Response.Parts))
	for i, p := range m.HTTP.Response.Parts {
		parts[i].Literal = p.Literal
		if p.Field != "" {
			parts[i].Hole = &pattern.Hole{Text: m.output.Field(p.Field).Type == contract.String}
		}
	}
	found, ok := pattern.Fit(parts, body)
	if !ok {
		return nil, errors.New("the text does not fit the template")
	}
	out := url.Values{}
	for _, p := range m.HTTP.Response.Parts {
		if p.Field != "" {
			out.Set(p.Field, found[0])
			found = found[1:]
		}
	}
	return out, nil
}
