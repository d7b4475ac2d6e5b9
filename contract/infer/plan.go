package infer

import (
	"slices"

	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/contract/infer/shape"
)

// planned is a field to be.
type planned struct {
	// key is the member's name in JSON; empty: it is made of name.
	key string
	// name is what a field that is no member of a JSON object is to be called.
	name  string
	typed typed
	// about is its comment, where it has no shape.
	about string
	// from is where outside of a JSON object the field comes from, http what it
	// is called there.
	from origin
	http string
	// optional: some place did not have it, or had null.
	optional bool
	// shape is what all members saw; nil: only the earlier run had the field.
	shape *shape.Shape
	// was is the earlier run's field, nil where there was none; moved says that
	// it keeps the name and takes a new number.
	was   *contract.Field
	moved bool
	// field is what comes of it.
	field contract.Field
}

// origin is where a field of a method's message comes from.
type origin uint8

const (
	fromJSON origin = iota
	fromPath
	fromQuery
	fromForm
	fromText  // the body as one text
	fromWhole // the body as one JSON value
	fromHole
)

// believed is in how many requests a field or a parameter must always have been
// before it is taken for one that cannot be left out. A request without it would
// reach the service with a zero. By the rule of three, less than 15 % of
// further requests lack what 20 had. In responses it is the service that writes
// them, and it knows.
const believed = 20

// plan decides the class's fields. It gives the bodies whose numbers no field
// can carry.
func (c *class) plan(i *inference) (broken []*body) {
	was := i.before.c.Message(c.before)
	c.fields = nil
	for _, k := range c.shape.Keys {
		f := c.shape.Fields[k]
		p := planned{key: k, shape: f, typed: typeOf(f, c.children[k], c.clash[k]), was: was.FieldOf(k)}
		if p.typed.typ == contract.Int32 && isIDName(k) {
			p.typed.typ = contract.Int64
		}
		if in := inside(f, p.typed); in != nil {
			p.typed = i.asBefore(p.typed, &in.Text, p.was)
		}
		c.widen(&p)
		for _, m := range c.members {
			mine := m.shape.Fields[k]
			if mine != nil && !p.typed.carries(mine) {
				broken = append(broken, m.body)
			}
			if pr := m.presenceWith(k, &p); pr.absent > 0 || pr.nulls > 0 || !m.body.response && m.shape.Objects < believed {
				p.optional = true
			}
		}
		c.fields = append(c.fields, p)
	}
	if !c.own {
		c.fields = append(c.fields, kept(was, c.shape.Keys)...)
	}
	return broken
}

// kept are the fields of the earlier run that nothing has now.
func kept(was *contract.Message, keys []string) []planned {
	if was == nil {
		return nil
	}
	var out []planned
	for j := range was.Fields {
		f := &was.Fields[j]
		if !slices.Contains(keys, f.JSONName()) {
			out = append(out, planned{key: f.JSONName(), was: f, typed: typed{typ: f.Type, repeated: f.Repeated, isMap: f.Map}, optional: true})
		}
	}
	return out
}

// widen makes the type wide enough for every member's way of leaving it out,
// and for what the earlier run saw.
func (c *class) widen(p *planned) {
	if p.was != nil {
		p.typed = join(p.was, p.typed, p.shape)
	}
	for _, m := range c.members {
		if m.presenceWith(p.key, p).ambiguous(p.typed) {
			p.typed = anyValue
		}
	}
	p.moved = p.was != nil && !sameWire(p.was, p.typed)
}

// presenceWith is presenceOf, with what the earlier run saw at the same place.
func (m *member) presenceWith(k string, p *planned) presence {
	pr := m.presenceOf(m.shape.Fields[k])
	path := m.pathOf(k)
	switch b := m.body.before; {
	case p.was == nil || b == nil || !b.inferred:
	case b.nulls[path]:
		pr.nulls++
	case b.omits[path], p.was.Optional:
		pr.absent++
	}
	return pr
}

// plan decides all classes until every body that is left can be carried. The
// others are one text each.
func (i *inference) plan() {
	for {
		i.classify()
		var broken []*body
		for _, c := range i.classes.all {
			broken = append(broken, c.plan(i)...)
		}
		for _, b := range i.bodies {
			if b.wrapper != nil && b.opaque == "" {
				broken = append(broken, b.wrapper.plan(i)...)
			}
		}
		if len(broken) == 0 {
			return
		}
		for _, b := range broken {
			b.opaque = "it has numbers with more digits than a double holds, and others that must be doubles"
		}
	}
}

// classify builds the classes of all bodies that are JSON.
func (i *inference) classify() {
	i.classes = newClasses()
	for _, b := range i.bodies {
		if b.shape != nil && b.opaque == "" {
			i.put(b)
		}
	}
	// What stands alone is the method's own message; what several have is one
	// that they share, as a field of each.
	again := false
	for _, b := range i.bodies {
		if c := b.root; c != nil && b.shape != nil && b.opaque == "" && !b.inline && !b.wrapped && len(c.members) == 1 {
			b.inline = true
			again = true
		}
	}
	if again {
		i.classify()
		return
	}
	i.classes.adopt()
}

// put places one body.
func (i *inference) put(b *body) {
	b.root, b.wrapper = nil, nil
	at := spot{hint: b.hint, path: "$", body: b, before: b.before.rootMessage()}
	in, how := b.shape.Inner()
	if b.shape.AlwaysEmpty() {
		b.inline = true
	}
	switch {
	case b.inline:
		at.own, at.before, at.without = true, b.message, b.none
		b.root = i.classes.place(b.shape, at)
		return
	case in != nil && how == document.Null && b.shape.Nulls == 0 && !b.before.whole():
		b.root = i.classes.place(in, at)
	case in != nil:
		b.wrapped = true
		at.path += steps[how]
		b.root = i.classes.place(in, at)
	default:
		b.wrapped = true
	}
	b.wrapper = wrap(b)
}

// wrap makes the message around a body that is one field.
func wrap(b *body) *class {
	name := b.wholeName()
	s := &shape.Shape{
		Seen: b.shape.Seen + b.none, Objects: b.shape.Seen + b.none, Members: b.shape.Seen,
		Keys: []string{name}, Fields: map[string]*shape.Shape{name: b.shape},
	}
	c := &class{
		shape: s, own: true, hint: b.message, before: b.message, children: map[string]*class{}, clash: map[string]bool{},
		members: []*member{{shape: s, body: b, path: wholePath}},
	}
	if b.root != nil {
		c.children[name] = b.root
	}
	return c
}

// wholePath marks the member around a whole body: its field's path is "$".
const wholePath = ""

func (m *member) pathOf(key string) string {
	if m.path == wholePath {
		return "$"
	}
	return m.path + contract.PathStep(key)
}

// label is a body's name in guesses.
func (b *body) label() string {
	if b.response {
		return "response"
	}
	return "request"
}
