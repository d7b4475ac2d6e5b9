// Package expr holds the languages inside a load plan: templates, conditions,
// JSONPath, CSS selectors and regular expressions, compiled once and
// evaluated for each request over a user's variables and a response's body.
package expr

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Value is what a variable holds: as text, and as the JSON that a lone
// {{ name }} in a body becomes, so that a number stays a number. The zero
// value is that of a variable that nothing has filled yet.
type Value struct {
	Text, JSON string
	// Doc is a list or a mapping taken apart, nil for all else.
	Doc *Document
}

// TextValue makes a value of a text.
func TextValue(s string) Value { return Value{Text: s, JSON: string(AppendJSONString(nil, s))} }

// NumberValue makes a value of a number.
func NumberValue(n int64) Value {
	s := strconv.FormatInt(n, 10)
	return Value{Text: s, JSON: s}
}

// undefinedValue is how a variable without a value is written: as Artillery does in a
// text, and as null in JSON, where Artillery leaves the key out.
var undefinedValue = Value{Text: "undefined", JSON: "null"}

// Encoding is how an expression's value is written at its place.
type Encoding uint8

const (
	AsText   Encoding = iota // as it is
	AsJSON                   // a whole JSON value
	InString                 // within a JSON string
	InTarget                 // within a URL, up to its query
	InSearch                 // within a URL's query that is written as a whole
	InForm                   // within a query's value or a form's, as JavaScript's URLSearchParams write it
	InHeader                 // within a header's value
)

// part is a literal, or an expression and how to write it.
type part struct {
	literal string
	eval    func(*Scope) Value
	enc     Encoding
}

// Template is text with expressions in it, compiled once and rendered for
// each request.
type Template []part

// Scope is what expressions see: one virtual user's variables, by slot.
type Scope struct {
	Values []Value
	RNG    *rand.Rand
	User   User // nil but for those of a JMeter plan
}

// Render appends the template's text.
func (t Template) Render(dst []byte, s *Scope) []byte {
	for i := range t {
		p := &t[i]
		if p.eval == nil {
			dst = append(dst, p.literal...)
			continue
		}
		dst = p.enc.append(dst, p.eval(s))
	}
	return dst
}

// Text renders the template on its own.
func (t Template) Text(s *Scope) string {
	if text, ok := t.Constant(); ok {
		return text
	}
	return string(t.Render(nil, s))
}

// Constant returns the text of a template without expressions.
func (t Template) Constant() (string, bool) {
	switch {
	case len(t) == 0:
		return "", true
	case len(t) == 1 && t[0].eval == nil:
		return t[0].literal, true
	}
	return "", false
}

// Literal appends text, joining neighbours so that rendering copies few pieces.
func (t Template) Literal(s string) Template {
	if s == "" {
		return t
	}
	if n := len(t); n > 0 && t[n-1].eval == nil {
		joined := append(Template(nil), t...)
		joined[n-1].literal += s
		return joined
	}
	return append(t[:len(t):len(t)], part{literal: s})
}

// Join appends another template.
func (t Template) Join(o Template) Template {
	for _, p := range o {
		if p.eval == nil {
			t = t.Literal(p.literal)
		} else {
			t = append(t[:len(t):len(t)], p)
		}
	}
	return t
}

// Map is a template whose text goes through a function.
func (t Template) Map(f func(string) string) Template {
	if text, ok := t.Constant(); ok {
		return Template(nil).Literal(f(text))
	}
	return Template(nil).Expression(Expression{Eval: func(s *Scope) Value { return TextValue(f(t.Text(s))) }}, AsText)
}

func (e Encoding) append(dst []byte, v Value) []byte {
	if v.JSON == "" {
		v = undefinedValue
	}
	if e == AsJSON {
		return append(dst, v.JSON...)
	}
	return e.encode(dst, v.Text)
}

// EncodeLiteral writes a template's own text for its place.
func (e Encoding) EncodeLiteral(s string) string { return string(e.encode(nil, s)) }

// encode writes a text for its place; what stands for a whole JSON value is as it is.
func (e Encoding) encode(dst []byte, s string) []byte {
	switch e {
	case InString:
		return appendJSONEscaped(dst, s)
	case InTarget, InSearch:
		return appendTarget(dst, s, e == InSearch)
	case InForm:
		return AppendForm(dst, s)
	case InHeader:
		return AppendHeader(dst, s)
	}
	return append(dst, s...)
}

// AppendJSONString writes a text as JSON.
func AppendJSONString(dst []byte, s string) []byte {
	return append(appendJSONEscaped(append(dst, '"'), s), '"')
}

const hexDigits = "0123456789abcdef"

func appendJSONEscaped(dst []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// AppendTarget keeps a URL as it is but for what would break the request line.
func AppendTarget(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; breaksLine(c) {
			dst = appendPercent(dst, c)
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

func breaksLine(c byte) bool {
	return c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' || c == '#'
}

func appendPercent(dst []byte, c byte) []byte {
	return append(dst, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
}

// appendTarget writes a URL as the URL standard has it: of its query, braces stay, and of
// its path, quotes. What is encoded already stays.
func appendTarget(dst []byte, s string, search bool) []byte {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '?' && !search:
			search = true
		case c == '\\' && !search:
			c = '/'
		case breaksLine(c), search && c == '\'', !search && (c == '{' || c == '}' || c == '`'):
			dst = appendPercent(dst, c)
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

// AppendForm writes a text within a form as JavaScript's URLSearchParams and Java's
// URLEncoder do.
func AppendForm(dst []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("*-._", c) >= 0:
			dst = append(dst, c)
		case c == ' ':
			dst = append(dst, '+')
		default:
			dst = appendPercent(dst, c)
		}
	}
	return dst
}

// AppendHeader keeps a value from breaking out of its header line.
func AppendHeader(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c < ' ' && c != '\t' || c == 0x7f {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}

// Expression is what stands between braces: computed for each use, or fixed
// for the whole run.
type Expression struct {
	Eval  func(*Scope) Value
	Fixed *Value
}

// Beginning is the text that the template begins with; false: an expression
// comes first.
func (t Template) Beginning() (string, bool) {
	if len(t) == 0 {
		return "", true
	}
	return t[0].literal, t[0].eval == nil
}

// Expression appends one; a fixed one becomes text at once.
func (t Template) Expression(x Expression, enc Encoding) Template {
	if x.Fixed != nil {
		return t.Literal(string(enc.append(nil, *x.Fixed)))
	}
	return append(t[:len(t):len(t)], part{eval: x.Eval, enc: enc})
}

// User is the virtual user of a scope, for the expressions that need more
// than its variables.
type User interface {
	// Now is the clock of the user's run.
	Now() time.Time
	// Number is the user's within its group, from 0; Group is the group's name.
	Number() int
	Group() string
	// Failed says that the user's last request did.
	Failed() bool
	// Part is which of several equal parts of the run this process has, from 0 of 1.
	Part() (index, of int64)
	// State returns the value that is stored under a key, which init makes on first
	// use.
	State(of StateOf, key any, init func() any) any
}

// StateOf says whose a stored value is.
type StateOf uint8

const (
	StateOfUser  StateOf = iota // the user's alone
	StateOfRun                  // all users' of the run, of all its blocks in a comparison
	StateOfBlock                // all users' of one block of a comparison, else of the run
)
