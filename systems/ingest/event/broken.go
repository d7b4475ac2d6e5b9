package event

import (
	"bytes"
	"errors"

	"whittle/internal/jsonscan"
)

// pass notes an event of the batch that is not JSON, and goes on behind it:
// before is the scanner as it was before the event. It reports false where
// nobody can say where the event ends.
func (p *Parser) pass(before *jsonscan.Scanner) bool {
	wrong := p.scan.Offset()
	from := jsonscan.Space(p.body, before.End())
	if len(p.events) > 0 { // a comma comes first
		if from >= len(p.body) || p.body[from] != ',' {
			return false
		}
		from = jsonscan.Space(p.body, from+1)
	}
	to := p.endOf(from)
	if to <= from {
		return false
	}
	p.scan = *before
	p.scan.Pass(to)
	f := facts{at: span{uint32(from), uint32(to)}, err: notJSON(p.body[min(wrong, to):to]), wrong: wrong}
	if f.at.len() > p.limits.Event {
		f.err = tooLarge(f.at.len(), p.limits.Event)
	}
	p.events = append(p.events, f)
	return true
}

// endOf is where an array's item ends that is not JSON: before the comma or the
// bracket that none of its own brackets and strings encloses. It is -1 where
// the item's brackets do not match, or its text ends first.
func (p *Parser) endOf(from int) int {
	open := p.scratch[:0]
	defer func() { p.scratch = open }()
	b, end := p.body, from
	for i := from; i < len(b); i++ {
		switch c := b[i]; c {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			if i = closingQuote(b, i); i < 0 {
				return -1
			}
		case '{', '[':
			open = append(open, c+2) // '}' and ']' come two after
		case '}', ']':
			if len(open) == 0 {
				return end
			}
			if open[len(open)-1] != c {
				return -1
			}
			open = open[:len(open)-1]
		case ',':
			if len(open) == 0 {
				return end
			}
		}
		end = i + 1
	}
	return -1
}

// closingQuote is where the string ends that begins at i, -1 where it does not.
func closingQuote(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return -1
}

// words are what programs write for a number that JSON has no text for.
var words = [...]string{"NaN", "Infinity", "-Infinity", "undefined", "None", "True", "False"}

// notJSON says why an event cannot be read, whose rest begins with what is wrong.
func notJSON(rest []byte) error {
	if w := wordAt(rest); w != "" {
		return invalid("the event is not JSON: %s is none of its values", w)
	}
	return errEvent
}

func wordAt(rest []byte) string {
	for _, w := range words {
		if bytes.HasPrefix(rest, []byte(w)) {
			return w
		}
	}
	return ""
}

var errEvent = invalid("the event is not JSON")

// foreign are bodies that are something else altogether, by how they begin.
var foreign = [...]struct{ begins, is string }{
	{"\xef\xbb\xbf", "it begins with a byte order mark"},
	{"\xff\xfe", "it is UTF-16"},
	{"\xfe\xff", "it is UTF-16"},
	{"\x1f\x8b", "it is gzip, and no Content-Encoding says so"},
}

// errBody says why the body cannot be read that the scanner met an error in.
func (p *Parser) errBody() error {
	for _, f := range foreign {
		if bytes.HasPrefix(p.body, []byte(f.begins)) {
			return invalid("the body is not JSON: %s", f.is)
		}
	}
	at := min(p.scan.Offset(), len(p.body))
	switch w := wordAt(p.body[at:]); {
	case w != "":
		return invalid("the body is not JSON: %s at byte %d is none of its values", w, at)
	case errors.Is(p.scan.Err(), jsonscan.Truncated):
		return invalid("the body is not JSON: it is cut off, or a bracket or quote of it is missing")
	}
	return invalid("the body is not JSON, from byte %d on", at)
}
