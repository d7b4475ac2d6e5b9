package http1

import "bytes"

// Field is one header or trailer line: its name as it came, and its value
// without the blanks around it. Both are parts of the caller's bytes.
type Field struct{ Name, Value []byte }

// Fields are the header lines of a head, or the lines of a trailer section, in
// the order in which they came. They are valid as long as the caller keeps the
// bytes that were parsed where they are.
type Fields struct {
	raw   []byte // the whole head or trailer section
	spans []span // kept for its memory
	// options says what the Connection fields ask for.
	options options

	// While parsing: where the present line begins, its bytes that need not be
	// looked at again, and its colon; 0: not found yet. So each byte is looked at
	// once, in whatever pieces a line comes.
	at, seen, colon int
}

// span is where a field is in raw.
type span struct {
	name, nameEnd, value, valueEnd int32
	kind                           kind
}

// Len is the number of lines.
func (f *Fields) Len() int { return len(f.spans) }

// Raw returns the head or trailer section as it came, from its first line to its
// empty line.
func (f *Fields) Raw() []byte { return f.raw }

// Field returns line i, from 0 on.
func (f *Fields) Field(i int) Field {
	s := &f.spans[i]
	return Field{f.raw[s.name:s.nameEnd:s.nameEnd], f.raw[s.value:s.valueEnd:s.valueEnd]}
}

// In returns line i as parts of text, which must be a copy of Raw. So one
// allocation serves all strings of a head.
func (f *Fields) In(text string, i int) (name, value string) {
	s := &f.spans[i]
	return text[s.name:s.nameEnd], text[s.value:s.valueEnd]
}

// Value returns the value of the first line with a name, which must be in lower
// case. ok is false where there is none.
func (f *Fields) Value(name string) (value []byte, ok bool) {
	for i := range f.spans {
		s := &f.spans[i]
		if int(s.nameEnd-s.name) == len(name) && equalFold(f.raw[s.name:s.nameEnd], name) {
			return f.raw[s.value:s.valueEnd:s.valueEnd], true
		}
	}
	return nil, false
}

// HopByHop reports whether line i concerns this connection only: it is one of
// the fields of RFC 9110, section 7.6.1, or a Connection field names it.
func (f *Fields) HopByHop(i int) bool {
	s := &f.spans[i]
	if s.kind.hopByHop() {
		return true
	}
	return f.options&namesFields != 0 && !s.kind.framing() && f.named(f.raw[s.name:s.nameEnd])
}

// named reports whether a Connection field has a name among its options.
func (f *Fields) named(name []byte) bool {
	for i := range f.spans {
		if s := &f.spans[i]; s.kind == connection {
			for option := range bytes.SplitSeq(f.raw[s.value:s.valueEnd], comma) {
				if sameFold(trim(option), name) {
					return true
				}
			}
		}
	}
	return false
}

var comma = []byte{','}

// reset forgets all but memory, and has the next line begin at a position.
func (f *Fields) reset(at int) {
	f.raw, f.spans, f.options, f.at, f.seen, f.colon = nil, f.spans[:0], 0, at, at, 0
}

// lines parses the lines of b from f.at on. done is true when the empty line was
// read; f.at is then behind it.
func (f *Fields) lines(b []byte, l *Limits, t Tolerance) (done bool, err *Error) {
	for {
		if f.at >= l.head() {
			return false, errLongHead
		}
		next, done, err := f.line(b, t)
		if err != nil {
			return false, err
		}
		if next < 0 {
			return false, f.incomplete(b, l)
		}
		f.at, f.seen, f.colon = next, next, 0
		if done {
			if next > l.head() {
				return false, errLongHead
			}
			f.raw = b[:next:next]
			return true, nil
		}
		if len(f.spans) > l.fields() {
			return false, errManyFields
		}
	}
}

func (f *Fields) incomplete(b []byte, l *Limits) *Error {
	if len(b) >= l.head() {
		return errLongHead
	}
	return nil
}

// line parses the line at f.at. next is behind it, or -1 while it is incomplete.
func (f *Fields) line(b []byte, t Tolerance) (next int, done bool, err *Error) {
	at := f.at
	if f.colon == 0 {
		i := f.seen
		for i < len(b) && sets[b[i]]&inToken != 0 {
			i++
		}
		if f.seen = i; i == len(b) {
			return -1, false, nil
		}
		switch c := b[i]; {
		case blank(b[at]):
			next, err = f.fold(b, t)
			return next, false, err
		case c == ':' && i > at:
			f.colon, f.seen = i, i+1
		case i == at && (c == '\r' || c == '\n'):
			next, err = lineEnd(b, i, t)
			return next, true, err
		default:
			return 0, false, errName
		}
	}
	end := controlAt(b, f.seen)
	if next, err = lineEnd(b, end, t); next < 0 || err != nil {
		f.seen = end
		return next, false, err
	}
	s := span{name: int32(at), nameEnd: int32(f.colon), kind: kindOf(b[at:f.colon])}
	from := f.colon + 1
	for blank(b[from]) { // the line's end is none
		from++
	}
	s.value, s.valueEnd = int32(from), trimmedEnd(b, from, end)
	f.spans = append(f.spans, s)
	return next, false, nil
}

// fold joins the line at f.at to the field before it.
func (f *Fields) fold(b []byte, t Tolerance) (next int, err *Error) {
	if t&Folding == 0 || len(f.spans) == 0 {
		return 0, errFolded
	}
	end := controlAt(b, f.seen)
	if next, err = lineEnd(b, end, t); next < 0 || err != nil {
		f.seen = end
		return next, err
	}
	s := &f.spans[len(f.spans)-1]
	for i := int(s.valueEnd); i < f.at; i++ {
		b[i] = ' '
	}
	for blank(b[s.value]) { // the line's end is none
		s.value++
	}
	s.valueEnd = trimmedEnd(b, int(s.value), end)
	return next, nil
}

func trimmedEnd(b []byte, from, end int) int32 {
	for end > from && blank(b[end-1]) {
		end--
	}
	return int32(end)
}

// lineEnd returns where the line after the line end at b[i] begins, or -1 where
// that is not known yet.
func lineEnd(b []byte, i int, t Tolerance) (next int, err *Error) {
	switch {
	case i == len(b):
		return -1, nil
	case b[i] == '\n' && t&BareLF != 0:
		return i + 1, nil
	case b[i] == '\n':
		return 0, errLineEnd
	case b[i] != '\r':
		return 0, errByte
	case i+1 == len(b):
		return -1, nil
	case b[i+1] != '\n':
		return 0, errLineEnd
	}
	return i + 2, nil
}
