package jsonscan

// Skip goes to the end of what the last token began: a container's End, or the
// value behind a Key. Behind other tokens there is nothing to skip. Then Start
// is where the value begins and End where it ends. It reports whether the text
// is right that far.
func (s *Scanner) Skip() bool {
	if s.kind == Key {
		s.Next()
	}
	if s.kind != Array && s.kind != Object {
		return s.err == 0
	}
	from := s.from
	if i, why := s.skip(s.at, s.kind == Object); why != 0 {
		s.fail(i, why)
		return false
	}
	s.behind = s.stack.behind()
	s.expect = s.behind
	s.token(End, from, s.at)
	return true
}

// skip goes from behind an opening bracket to behind the closing one, which it
// leaves in s.at. It says where and why it cannot.
func (s *Scanner) skip(i int, object bool) (int, Error) {
	b := s.src
	base := s.stack.depth - 1
	if i = space(b, i); i < len(b) && b[i] == closing(object) {
		s.stack.pop()
		s.at = i + 1
		return i, 0
	}
	for i < len(b) {
		if object {
			var why Error
			if i, why = s.key(i); why != 0 {
				return i, why
			}
			if i >= len(b) {
				return i, Truncated
			}
		}
		c := b[i]
		if c == '{' || c == '[' {
			if s.stack.depth >= s.limit {
				return i, TooDeep
			}
			object = c == '{'
			s.stack.push(object)
			s.deepest = max(s.deepest, s.stack.depth)
			if i = space(b, i+1); i >= len(b) || b[i] != c+2 { // '}' and ']' come two after
				continue
			}
			s.stack.pop()
			object = s.stack.object()
			i++
		} else {
			end := s.scalar(i, c)
			if end < 0 {
				return i, reason(end)
			}
			i = end
		}
		for {
			if i = space(b, i); i >= len(b) {
				return i, Truncated
			}
			if b[i] == ',' {
				i = space(b, i+1)
				break
			}
			if b[i] != closing(object) {
				return i, Syntax
			}
			i++
			s.stack.pop()
			if s.stack.depth == base {
				s.at = i
				return i, 0
			}
			object = s.stack.object()
		}
	}
	return i, Truncated
}

// key goes over the name of a member and its colon to the value, which may be
// missing.
func (s *Scanner) key(i int) (int, Error) {
	b := s.src
	if b[i] != '"' {
		return i, Syntax
	}
	end := s.quoted(i)
	if end < 0 {
		return i, reason(end)
	}
	switch at := space(b, end); {
	case at >= len(b):
		return i, Truncated
	case b[at] != ':':
		return i, Syntax
	default:
		return space(b, at+1), 0
	}
}

// scalar is where the string, number or word at i ends.
func (s *Scanner) scalar(i int, c byte) int {
	switch c {
	case '"':
		return s.quoted(i)
	case 't':
		return word(s.src, i, "true")
	case 'f':
		return word(s.src, i, "false")
	case 'n':
		return word(s.src, i, "null")
	}
	return number(s.src, i)
}

func closing(object bool) byte {
	if object {
		return '}'
	}
	return ']'
}

// stack says of each open container whether it is an object: 64 of them in top,
// the last one lowest, those further out in rest.
type stack struct {
	depth int
	top   uint64
	rest  []uint64
}

func (k *stack) push(object bool) {
	if k.depth > 0 && k.depth&63 == 0 {
		k.rest = append(k.rest, k.top)
	}
	k.depth++
	k.top <<= 1
	if object {
		k.top |= 1
	}
}

func (k *stack) pop() {
	k.depth--
	k.top >>= 1
	if k.depth > 0 && k.depth&63 == 0 {
		k.top, k.rest = k.rest[len(k.rest)-1], k.rest[:len(k.rest)-1]
	}
}

// object reports whether the innermost container is an object.
func (k *stack) object() bool { return k.top&1 != 0 }

// behind is what may follow a value.
func (k *stack) behind() expected {
	switch {
	case k.depth == 0:
		return nothing
	case k.object():
		return nextMember
	}
	return nextItem
}
