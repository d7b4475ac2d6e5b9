// Package jsonscan reads JSON texts (RFC 8259) token by token, in place. It
// accepts what encoding/json accepts, up to the caller's depth, and distinguishes a text
// that was cut off from one that is wrong. It builds nothing and allocates
// nothing for texts that are nested up to 64 deep; what a token means is the
// caller's to say.
package jsonscan

// Kind is what a token is.
type Kind uint8

// The kinds of tokens. The commas and colons between them are no tokens.
const (
	// None is no token: the value has ended, or the text is wrong; see Err.
	None Kind = iota
	Null
	Bool
	Number
	String
	// Key is the name of a member. The member's value is the next token.
	Key
	// Array and Object begin a container, End ends the innermost one.
	Array
	Object
	End
)

// Error says why a text is not read further.
type Error uint8

// The errors.
const (
	// Syntax: no text that begins so is JSON.
	Syntax Error = iota + 1
	// Truncated: the text is no JSON, and becomes JSON if it goes on. So it was
	// cut off, and what is there may be read.
	Truncated
	// TooDeep: more containers lie within each other than the caller allows.
	TooDeep
)

// Error implements error.
func (e Error) Error() string {
	switch e {
	case Truncated:
		return "JSON that was cut off"
	case TooDeep:
		return "JSON nested too deep"
	}
	return "not JSON"
}

// MaxDepth is the depth to which encoding/json reads.
const MaxDepth = 10_000

// expected is what may come next.
type expected uint8

const (
	value       expected = iota // the text's only value
	firstItem                   // behind [
	firstMember                 // behind {
	colon                       // behind a key
	nothing                     // the value has ended
	nextItem                    // behind an array's item
	nextMember                  // behind a member
)

// Scanner reads one value of a text at a time. Reset makes it ready; the zero
// value reads nothing. It keeps its memory from one text to the next, and
// belongs to one goroutine at a time.
type Scanner struct {
	src []byte
	// at is the next byte to be read, from where the last token begins.
	at, from int
	// expect is what comes next, behind what comes behind a value.
	expect, behind expected
	kind           Kind
	escaped        bool
	err            Error
	stack          stack
	// limit is how many containers may be open, deepest how many were.
	limit, deepest int
	// high has gathered the top bits of the strings' bytes: where none is set,
	// all of them are ASCII. A few bytes behind a string may be among them.
	high uint64
}

// Reset makes ready to read the value that begins at a place of src, before which
// there may be space. maxDepth bounds how many containers are open at once.
func (s *Scanner) Reset(src []byte, at, maxDepth int) {
	s.src, s.at, s.from, s.limit = src, at, at, maxDepth
	s.expect, s.behind, s.kind, s.escaped, s.err = value, nothing, None, false, 0
	s.stack.depth, s.stack.rest = 0, s.stack.rest[:0]
	s.deepest, s.high = 0, 0
}

// Err says why there is no further token: nil where the value has ended, and
// while it goes on; else Syntax, Truncated or TooDeep.
func (s *Scanner) Err() error {
	if s.err == 0 {
		return nil
	}
	return s.err
}

// Offset is the next byte to be read. After an error it is where the token begins
// that could not be read, as a key without its colon cannot: what is before it
// was understood.
func (s *Scanner) Offset() int { return s.at }

// Start is where the last token begins.
func (s *Scanner) Start() int { return s.from }

// End is where the last token ends; after Skip, where the value ends.
func (s *Scanner) End() int { return s.at }

// Bytes is the last token's text, a string's with its quotes; after Skip, the
// value's. It is a part of the text that is read.
func (s *Scanner) Bytes() []byte { return s.src[s.from:s.at] }

// Inside is the last token's text without its quotes, where it is a String or
// a Key.
func (s *Scanner) Inside() []byte { return s.src[s.from+1 : s.at-1] }

// Escaped reports whether the last String or Key has escapes; if not, it stands
// for what is inside its quotes.
func (s *Scanner) Escaped() bool { return s.escaped }

// Depth is how many containers are open.
func (s *Scanner) Depth() int { return s.stack.depth }

// Mark begins the part that Deepest and ASCII describe.
func (s *Scanner) Mark() { s.deepest, s.high = s.stack.depth, 0 }

