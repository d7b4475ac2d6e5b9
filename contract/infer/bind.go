package infer

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"whittle/contract"
	"whittle/contract/infer/pattern"
	"whittle/contract/infer/shape"
	"whittle/internal/units"
)

// bind plans the fields of a method's two messages.
func (i *inference) bind(m *method) {
	was := i.before.c.Message(m.m.Input)
	m.input = i.parameters(m, was)
	m.input = append(m.input, i.fields(m, m.request, was)...)
	m.input = append(m.input, unused(was, m.input)...)
	was = i.before.c.Message(m.m.Output)
	if pieces := m.response.pieces(); pieces != nil {
		m.output = holes(pieces, m.was, was)
	} else {
		m.output = i.fields(m, m.response, was)
	}
	m.output = append(m.output, unused(was, m.output)...)
}

// parameters are the fields of the path and the query.
func (i *inference) parameters(m *method, was *contract.Message) []planned {
	e := m.e
	names := pattern.WildcardNames(e.segments)
	var wasPath, wasQuery []contract.Parameter
	if m.was != nil {
		wasPath, wasQuery = m.was.HTTP.Path, m.was.HTTP.Query
	}
	var out []planned
	for j, p := range e.path {
		f := planned{name: names[j], from: fromPath, http: strconv.Itoa(j)}
		if j < len(wasPath) {
			f.was = was.Field(wasPath[j].Field)
		}
		i.param(&f, p, p.seen, "Of the path")
		out = append(out, f)
	}
	for _, name := range e.query.names {
		f := planned{name: contract.FieldName(name), from: fromQuery, http: name}
		f.was = parameterField(was, wasQuery, name)
		i.param(&f, e.query.by[name], m.m.Seen, "Of the query")
		out = append(out, f)
	}
	return out
}

func parameterField(was *contract.Message, list []contract.Parameter, name string) *contract.Field {
	for _, p := range list {
		if p.Name == name {
			return was.Field(p.Field)
		}
	}
	return nil
}

// param gives the field its type by what was seen of a text; of counts the
// exchanges that could have had it.
func (i *inference) param(p *planned, seen *param, of int, about string) {
	t := typed{typ: contract.String, repeated: seen.repeated > 0}
	switch {
	case seen.n == 0:
	case seen.ints == seen.n && !isIDName(p.name) && seen.low >= math.MinInt32/shape.Headroom && seen.high <= math.MaxInt32/shape.Headroom:
		t.typ = contract.Int32
	case seen.ints == seen.n:
		t.typ = contract.Int64
	case seen.bools == seen.n:
		t.typ = contract.Bool
	}
	p.optional = seen.seen < of || p.from != fromPath && of < believed
	if p.was != nil {
		t = joinText(p.was, i.asBefore(t, &seen.text, p.was))
		p.moved = !sameWire(p.was, t)
	}
	p.typed = t
	p.about = strings.Join(append([]string{about}, seen.says(t.typ)...), ". ")
}

// joinText is join for what is written as text: everything can be a string.
func joinText(was *contract.Field, now typed) typed {
	t := typed{typ: was.Type, repeated: was.Repeated || now.repeated}
	switch {
	case was.Type == now.typ || was.Type == contract.Int64 && now.typ == contract.Int32 || was.Type == contract.Double && isNumber(now.typ):
	case was.Type == contract.Int32 && now.typ == contract.Int64:
		t.typ = contract.Int64
	default:
		t.typ = contract.String
	}
	return t
}

func (p *param) says(t contract.Type) []string {
	switch {
	case t == contract.Int32 || t == contract.Int64:
		return []string{fmt.Sprintf("Seen from %d to %d", p.low, p.high)}
	case t == contract.EnumType:
		return p.text.Says()
	case t == contract.String && p.ints > 0 && p.ints < p.n:
		return append(p.text.Says(), fmt.Sprintf("%s of %s values are integers", units.Grouped(p.ints), units.Grouped(p.n)))
	case t == contract.String:
		return p.text.Says()
	}
	return nil
}

// fields are those of the body.
func (i *inference) fields(m *method, b *body, was *contract.Message) []planned {
	switch c := b.own(); {
	case c != nil:
		out := slices.Clone(c.fields)
		for j := range out {
			if b.wrapper != nil {
				out[j].from, out[j].name = fromWhole, contract.FieldName(out[j].key)
			}
		}
		return out
	case b.seen.none == b.seen.n:
		return nil
	case b.seen.form > 0 && b.opaque == "":
		var out []planned
		for _, name := range b.seen.pairs.names {
			f := planned{name: contract.FieldName(name), from: fromForm, http: name}
			f.was = was.Field(f.name)
			i.param(&f, b.seen.pairs.by[name], b.seen.n, "Of the form")
			out = append(out, f)
		}
		return out
	}
	f := planned{
		name: b.textName(), from: fromText, typed: typed{typ: contract.String}, optional: b.none > 0 && !b.response,
		about: "The whole body as text",
	}
	if b.opaque != "" {
		f.about += ": " + b.opaque
	}
	if f.was = was.Field(f.name); f.was != nil {
		f.moved = !sameWire(f.was, f.typed)
	}
	return []planned{f}
}

func (b *body) textName() string {
	if b.response {
		return "text"
	}
	return "body"
}

// pieces is the template of a text response, nil where there is none.
func (b *body) pieces() []pattern.Part {
	if b.opaque != "" || b.seen.text == 0 || b.none > 0 {
		return nil
	}
	return b.seen.texts.Pieces()
}

