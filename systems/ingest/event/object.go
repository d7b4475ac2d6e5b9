package event

// object goes through the members of an object, one at a time: next, and then
// one of skip and done.
type object struct {
	s *scanner
	// depth is how many containers are around the object's values.
	depth int
	// key with its quotes, and value; comma is where the one before the key
	// is, 0 at the first member.
	key, value span
	comma      uint32
	escaped    bool
	// at is the next byte to read, −1 once the text turned out to be wrong.
	at int
}

// object begins at the opening brace at i.
func (s *scanner) object(i, base int) object {
	s.deep = max(s.deep, base+1)
	return object{s: s, depth: base + 1, at: i}
}

// next goes to the value of the next member. It responses false behind the last
// one, and where the text is wrong.
func (o *object) next() bool {
	b, i := o.s.b, o.at
	if i < 0 {
		return false
	}
	if i < len(b) && b[i] == '{' && o.key.none() {
		if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
			o.at = i + 1
			return false
		}
	} else {
		i = skipSpace(b, i)
		switch {
		case i < len(b) && b[i] == '}':
			o.at = i + 1
			return false
		case i >= len(b) || b[i] != ',':
			o.at = -1
			return false
		}
		o.comma = uint32(i)
		i = skipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		o.at = -1
		return false
	}
	end, escaped := o.s.str(i)
	if end < 0 {
		o.at = -1
		return false
	}
	o.key, o.escaped = span{uint32(i), uint32(end)}, escaped
	if o.at = colon(b, end); o.at < 0 || o.at >= len(b) {
		o.at = -1
		return false
	}
	o.value = span{from: uint32(o.at)}
	return true
}

// skip goes over the value, and reports whether it is one.
func (o *object) skip() bool { return o.done(o.s.skip(o.at, o.depth)) }

// done takes it from the caller where the value ends.
func (o *object) done(end int) bool {
	o.at = end
	if end < 0 {
		return false
	}
	o.value.to = uint32(end)
	return true
}
