package infer

import (
	"slices"

	"whittle/contract"
	"whittle/contract/infer/document"
	"whittle/contract/infer/shape"
)

// class is a message to be: the objects of all places that have the same
// structure.
type class struct {
	// shape is what all members saw together.
	shape    *shape.Shape
	members  []*member
	member   map[*shape.Shape]*member
	children map[string]*class
	// clash names fields whose members do not go together, though the classes
	// had to be joined.
	clash map[string]bool
	// hint is what the first member was called where it stood, above what the
	// object around it was.
	hint, above string
	// before is the message's name in the contract of the earlier run.
	before string
	// own: it is a method's own message, with a name that follows from the
	// method's, and not shared.
	own    bool
	name   string
	fields []planned
}

// member is one place of one body.
type member struct {
	shape *shape.Shape
	body  *body
	path  string
	// without counts further exchanges that had no object there: requests with
	// no body.
	without int
}

// classes finds the places with the same structure.
type classes struct {
	all      []*class
	byHint   map[string][]*class
	byNames  map[uint64][]*class
	byBefore map[string]*class
	of       map[*shape.Shape]*class
}

func newClasses() *classes {
	return &classes{
		byHint: map[string][]*class{}, byNames: map[uint64][]*class{},
		byBefore: map[string]*class{}, of: map[*shape.Shape]*class{},
	}
}

// spot is where a place lies: what it is called, and by what name the message
// there went before.
type spot struct {
	hint, above, before string
	path                string
	body                *body
	own                 bool
	without             int
}

// place puts an object's shape into the class that it belongs to.
func (u *classes) place(s *shape.Shape, at spot) *class {
	if c := u.of[s]; c != nil {
		return c
	}
	if c := u.find(s, at); c != nil {
		u.join(s, c, at)
		return c
	}
	c := &class{
		shape: &shape.Shape{}, member: map[*shape.Shape]*member{}, children: map[string]*class{}, clash: map[string]bool{},
		hint: at.hint, above: at.above, before: at.before, own: at.own,
	}
	u.all = append(u.all, c)
	if at.before != "" {
		u.byBefore[at.before] = c
	}
	if !at.own {
		u.byHint[at.hint] = append(u.byHint[at.hint], c)
		h := namesHash(s)
		u.byNames[h] = append(u.byNames[h], c)
	}
	u.join(s, c, at)
	return c
}

func (u *classes) find(s *shape.Shape, at spot) *class {
	if at.before != "" {
		if c := u.byBefore[at.before]; c != nil && len(c.shape.Keys)+len(s.Keys) <= shape.MaxKeys {
			return c
		}
	}
	if at.own {
		return nil
	}
	for i, list := range [][]*class{u.byHint[at.hint], u.byNames[namesHash(s)]} {
		for _, c := range list {
			if !c.own && (at.before == "" || c.before == "") && u.compatible(s, c, i == 0) {
				return c
			}
		}
	}
	return nil
}

// namesHash is the same for objects with the same names.
func namesHash(s *shape.Shape) uint64 {
	h := uint64(0)
	for _, k := range s.Keys {
		h += shape.Mix(shape.Hash(k))
	}
	return h
}

// steps lead from a place to what is inside of its values.
var steps = map[document.Kind]string{document.Array: "[*]", document.Object: ".*"}

// join makes the shape a member, and what lies in it members of what lies in
// the class.
func (u *classes) join(s *shape.Shape, c *class, at spot) {
	u.of[s] = c
	c.shape.Absorb(s)
	m := &member{shape: s, body: at.body, path: at.path, without: at.without}
	c.members = append(c.members, m)
	c.member[s] = m
	if c.before == "" && at.before != "" {
		c.before = at.before
		u.byBefore[at.before] = c
	}
	for _, k := range s.Keys {
		in, how := s.Fields[k].Inner()
		if in == nil {
			continue
		}
		hint := k
		if steps[how] != "" {
			hint = contract.Singular(k)
		}
		below := spot{hint: hint, above: c.hint, path: at.path + contract.PathStep(k) + steps[how], body: at.body, before: at.body.before.below(c.before, k)}
		child := c.children[k]
		switch {
		case child == nil:
			placed := u.place(in, below)
			// Placing what lies within may have joined this class, and given it
			// another child.
			if child = c.children[k]; child != nil && child != placed {
				c.clash[k] = true
			}
			c.children[k] = placed
		case u.compatible(in, child, true) || len(child.shape.Keys)+len(in.Keys) <= shape.MaxKeys && c.before != "":
			u.join(in, child, below)
		default:
			c.clash[k] = true
		}
	}
}

// adopt puts objects that were always empty into the class that the same field
// has in other places, so that its fields may be missing.
func (u *classes) adopt() {
	for _, c := range u.all {
		for _, k := range c.shape.Keys {
			child := c.children[k]
			for _, m := range c.members {
				f := m.shape.Fields[k]
				if child == nil || f == nil || f.Objects == 0 || f.Members > 0 || f.Closed || len(f.Kinds()) > 1 || u.of[f] != nil {
					continue
				}
				u.join(f, child, spot{path: m.path + contract.PathStep(k), body: m.body})
			}
		}
	}
}

// fewest is how many names two objects of different names must share before
// they are taken for the same thing.
const fewest = 4

// compatible reports whether the shape can be one of the class: the same names
// with types that go together, or, where both are called the same, all names
// but such as are not always there.
func (u *classes) compatible(s *shape.Shape, c *class, sameHint bool) bool {
	if s.Any != nil || c.shape.Any != nil || len(s.Keys) == 0 {
		return false
	}
	shared := 0
	for _, k := range s.Keys {
		f, g := s.Fields[k], c.shape.Fields[k]
		if g == nil {
			if !sameHint || f.Seen == s.Objects {
				return false
			}
			continue
		}
		shared++
		if !u.fieldsGoTogether(f, g, c.children[k]) {
			return false
		}
	}
	for _, k := range c.shape.Keys {
		if s.Fields[k] == nil && (!sameHint || c.shape.Fields[k].Seen == c.shape.Objects) {
			return false
		}
	}
	if !sameHint {
		return shared >= fewest
	}
	return 2*shared >= len(s.Keys) && 2*shared >= len(c.shape.Keys) && len(s.Keys)+len(c.shape.Keys)-shared <= shape.MaxKeys
}

// fieldsGoTogether reports whether two shapes have one type that says of each
// what its own would say.
func (u *classes) fieldsGoTogether(f, g *shape.Shape, child *class) bool {
	if f.Closed || g.Closed {
		return f.Closed == g.Closed
	}
	a, b := f.Kinds(), g.Kinds()
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	if len(a) > 1 || len(b) > 1 {
		return slices.Equal(a, b)
	}
	if a[0] != b[0] {
		return false
	}
	switch a[0] {
	case document.Number:
		both := f.Number
		both.Absorb(&g.Number)
		return both.Lossy == 0 || both.Kind() != contract.Double || f.Number.Kind() == g.Number.Kind()
	case document.Array:
		if f.Element == nil || g.Element == nil {
			return true
		}
		if (f.Element.Nulls > 0) != (g.Element.Nulls > 0) || !u.fieldsGoTogether(f.Element, g.Element, nil) {
			return false
		}
	case document.Object:
		if f.Members == 0 || g.Members == 0 {
			return true
		}
		if (f.Any != nil) != (g.Any != nil) {
			return false
		}
		if f.Any != nil && !u.fieldsGoTogether(f.Any, g.Any, nil) {
			return false
		}
	}
	in, _ := f.Inner()
	return in == nil || child == nil || u.of[in] == child || u.compatible(in, child, true)
}
