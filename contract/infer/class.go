package infer

import (
	"slices"

	"whittle/contract"
)

// class is a message to be: the objects of all places that have the same
// structure.
type class struct {
	// shape is what all members saw together.
	shape    *shape
	members  []*member
	member   map[*shape]*member
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
	shape *shape
	body  *body
	path  string
	// without counts further exchanges that had no object there: requests with
	// no body.
	without int
}

// inner is the object shape that a field of this shape would have as its
// message: itself, its elements', its map's values'. Nil: there is none.
func (s *shape) inner() (in *shape, how kind) {
	kinds := s.kinds()
	if len(kinds) != 1 || s.closed {
		return nil, kindNull
	}
	switch {
	case kinds[0] == kindArray:
		in, how = s.element, kindArray
	case kinds[0] == kindObject && s.any != nil:
		in, how = s.any, kindObject
	case kinds[0] == kindObject:
		return s.message(), kindNull
	}
	if in == nil || in.nulls > 0 || len(in.kinds()) != 1 || in.objects == 0 {
		return nil, how
	}
	return in.message(), how
}

// message is s where its objects are messages.
func (s *shape) message() *shape {
	if s.any != nil || s.members == 0 || s.closed {
		return nil
	}
	return s
}

// settle decides for all objects below whether they are maps. It comes once,
// when all has been seen.
func (s *shape) settle() {
	if s.objects > 0 && s.any == nil && s.object() == asMap {
		s.why = s.objectEvidence(asMap)
		s.gather()
	}
	if s.any != nil {
		s.any.settle()
	}
	if s.element != nil {
		s.element.settle()
	}
	for _, k := range s.keys {
		s.fields[k].settle()
	}
}

// classes finds the places with the same structure.
type classes struct {
	all      []*class
	byHint   map[string][]*class
	byNames  map[uint64][]*class
	byBefore map[string]*class
	of       map[*shape]*class
}

func newClasses() *classes {
	return &classes{
		byHint: map[string][]*class{}, byNames: map[uint64][]*class{},
		byBefore: map[string]*class{}, of: map[*shape]*class{},
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
func (u *classes) place(s *shape, at spot) *class {
	if c := u.of[s]; c != nil {
		return c
	}
	if c := u.find(s, at); c != nil {
		u.join(s, c, at)
		return c
	}
	c := &class{
		shape: &shape{}, member: map[*shape]*member{}, children: map[string]*class{}, clash: map[string]bool{},
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

func (u *classes) find(s *shape, at spot) *class {
	if at.before != "" {
		if c := u.byBefore[at.before]; c != nil && len(c.shape.keys)+len(s.keys) <= maxKeys {
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
func namesHash(s *shape) uint64 {
	h := uint64(0)
	for _, k := range s.keys {
		h += mixHash(textHash(k))
	}
	return h
}

// join makes the shape a member, and what lies in it members of what lies in
// the class.
func (u *classes) join(s *shape, c *class, at spot) {
	u.of[s] = c
	c.shape.absorb(s)
	m := &member{shape: s, body: at.body, path: at.path, without: at.without}
	c.members = append(c.members, m)
	c.member[s] = m
	if c.before == "" && at.before != "" {
		c.before = at.before
		u.byBefore[at.before] = c
	}
	for _, k := range s.keys {
		in, how := s.fields[k].inner()
		if in == nil {
			continue
		}
		path := at.path + step(k)
		hint := k
		switch how {
		case kindArray:
			path += "[*]"
			hint = contract.Singular(k)
		case kindObject:
			path += ".*"
			hint = contract.Singular(k)
		}
		below := spot{hint: hint, above: c.hint, path: path, body: at.body, before: at.body.before.below(c.before, k)}
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
		case u.compatible(in, child, true) || len(child.shape.keys)+len(in.keys) <= maxKeys && c.before != "":
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
		for _, k := range c.shape.keys {
			child := c.children[k]
			for _, m := range c.members {
				f := m.shape.fields[k]
				if child == nil || f == nil || f.objects == 0 || f.members > 0 || f.closed || len(f.kinds()) > 1 || u.of[f] != nil {
					continue
				}
				u.join(f, child, spot{path: m.path + step(k), body: m.body})
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
func (u *classes) compatible(s *shape, c *class, sameHint bool) bool {
	if s.any != nil || c.shape.any != nil || len(s.keys) == 0 {
		return false
	}
	shared := 0
	for _, k := range s.keys {
		f, g := s.fields[k], c.shape.fields[k]
		if g == nil {
			if !sameHint || f.seen == s.objects {
				return false
			}
			continue
		}
		shared++
		if !u.fieldsGoTogether(f, g, c.children[k]) {
			return false
		}
	}
	for _, k := range c.shape.keys {
		if s.fields[k] == nil && (!sameHint || c.shape.fields[k].seen == c.shape.objects) {
			return false
		}
	}
	if !sameHint {
		return shared >= fewest
	}
	return 2*shared >= len(s.keys) && 2*shared >= len(c.shape.keys) && len(s.keys)+len(c.shape.keys)-shared <= maxKeys
}

// fieldsGoTogether reports whether two shapes have one type that says of each
// what its own would say.
func (u *classes) fieldsGoTogether(f, g *shape, child *class) bool {
	if f.closed || g.closed {
		return f.closed == g.closed
	}
	a, b := f.kinds(), g.kinds()
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
	case kindNumber:
		both := f.number
		both.absorb(&g.number)
		return both.lossy == 0 || both.kind() != contract.Double || f.number.kind() == g.number.kind()
	case kindArray:
		if f.element == nil || g.element == nil {
			return true
		}
		if (f.element.nulls > 0) != (g.element.nulls > 0) || !u.fieldsGoTogether(f.element, g.element, nil) {
			return false
		}
	case kindObject:
		if f.members == 0 || g.members == 0 {
			return true
		}
		if (f.any != nil) != (g.any != nil) {
			return false
		}
		if f.any != nil && !u.fieldsGoTogether(f.any, g.any, nil) {
			return false
		}
	}
	in, _ := f.inner()
	return in == nil || child == nil || u.of[in] == child || u.compatible(in, child, true)
}
