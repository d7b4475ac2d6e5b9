package infer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"whittle/contract"
	"whittle/internal/units"
)

// inference makes a contract of what a log held.
type inference struct {
	o       Options
	log     *log
	before  *earlier
	methods []*method
	bodies  []*body
	classes *classes
	c       *contract.Contract
	done    map[string]bool // messages that are in c
}

func (i *inference) build() *contract.Contract {
	endpoints := i.log.chosen()
	i.c = &contract.Contract{Package: i.o.Package, Service: i.o.Service}
	if b := i.o.Before; b != nil {
		i.c.Package, i.c.Service, i.c.GoPackage = b.Package, b.Service, b.GoPackage
	}
	i.c.Service = cmp.Or(i.c.Service, serviceName(endpoints))
	i.c.Package = cmp.Or(i.c.Package, packageName(i.c.Service))
	taken := i.takenNames()
	for _, e := range endpoints {
		e.settle()
		m := newMethod(e, i.before, taken)
		m.request.opaque = i.demoted(m.m.Name, "request", m.request.opaque)
		m.response.opaque = i.demoted(m.m.Name, "response", m.response.opaque)
		i.methods = append(i.methods, m)
		i.bodies = append(i.bodies, m.request, m.response)
	}
	i.plan()
	i.nameClasses(taken)
	for _, m := range i.methods {
		i.bind(m)
	}
	for _, m := range i.methods {
		i.write(m)
	}
	i.keepMethods()
	i.c.Guesses = append(i.c.Guesses, i.log.leftOut()...)
	return i.c
}

func (e *endpoint) settle() {
	e.body.shape.Settle()
	for _, a := range e.responses {
		a.shape.Settle()
	}
}

// demoted is why a body is not looked into: it did not come back the same from
// an earlier try, or the reason that it has already.
func (i *inference) demoted(method, label, why string) string {
	if why == "" && i.o.opaque[method+" "+label] {
		return "not all of it came back the same"
	}
	return why
}

func (i *inference) takenNames() map[string]bool {
	taken := map[string]bool{i.c.Service: true}
	for _, m := range i.before.c.Messages {
		taken[m.Name] = true
	}
	for _, e := range i.before.c.Enums {
		taken[e.Name] = true
		for _, v := range e.Values {
			taken[v.Name] = true
		}
	}
	for _, m := range i.before.c.Methods {
		taken[m.Name] = true
	}
	return taken
}

// nameClasses names the messages that methods share or that lie in others.
func (i *inference) nameClasses(taken map[string]bool) {
	for _, c := range i.classes.all {
		switch {
		case c.own:
			c.name = c.members[0].body.message
		case c.before != "":
			c.name = c.before
		default:
			c.name = contract.TypeName(c.hint)
			if taken[c.name] {
				c.name = contract.TypeName(c.above + "_" + c.hint)
			}
			c.name = contract.Unique(c.name, "", func(n string) bool { return taken[n] })
		}
		taken[c.name] = true
	}
}

// write puts a method and its messages into the contract.
func (i *inference) write(m *method) {
	i.c.Methods = append(i.c.Methods, m.m)
	at := &i.c.Methods[len(i.c.Methods)-1]
	input := message(m.m.Input, m.input, i.before.c.Message(m.m.Input))
	input.Doc = "What " + m.e.label() + " is sent."
	output := message(m.m.Output, m.output, i.before.c.Message(m.m.Output))
	output.Doc = fmt.Sprintf("What %s responds with status %d.", m.e.label(), m.e.success())
	i.finish(m, at)
	i.add(input)
	i.addBelow(m.input)
	i.add(output)
	i.addBelow(m.output)
}

func (i *inference) add(m contract.Message) {
	if !i.done[m.Name] {
		i.done[m.Name] = true
		i.c.Messages = append(i.c.Messages, m)
	}
}

// addBelow adds the messages that fields refer to.
func (i *inference) addBelow(fields []planned) {
	for j := range fields {
		p := &fields[j]
		switch c := p.typed.child; {
		case c != nil && !i.done[c.name]:
			m := message(c.name, c.fields, i.before.c.Message(c.before))
			m.Doc = c.doc()
			i.add(m)
			i.addBelow(c.fields)
		case c == nil && p.was != nil && !p.moved:
			i.keepRef(p.was)
		}
	}
}

// keepRef adds what a field of the earlier run refers to.
func (i *inference) keepRef(f *contract.Field) {
	if f.Type == contract.EnumType {
		i.keepEnum(f.Ref)
	}
	m := i.before.c.Message(f.Ref)
	if f.Type != contract.MessageType || m == nil || i.done[m.Name] {
		return
	}
	if c := i.classes.byBefore[m.Name]; c != nil {
		i.add(message(c.name, c.fields, m))
		i.addBelow(c.fields)
		return
	}
	i.keepMessage(m)
}

func (i *inference) keepMessage(m *contract.Message) {
	if m == nil || i.done[m.Name] {
		return
	}
	i.add(*m)
	for j := range m.Fields {
		i.keepRef(&m.Fields[j])
	}
}

// keepMethods keeps what the earlier run had and this one did not see.
func (i *inference) keepMethods() {
	for _, m := range i.before.c.Methods {
		if slices.ContainsFunc(i.methods, func(seen *method) bool { return seen.was != nil && seen.was.Name == m.Name }) {
			continue
		}
		i.c.Methods = append(i.c.Methods, m)
		i.keepMessage(i.before.c.Message(m.Input))
		i.keepMessage(i.before.c.Message(m.Output))
		i.c.Guesses = append(i.c.Guesses, contract.Guess{
			Path: m.Name, Chosen: "kept as it was", Against: "removed",
			Evidence: fmt.Sprintf("0 of %s were for it", contract.Count(i.log.seen, "exchange")),
		})
	}
}

// doc says where a message's objects were.
func (c *class) doc() string {
	places := map[string]bool{}
	for _, m := range c.members {
		places[m.body.label()+" of "+m.body.e.label()] = true
	}
	list := slices.Sorted(maps.Keys(places))
	in := strings.Join(list, " and the ")
	if len(list) > 3 {
		in = fmt.Sprintf("%s and %d more places", list[0], len(list)-1)
	}
	return fmt.Sprintf("%s: %s objects, in the %s.", c.name, units.Grouped(c.shape.Objects), in)
}
