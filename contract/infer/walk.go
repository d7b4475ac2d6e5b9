package infer

import (
	"cmp"
	"fmt"
	"strings"

	"whittle/contract"
	"whittle/contract/infer/shape"
	"whittle/internal/units"
)

// maxGuesses bounds the guesses that are listed of one method.
const maxGuesses = 200

// guesser lists what was guessed of a method, and finds the paths of unset
// fields on the way.
type guesser struct {
	list []contract.Guess
	more int
}

func (g *guesser) add(path, chosen, against, evidence string) {
	if len(g.list) == maxGuesses {
		g.more++
		return
	}
	g.list = append(g.list, contract.Guess{Path: path, Chosen: chosen, Against: against, Evidence: evidence})
}

// walkBody goes through a body's places.
func (g *guesser) walkBody(b *body, unset *contract.Unset) {
	switch c := b.own(); {
	case c == nil && b.opaque != "":
		g.add(b.label(), "one text", "a message", b.opaque)
	case c != nil:
		g.walk(b, c.members[0].shape, c, unset)
	}
}

// walk goes through the fields of one place's message.
func (g *guesser) walk(b *body, s *shape.Shape, c *class, unset *contract.Unset) {
	m := c.member[s]
	if m == nil {
		m = c.members[0] // the wrapper, which has one
	}
	for j := range c.fields {
		p := &c.fields[j]
		path := m.pathOf(p.key)
		f := s.Fields[p.key]
		pr := m.presenceWith(p.key, p)
		switch list := !p.typed.singular(); {
		case p.typed.typ == contract.Value && !list:
		case pr.nulls > 0:
			unset.Nulls = append(unset.Nulls, path)
		case list && pr.absent > 0:
			unset.Omits = append(unset.Omits, path)
		}
		if f == nil {
			continue
		}
		g.field(b.label()+" "+path, f, p, m)
		if child := p.typed.child; child != nil {
			if in := inside(f, p.typed); in != nil && child.member[in] != nil {
				g.walk(b, in, child, unset)
			}
		}
	}
}

// inside is the shape of a field's messages.
func inside(f *shape.Shape, t typed) *shape.Shape {
	switch {
	case t.repeated:
		return f.Element
	case t.isMap:
		return f.Any
	}
	return f
}

// field lists the guesses of one field.
func (g *guesser) field(path string, f *shape.Shape, p *planned, m *member) {
	chosen := typeName(p.typed)
	in := cmp.Or(inside(f, p.typed), f)
	switch {
	case p.typed.typ == contract.Value:
		g.add(path, chosen, "a type that says more", whyValue(f, p.typed))
	case in.Number.N > 0:
		g.number(path, chosen, in, p)
	case in.Text.N > 0:
		g.text(path, chosen, in, p)
	case in.Bools > 0:
		g.add(path, chosen, "a Value", fmt.Sprintf("all %s values are true or false", units.Grouped(in.Bools)))
	case p.typed.isMap:
		g.add(path, chosen, "a message", f.Why)
	case p.typed.typ == contract.MessageType:
		g.add(path, chosen, "a map", in.MessageEvidence())
	}
	g.presence(path, f, p, m)
}

func (g *guesser) number(path, chosen string, in *shape.Shape, p *planned) {
	n := &in.Number
	evidence := strings.Join(append([]string{units.Grouped(n.N) + " values"}, n.Says()...), "; ")
	against := "double"
	switch {
	case p.typed.typ == contract.Double && n.Ints > 0:
		evidence += fmt.Sprintf("; %s of them are written without a point", units.Grouped(n.Ints))
		against = "int64"
	case p.typed.typ == contract.Double && n.Places == 2:
		against = "an amount in hundredths"
	case p.typed.typ == contract.Double:
		against = "a decimal as text"
	case p.typed.typ == contract.Int32:
		against = "int64"
	}
	g.add(path, chosen, against, evidence)
}

func (g *guesser) text(path, chosen string, in *shape.Shape, p *planned) {
	t := &in.Text
	switch {
	case p.typed.typ == contract.EnumType:
		g.add(path, chosen, "string", "it was one, and every word was known")
	case t.FewWords():
		g.add(path, chosen, "enum", t.Says()[0]+"; further words may come")
	default:
		g.add(path, chosen, "enum", fmt.Sprintf("%s of %s, kept byte by byte", contract.Count(t.N, "string"), t.Lengths()))
	}
}

// presence says how a field is left out, where it is.
func (g *guesser) presence(path string, f *shape.Shape, p *planned, m *member) {
	pr := m.presenceOf(f)
	of := units.Grouped(m.shape.Objects + m.without)
	switch {
	case p.typed.typ == contract.Value && p.typed.singular():
	case pr.nulls > 0:
		g.add(path, "null where unset", "left out where unset", fmt.Sprintf("%s of %s were null, none was absent", units.Grouped(pr.nulls), of))
	case pr.absent > 0 && !p.typed.singular():
		g.add(path, "left out where empty", "[] or {} where empty", fmt.Sprintf("%s of %s were absent, none was empty", units.Grouped(pr.absent), of))
	case pr.absent > 0:
		g.add(path, "optional", "always there", fmt.Sprintf("%s of %s were absent", units.Grouped(pr.absent), of))
	case p.optional && p.was == nil && !m.body.response && m.shape.Objects < believed:
		g.add(path, "optional", "always there", fmt.Sprintf("all %s have it, which is too few to believe it", of))
	case p.optional && p.was == nil:
		g.add(path, "optional", "always there", fmt.Sprintf("all %s have it; in another place it may be absent", of))
	}
}
