// Package jscode finds its way in JavaScript and TypeScript as far as profiles need
// it: where a function ends, and on which of its lines it calls another one. It is no
// parser; what it does not understand it says it does not know.
package jscode

import (
	"regexp"
	"slices"
	"strings"
)

// MaxLine is the length of a line from which on it is taken for generated: a line
// of a bundle tells nothing.
const MaxLine = 1000

// End gives the last line of the function that begins at a line and column, both
// from 1, where V8 or a source map says that it does: at its parameters, at its name,
// or at "async" or "function". 0: it is not known.
func End(lines []string, line, column int) int {
	if line < 1 || line > len(lines) || column < 1 || column > len(lines[line-1])+1 {
		return 0
	}
	for some := fewLines; ; some *= 4 {
		upTo := min(line-1+some, len(lines))
		s := &scanner{text: strings.Join(lines[line-1:upTo], "\n"), at: column - 1}
		found := s.head()
		switch {
		case upTo < len(lines) && strings.TrimSpace(s.text[s.at:]) == "": // what follows may matter
		case !found || s.tooDeep:
			return 0
		default:
			return line + strings.Count(s.text[:s.at], "\n")
		}
	}
}

const (
	// fewLines is how many lines are looked at first: a file has many functions.
	fewLines = 64
	// maxDepth is how many templates may lie within each other.
	maxDepth = 1000
)

// scanner reads code from left to right.
type scanner struct {
	text string
	at   int
	last byte // the last character that is neither space nor comment

	depth   int  // of templates
	tooDeep bool // there were more than is allowed, and nothing was read behind them
}

// head goes from a function's beginning to its end.
func (s *scanner) head() bool {
	parameters := false
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '(' && !parameters:
			parameters = true
			if !s.balanced() {
				return false
			}
		case strings.HasPrefix(s.text[s.at:], "=>"):
			s.at += 2
			s.last = '>'
			return s.arrow()
		case c == '{' && parameters:
			return s.balanced()
		case c == ':' && parameters:
			return s.returns()
		case strings.IndexByte(";})]", c) >= 0:
			return false // there was no function
		case c == '=' && !parameters:
			return false
		default:
			s.step()
		}
	}
	return false
}

// returns goes over the type that a function of TypeScript returns, and its body. A type
// may have braces where one is due, and the body follows where none is.
func (s *scanner) returns() bool {
	s.step()
	due := true
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '{' && !due:
			return s.balanced()
		case strings.HasPrefix(s.text[s.at:], "=>"):
			if s.last == ')' {
				return false // of a type, or of the function
			}
			s.at += 2
			s.last = '>'
			return s.arrow()
		case c == '{' || c == '[' || c == '(' && due:
			if !s.balanced() {
				return false
			}
			due = false
		case c == '<':
			if !s.angles() {
				return false
			}
			due = false
		case strings.IndexByte("(;)},", c) >= 0:
			return false // it has no body
		case strings.IndexByte("|&?:", c) >= 0:
			s.step()
			due = true
		case strings.IndexByte(" \t\r\n", c) >= 0 || strings.HasPrefix(s.text[s.at:], "/"):
			s.step()
		default:
			due = typeWords[s.word()]
		}
	}
	return false
}

// typeWords are the words behind which a type is due.
var typeWords = map[string]bool{"keyof": true, "typeof": true, "readonly": true, "infer": true, "is": true, "extends": true, "unique": true, "new": true}

// word goes over a word, or over one character where there is none.
func (s *scanner) word() string {
	from := s.at
	for s.at < len(s.text) && (s.text[s.at] == '_' || s.text[s.at] == '$' || s.text[s.at] >= 0x80 || '0' <= s.text[s.at] && s.text[s.at] <= '9' || 'a' <= s.text[s.at]|0x20 && s.text[s.at]|0x20 <= 'z') {
		s.last = s.text[s.at]
		s.at++
	}
	if s.at == from {
		s.step()
	}
	return s.text[from:min(s.at, len(s.text))]
}

// angles goes over what a type is given between < and >.
func (s *scanner) angles() bool {
	depth := 0
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case strings.HasPrefix(s.text[s.at:], "=>"):
			s.at += 2
			continue
		case c == '<':
			depth++
		case c == '>':
			depth--
		case strings.IndexByte("([{", c) >= 0:
			if !s.balanced() {
				return false
			}
			continue
		case strings.IndexByte(")]}", c) >= 0:
			return false
		default:
			s.step()
			continue
		}
		s.last = s.text[s.at]
		if s.at++; depth == 0 {
			return true
		}
	}
	return false
}