// Deepest is how many containers were open at once since Mark, those before it
// included.
func (s *Scanner) Deepest() int { return s.deepest }

// ASCII reports that no string since Mark has a byte beyond ASCII. False may be
// wrong: bytes behind a string may have been such.
func (s *Scanner) ASCII() bool { return s.high&tops == 0 }

// Next reads the next token.
func (s *Scanner) Next() Kind {
	b := s.src
	i := space(b, s.at)
	if i >= len(b) {
		return s.ended(i)
	}
	c, kind := b[i], String
	switch s.expect {
	case nothing:
		return None
	case colon:
		if c != ':' {
			return s.fail(s.from, Syntax)
		}
		i++
	case firstMember, nextMember:
		if c == '}' {
			return s.close(i)
		}
		kind = Key
	case firstItem, nextItem:
		if c == ']' {
			return s.close(i)
		}
	}
	if s.expect >= nextItem { // a comma comes first
		if c != ',' {
			return s.fail(i, Syntax)
		}
		i++
	}
	if i = space(b, i); i >= len(b) {
		return s.fail(i, Truncated)
	}
	if c = b[i]; c != '"' {
		if kind == Key {
			return s.fail(i, Syntax)
		}
		return s.value(i, c)
	}
	s.escaped = false
	end := s.quoted(i)
	if end < 0 {
		return s.fail(i, reason(end))
	}
	if s.expect = s.behind; kind == Key {
		s.expect = colon
	}
	return s.token(kind, i, end)
}

// value reads the token that begins a value which is no string.
func (s *Scanner) value(i int, c byte) Kind {
	s.escaped = false
	kind := Bool
	var end int
	switch c {
	case '{':
		return s.open(i, Object, firstMember)
	case '[':
		return s.open(i, Array, firstItem)
	case 't':
		end = word(s.src, i, "true")
	case 'f':
		end = word(s.src, i, "false")
	case 'n':
		kind = Null
		end = word(s.src, i, "null")
	default:
		kind = Number
		end = number(s.src, i)
	}
	if end < 0 {
		return s.fail(i, reason(end))
	}
	s.expect = s.behind
	return s.token(kind, i, end)
}

func (s *Scanner) open(i int, kind Kind, expect expected) Kind {
	if s.stack.depth >= s.limit {
		return s.fail(i, TooDeep)
	}
	s.stack.push(kind == Object)
	s.deepest = max(s.deepest, s.stack.depth)
	s.expect, s.behind = expect, s.stack.behind()
	return s.token(kind, i, i+1)
}

func (s *Scanner) close(i int) Kind {
	s.stack.pop()
	s.behind = s.stack.behind()
	s.expect = s.behind
	return s.token(End, i, i+1)
}

func (s *Scanner) token(kind Kind, from, to int) Kind {
	s.kind, s.from, s.at = kind, from, to
	return kind
}

// ended is what Next gives where the text has ended.
func (s *Scanner) ended(i int) Kind {
	switch s.expect {
	case nothing:
		return None
	case colon:
		i = s.from
	}
	return s.fail(i, Truncated)
}

// fail ends the reading: what is at i could not be read.
func (s *Scanner) fail(i int, why Error) Kind {
	s.kind, s.at, s.err, s.expect = None, i, why, nothing
	return None
}

// Pass goes on behind the item of an array that ends at a place, whatever the
// item is. It is for the copy of a Scanner that was made before it read an item
// which is not JSON.
func (s *Scanner) Pass(end int) {
	s.token(End, s.at, end)
	s.behind = s.stack.behind()
	s.expect = s.behind
}

// Finish reads to the end of the text, behind its value: nil where there is only
// space, Syntax where there is more.
func (s *Scanner) Finish() error {
	if s.err == 0 && s.expect != nothing {
		for s.Next() != None {
			s.Skip()
		}
	}
	if s.err != 0 {
		return s.err
	}
	if s.at = space(s.src, s.at); s.at < len(s.src) {
		s.err = Syntax
		return s.err
	}
	return nil
}

// Check reports whether a text is one JSON value with space around it: nil, or
// Syntax, Truncated or TooDeep.
func Check(src []byte, maxDepth int) error {
	var s Scanner
	s.Reset(src, 0, maxDepth)
	return s.Finish()
}