// holes are the fields of a template, in its order.
func holes(pieces []pattern.Part, before *contract.Method, was *contract.Message) []planned {
	var names []string
	if before != nil && before.HTTP.Response.Form == contract.Text {
		for _, p := range before.HTTP.Response.Parts {
			if p.Field != "" {
				names = append(names, p.Field)
			}
		}
	}
	var out []planned
	for j, p := range pieces {
		if p.Hole == nil {
			continue
		}
		f := planned{from: fromHole, http: strconv.Itoa(len(out)), typed: typed{typ: contract.Int64}, about: "An integer in the text"}
		if p.Hole.Text {
			f.typed.typ, f.about = contract.String, "A piece of the text"
		}
		if f.name = pattern.HoleName(pieces, j); len(out) < len(names) {
			f.name = names[len(out)]
		}
		if f.was = was.Field(f.name); f.was != nil && !slices.ContainsFunc(out, func(o planned) bool { return o.was == f.was }) {
			f.moved = !sameWire(f.was, f.typed)
		} else {
			f.was = nil
		}
		out = append(out, f)
	}
	return out
}

// unused are the fields of the earlier message that none of these is.
func unused(was *contract.Message, fields []planned) []planned {
	if was == nil {
		return nil
	}
	var keys []string
	for _, p := range fields {
		if p.was != nil {
			keys = append(keys, p.was.JSONName())
		}
	}
	return kept(was, keys)
}

// finish fills in how HTTP maps on the messages, once their fields have names.
func (i *inference) finish(m *method, at *contract.Method) {
	h := &at.HTTP
	h.Method = m.e.method
	names := make([]string, len(m.e.path))
	h.Path = make([]contract.Parameter, len(m.e.path))
	h.Body = contract.Body{Form: contract.NoBody, ContentType: m.request.seen.types.most()}
	for _, p := range m.input {
		name := p.field.Name
		switch p.from {
		case fromPath:
			j, _ := strconv.Atoi(p.http)
			names[j] = name
			h.Path[j] = contract.Parameter{Name: name, Field: name}
		case fromQuery:
			h.Query = append(h.Query, contract.Parameter{Name: p.http, Field: name})
		case fromForm:
			h.Body.Form = contract.Form
			h.Body.Pairs = append(h.Body.Pairs, contract.Parameter{Name: p.http, Field: name})
		case fromText:
			h.Body.Form, h.Body.Field = contract.Text, name
		case fromWhole:
			h.Body.Form, h.Body.Field = contract.Whole, name
		}
	}
	h.Pattern = pattern.Of(m.e.segments, names)
	if c := m.request.own(); c != nil && h.Body.Form == contract.NoBody {
		h.Body.Form = contract.Object
	}
	h.Body.Optional = h.Body.Form != contract.NoBody && m.request.none > 0
	h.Response = m.response.binding(m.output, m.e.success())
	g := guesser{}
	g.walkBody(m.request, &h.Body.Unset)
	g.walkBody(m.response, &h.Response.Unset)
	if h.Body.Form == contract.Object {
		h.Body.Unset.Omits = append(h.Body.Unset.Omits, omitted(m.input)...)
	}
	if h.Response.Form == contract.Object {
		h.Response.Unset.Omits = append(h.Response.Unset.Omits, omitted(m.output)...)
	}
	g.method(m, at)
	at.Guesses = g.list
	at.Compare = m.e.compare()
	at.Failures = m.e.failures()
	at.Doc = fmt.Sprintf("%s is %s %s.", at.Name, h.Method, h.Pattern)
}

// binding says how the output's fields become the body.
func (b *body) binding(fields []planned, status int) contract.Response {
	a := contract.Response{Status: status, ContentType: b.seen.types.most(), Form: contract.NoBody}
	pieces := b.pieces()
	if pieces != nil {
		a.Form = contract.Text
		byIndex := map[string]string{}
		for _, p := range fields {
			if p.from == fromHole {
				byIndex[p.http] = p.field.Name
			}
		}
		n := 0
		for _, p := range pieces {
			if p.Hole == nil {
				a.Parts = append(a.Parts, contract.Part{Literal: p.Literal})
				continue
			}
			a.Parts = append(a.Parts, contract.Part{Field: byIndex[strconv.Itoa(n)]})
			n++
		}
		return a
	}
	for _, p := range fields {
		switch p.from {
		case fromText:
			a.Form, a.Parts = contract.Text, []contract.Part{{Field: p.field.Name}}
		case fromWhole:
			a.Form, a.Field = contract.Whole, p.field.Name
		}
	}
	if b.own() != nil && a.Form == contract.NoBody {
		a.Form = contract.Object
	}
	return a
}

// omitted are the paths of lists and maps that only the earlier run had.
func omitted(fields []planned) []string {
	var out []string
	for _, p := range fields {
		if p.from == fromJSON && p.shape == nil && !p.typed.singular() {
			out = append(out, "$"+contract.PathStep(p.key))
		}
	}
	return out
}

// failures lists the responses other than the success.
func (e *endpoint) failures() []contract.Failure {
	var out []contract.Failure
	for _, status := range slices.Sorted(maps.Keys(e.responses)) {
		if a := e.responses[status]; status != e.success() {
			out = append(out, contract.Failure{Status: status, ContentType: a.types.most(), Count: a.n, Example: a.example})
		}
	}
	return out
}