// arrow goes over the body of an arrow function.
func (s *scanner) arrow() bool {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		case '{':
			return s.balanced()
		default:
			return s.expression()
		}
	}
	return false
}

// expression goes to the end of one: what closes around it, a comma, a semicolon, or
// a line after which nothing goes on.
func (s *scanner) expression() bool {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case strings.IndexByte("([{", c) >= 0:
			if !s.balanced() {
				return false
			}
		case strings.IndexByte(")]},;", c) >= 0:
			return true
		case c == '\n' && !s.goesOn():
			return true
		default:
			s.step()
		}
	}
	return true
}

// goesOn reports whether an expression does on the next line.
func (s *scanner) goesOn() bool {
	rest := strings.TrimLeft(s.text[s.at:], " \t\r\n")
	return strings.IndexByte("=>+-*/%&|^?:,.<!~", s.last) >= 0 || rest != "" && strings.IndexByte(".?:+-*%&|=<>", rest[0]) >= 0
}

// balanced goes over brackets and what is between them.
func (s *scanner) balanced() bool {
	depth := 0
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		default:
			s.step()
			continue
		}
		s.last = s.text[s.at]
		if s.at++; depth == 0 {
			return true
		}
	}
	return false
}

// step goes over one character, or over a whole comment, text or regular expression.
func (s *scanner) step() {
	rest := s.text[s.at:]
	switch c := rest[0]; {
	case strings.HasPrefix(rest, "//"):
		s.to("\n", 0)
	case strings.HasPrefix(rest, "/*"):
		s.to("*/", 2)
	case c == '"' || c == '\'' || c == '`':
		s.quoted(c)
	case c == '/' && s.beginsRegexp():
		s.regexp()
	default:
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			s.last = c
		}
		s.at++
	}
}

// to goes to a text, and over so much of it.
func (s *scanner) to(end string, over int) {
	if n := strings.Index(s.text[s.at+1:], end); n >= 0 {
		s.at += 1 + n + over
		return
	}
	s.at = len(s.text)
}

func (s *scanner) quoted(end byte) {
	s.at++
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == end:
			s.at++
			s.last = end
			return
		case end == '`' && strings.HasPrefix(s.text[s.at:], "${"):
			s.at++
			if s.depth++; s.depth > maxDepth {
				s.at, s.tooDeep = len(s.text), true
			}
			closed := s.balanced()
			if s.depth--; !closed {
				return
			}
			continue
		}
		s.at++
	}
	s.at = min(s.at, len(s.text))
}

// beginsRegexp reports whether a slash begins one: after a value it divides.
func (s *scanner) beginsRegexp() bool {
	if s.last == 0 || strings.IndexByte("(,=:[!&|?{};+-*%<>~^", s.last) >= 0 {
		return true
	}
	before := strings.TrimRight(s.text[:s.at], " \t\r\n")
	return slices.ContainsFunc([]string{"return", "typeof", "case", "in", "of"}, func(word string) bool { return strings.HasSuffix(before, word) })
}

func (s *scanner) regexp() {
	class := false
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\\':
			s.at++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '\n' || c == '/' && !class:
			s.at++
			s.last = '/'
			return
		}
	}
	s.at = min(s.at, len(s.text))
}

// CallLine gives the only line, of those from first to last, that calls a function of one
// of some names: "update" of "Hash.update". 0: none does, or several do.
func CallLine(lines []string, first, last int, names ...string) int {
	var quoted []string
	for _, name := range names {
		if name = name[strings.LastIndexByte(name, '.')+1:]; identifier.MatchString(name) {
			quoted = append(quoted, regexp.QuoteMeta(name))
		}
	}
	if len(quoted) == 0 || first < 1 {
		return 0
	}
	name := names[0][strings.LastIndexByte(names[0], '.')+1:]
	called, err := regexp.Compile(`(^|[^\w$])(` + strings.Join(quoted, "|") + `)\s*(\?\.)?\s*(<[^()]*>)?\s*\(`)
	if err != nil {
		return 0
	}
	found := 0
	for n := first; n <= min(last, len(lines)); n++ {
		text := lines[n-1]
		if len(text) > MaxLine || n == first && defines(text, name) || !called.MatchString(text) || strings.HasPrefix(strings.TrimSpace(text), "//") {
			continue
		}
		if found != 0 {
			return 0
		}
		found = n
	}
	return found
}

var identifier = regexp.MustCompile(`^[\p{L}_$#][\p{L}\d_$]*$`)

// defines reports whether a line defines the function itself, rather than calls it.
func defines(text, name string) bool {
	return strings.Contains(text, "function "+name) || strings.HasPrefix(strings.TrimPrefix(strings.TrimSpace(text), "async "), name)
}
