package infer

import (
	"slices"

	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/contract/infer/pattern"
	"whittle/contract/infer/shape"
	"whittle/internal/httpfield"
)

// method is an endpoint on its way to a contract's method.
type method struct {
	e             *endpoint
	m             contract.Method
	was           *contract.Method
	request       *body
	response      *body
	input, output []planned
}

// body is a JSON body of a method, or one that is not looked into.
type body struct {
	e        *endpoint
	response bool
	// seen is what was seen of it, shape what of it is JSON; nil: it is not.
	seen  *contents
	shape *shape.Shape
	// hint is what an object in it is called, message the method's own message.
	hint, message string
	before        *earlierBody
	// none counts the requests without it.
	none int
	// opaque says why it is one text; empty: it is not.
	opaque string
	// inline: its object's members are fields of the method's message; wrapped:
	// it is one field. Neither is decided before classify.
	inline, wrapped bool
	root, wrapper   *class
}

// own is the class of the method's own message: nil where the body is no JSON.
func (b *body) own() *class {
	switch {
	case b.shape == nil || b.opaque != "":
		return nil
	case b.wrapper != nil:
		return b.wrapper
	}
	return b.root
}

// newMethod names a method and its messages. taken are the names that others
// have.
func newMethod(e *endpoint, before *earlier, taken map[string]bool) *method {
	m := &method{e: e, was: before.methods[pattern.Key(e.method, e.segments)]}
	a := e.responses[e.success()]
	var name string
	if m.was != nil {
		name = m.was.Name
		m.m.Input, m.m.Output = m.was.Input, m.was.Output
	} else {
		list := a.json > 0 && (a.shape.Arrays > 0 || len(arraysIn(&a.shape)) == 1)
		free := func(n string) bool { return taken[n] || taken[n+"Request"] || taken[n+"Response"] }
		if name = methodName(e.method, e.segments, list); free(name) {
			name = contract.Unique(longName(e.method, e.segments), "", free)
		}
		m.m.Input, m.m.Output = name+"Request", name+"Response"
	}
	for _, n := range []string{name, m.m.Input, m.m.Output} {
		taken[n] = true
	}
	m.m.Name = name
	m.m.Safe = httpfield.IsSafe(e.method)
	m.m.Seen = e.successes()
	m.request = e.newBody(&e.body, false, m.m.Input, before.body(m.was, false))
	m.response = e.newBody(&a.contents, true, m.m.Output, before.body(m.was, true))
	return m
}

// arraysIn lists the members that are arrays of objects.
func arraysIn(s *shape.Shape) []string {
	return slices.DeleteFunc(slices.Clone(s.Keys), func(k string) bool {
		f := s.Fields[k]
		return f.Arrays == 0 || f.Element == nil || f.Element.Objects == 0
	})
}

// newBody looks at what was seen of a body, and decides what is known of it
// before others are looked at.
func (e *endpoint) newBody(c *contents, response bool, message string, before *earlierBody) *body {
	r := resourceOf(e.segments)
	b := &body{e: e, response: response, seen: c, hint: contract.Singular(r.last), message: message, before: before, none: c.none}
	switch {
	case c.none == c.n:
	case c.unfit > 0:
		b.opaque = c.why
	case c.json > 0 && c.json+c.none < c.n:
		b.opaque = "some bodies are JSON and some are not"
	case c.json > 0 && response && c.none > 0:
		b.opaque = "some responses are empty"
	case c.form > 0 && c.form+c.none < c.n:
		b.opaque = "some bodies are forms and some are not"
	case c.json > 0:
		b.shape = &c.shape
		in, how := c.shape.Inner()
		b.inline = before != nil && before.form == contract.Object && in != nil && how == document.Null && c.shape.Nulls == 0
	}
	return b
}

// wholeName is the JSON name of the field that a whole body is. It is no name
// in JSON but the field's own.
func (b *body) wholeName() string {
	if b.before.whole() && b.before.field != nil {
		return b.before.field.JSONName()
	}
	in, how := b.shape.Inner()
	literal := resourceOf(b.e.segments).last
	switch kinds := b.shape.Kinds(); {
	case literal == "" || len(kinds) != 1:
	case kinds[0] == document.Array:
		return contract.DefaultJSON(contract.FieldName(literal))
	case in != nil && how == document.Null:
		return contract.DefaultJSON(contract.FieldName(contract.Singular(literal)))
	}
	return "value"
}
