package infer

// maxKeys bounds the names that are tracked in one object; with more it is
// taken for a map.
const maxKeys = 256

// bounds counts the places of all shapes together.
type bounds struct {
	nodes, most, depth int
}

// shape is what was seen of the values at one place of a JSON text.
type shape struct {
	// seen counts the values, nulls and all.
	seen, nulls, bools int
	number             numbers
	text               texts
	// objects and arrays count what their names say, empties those of either
	// that had nothing in them.
	objects, arrays int
	emptyObjects    int
	emptyArrays     int
	longest         int // array
	// fields are the members by name, keys their names as they came first.
	// members counts all members of all objects.
	fields  map[string]*shape
	keys    []string
	members int
	// any is what all members together have, once there were too many names.
	any *shape
	// element is what all elements of all arrays have.
	element *shape
	// closed: what lies in this value is not looked into, for a bound was
	// reached; closedLossy counts the numbers in it that no double holds.
	closed      bool
	closedLossy int
	// odd says that a member has a name that no field can have in JSON.
	odd bool
	// why it is a map, once that is decided.
	why string
}

// see takes one value at this place.
func (s *shape) see(v *value, b *bounds, depth int) {
	s.seen++
	switch v.kind {
	case kindNull:
		s.nulls++
	case kindBool:
		s.bools++
	case kindNumber:
		s.number.see(v.text)
	case kindText:
		s.text.see(v.text)
	case kindArray:
		s.arrays++
		s.longest = max(s.longest, len(v.items))
		if len(v.items) == 0 {
			s.emptyArrays++
		}
		s.inside(v, b, depth)
	case kindObject:
		s.objects++
		s.members += len(v.items)
		if len(v.items) == 0 {
			s.emptyObjects++
		}
		s.inside(v, b, depth)
	}
}

func (s *shape) inside(v *value, b *bounds, depth int) {
	if depth >= b.depth {
		s.closed = true
	}
	if s.closed {
		s.closedLossy += lossyIn(v)
		return
	}
	for i := range v.items {
		var place *shape
		if v.kind == kindArray {
			place = s.elementPlace(b)
		} else {
			place = s.memberPlace(v.keys[i], b)
		}
		if place == nil {
			s.closed = true
			s.closedLossy += lossyIn(v)
			return
		}
		place.see(&v.items[i], b, depth+1)
	}
}

func (b *bounds) place() *shape {
	if b.nodes >= b.most {
		return nil
	}
	b.nodes++
	return &shape{}
}

func (s *shape) elementPlace(b *bounds) *shape {
	if s.element == nil {
		s.element = b.place()
	}
	return s.element
}

func (s *shape) memberPlace(key string, b *bounds) *shape {
	if s.any != nil {
		return s.any
	}
	if f := s.fields[key]; f != nil {
		return f
	}
	if len(s.keys) == maxKeys {
		s.gather()
		return s.any
	}
	f := b.place()
	if f == nil {
		return nil
	}
	if s.fields == nil {
		s.fields = map[string]*shape{}
	}
	s.fields[key] = f
	s.keys = append(s.keys, key)
	s.odd = s.odd || oddKey(key)
	return f
}

// gather makes one shape of all members: the names do not matter any more.
func (s *shape) gather() {
	s.any = &shape{}
	for _, k := range s.keys {
		s.any.absorb(s.fields[k])
	}
	s.fields, s.keys = nil, nil
}

// values is the shape that all members have together.
func (s *shape) values() *shape {
	if s.any != nil {
		return s.any
	}
	all := &shape{}
	for _, k := range s.keys {
		all.absorb(s.fields[k])
	}
	return all
}

// absorb adds what another shape saw, as if it had been seen here. The other
// one stays as it is, and shares nothing with s.
func (s *shape) absorb(o *shape) {
	s.seen += o.seen
	s.nulls += o.nulls
	s.bools += o.bools
	s.number.absorb(&o.number)
	s.text.absorb(&o.text)
	s.objects += o.objects
	s.arrays += o.arrays
	s.emptyObjects += o.emptyObjects
	s.emptyArrays += o.emptyArrays
	s.longest = max(s.longest, o.longest)
	s.members += o.members
	s.closed = s.closed || o.closed
	s.closedLossy += o.closedLossy
	s.odd = s.odd || o.odd
	if s.why == "" {
		s.why = o.why
	}
	if o.element != nil {
		if s.element == nil {
			s.element = &shape{}
		}
		s.element.absorb(o.element)
	}
	if o.any != nil && s.any == nil {
		s.gather()
	}
	if s.any != nil {
		s.any.absorb(o.values())
		return
	}
	for _, k := range o.keys {
		f := s.fields[k]
		if f == nil {
			if s.fields == nil {
				s.fields = map[string]*shape{}
			}
			f = &shape{}
			s.fields[k] = f
			s.keys = append(s.keys, k)
		}
		f.absorb(o.fields[k])
	}
	if len(s.keys) > maxKeys {
		s.gather()
	}
}

// lossy counts the numbers at and below this place that no double holds.
func (s *shape) lossy() int {
	n := s.number.lossy + s.closedLossy
	if s.element != nil {
		n += s.element.lossy()
	}
	if s.any != nil {
		n += s.any.lossy()
	}
	for _, k := range s.keys {
		n += s.fields[k].lossy()
	}
	return n
}

// kinds lists the kinds other than null that were seen.
func (s *shape) kinds() []kind {
	var out []kind
	for k, n := range [...]int{kindBool: s.bools, kindNumber: s.number.n, kindText: s.text.n, kindArray: s.arrays, kindObject: s.objects} {
		if n > 0 {
			out = append(out, kind(k))
		}
	}
	return out
}

func lossyIn(v *value) int {
	if v.kind == kindNumber && !doubleHolds(v.text) {
		return 1
	}
	n := 0
	for i := range v.items {
		n += lossyIn(&v.items[i])
	}
	return n
}

// oddKey reports a name that cannot be a field's JSON name.
func oddKey(key string) bool {
	if key == "" || len(key) > 256 || key[0] == '[' && key[len(key)-1] == ']' {
		return true
	}
	for i := range len(key) {
		if key[i] < ' ' {
			return true
		}
	}
	return false
}
