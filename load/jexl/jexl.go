// Package jexl evaluates expressions of Commons JEXL 3.2 and 2.1 as JMeter has them: strict,
// with comparisons, sums, logic, the methods of texts, and the variables of JMeter's user
// alone. It is pure.
package jexl

import (
	"errors"
	"fmt"
	"strings"
)

// maxDepth bounds how deep an expression may be.
const maxDepth = 64

// Unsupported is what an expression has that JEXL runs and this package does not.
type Unsupported struct{ What string }

func (u *Unsupported) Error() string { return u.What + " is not supported" }

// Expression is one that was read.
type Expression struct {
	eval node
	// Unknown are the words that are no variable of JEXL's: by those alone JEXL fails.
	Unknown []string
}

// Get finds a user's variable. False: it has none of that name.
type Get func(name string) (string, bool)

// node gives the value of a part: nil, a bool, a *big.Int, a float64, a string or a list.
type node func(Get) any

// list is what stands in brackets.
type list []any

// failure is what evaluating panics with; JEXL has an exception there.
type failure string

// Eval gives the text of an expression's value. False: JEXL fails, or comes to nothing.
func (e *Expression) Eval(get Get) (text string, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, mine := r.(failure); !mine {
				panic(r)
			}
			text, ok = "", false
		}
	}()
	v := e.eval(get)
	if v == nil {
		return "", false
	}
	return textOf(v), true
}

var errSyntax = errors.New("JEXL cannot read it")

// Parse reads an expression, of JEXL 2 where old is set. The error is an *Unsupported, or
// else JEXL cannot read it either.
func Parse(src string, old bool) (out *Expression, err error) {
	p := &parser{rest: src, old: old}
	defer func() {
		if r := recover(); r != nil {
			e, mine := r.(error)
			if !mine {
				panic(r)
			}
			out, err = nil, e
		}
	}()
	p.next()
	if p.token == "" {
		return nil, errSyntax
	}
	n := p.ternary()
	if p.token == ";" {
		p.next()
		if p.token != "" {
			panic(&Unsupported{"a second statement"})
		}
	}
	if p.token == "=" {
		panic(&Unsupported{"an assignment"})
	}
	if p.token != "" {
		return nil, errSyntax
	}
	return &Expression{n, p.unknown}, nil
}

type parser struct {
	rest    string
	old     bool   // it is JEXL 2
	token   string // empty at the end
	kind    kind
	depth   int
	unknown []string
}

type kind int

const (
	sign kind = iota
	word
	number
	quoted
)

// signs are the operators, the longer before those that they begin with.
var signs = []string{
	"&&", "||", "==", "!=", "<=", ">=", "=~", "!~", "=^", "=$", "!^", "!$", "?:", "??",
	"<", ">", "=", "!", "+", "-", "*", "/", "%", "(", ")", "[", "]", "?", ":", ",", ".", ";", "&", "|", "^",
}

// words are operators in letters.
var words = map[string]string{
	"and": "&&", "or": "||", "not": "!", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "div": "/", "mod": "%",
}

// statements begin what is no expression.
var statements = map[string]bool{
	"new": true, "var": true, "if": true, "for": true, "while": true, "do": true, "return": true, "function": true, "foreach": true, "let": true, "const": true,
}

func (p *parser) next() {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n\f")
	if p.rest == "" {
		p.token, p.kind = "", sign
		return
	}
	size := 1
	switch c := p.rest[0]; {
	case c == '"' || c == '\'':
		size, p.kind = quotedLength(p.rest), quoted
	case c >= '0' && c <= '9':
		size, p.kind = numberLength(p.rest), number
	case isLetter(c):
		for size < len(p.rest) && (isLetter(p.rest[size]) || p.rest[size] >= '0' && p.rest[size] <= '9') {
			size++
		}
		p.kind = word
		if s, ok := words[p.rest[:size]]; ok {
			p.token, p.kind, p.rest = s, sign, p.rest[size:]
			return
		}
	default:
		p.kind = sign
		for _, s := range signs {
			if strings.HasPrefix(p.rest, s) {
				if p.old && strings.ContainsAny(s, "^$") && len(s) == 2 {
					panic(errSyntax)
				}
				p.token, p.rest = s, p.rest[len(s):]
				return
			}
		}
		panic(errSyntax)
	}
	p.token, p.rest = p.rest[:size], p.rest[size:]
}

func isLetter(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' || c == '@' || c >= 0x80
}

// quotedLength is the length of the text in quotes that s begins with.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	panic(errSyntax)
}

// numberLength is the length of the number that s begins with.
func numberLength(s string) int {
	digits := func(i int) int {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i
	}
	if len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		i := 2
		for i < len(s) && strings.IndexByte("0123456789abcdefABCDEF", s[i]) >= 0 {
			i++
		}
		return i
	}
	i := digits(0)
	if i+1 < len(s) && s[i] == '.' && digits(i+1) > i+1 {
		i = digits(i + 1)
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		if digits(j) > j {
			i = digits(j)
		}
	}
	if i < len(s) && strings.IndexByte("lLhHdDfFbB", s[i]) >= 0 {
		i++
	}
	return i
}

// is reports whether one of some signs is next.
func (p *parser) is(all ...string) bool {
	if p.kind != sign {
		return false
	}
	for _, s := range all {
		if p.token == s {
			return true
		}
	}
	return false
}

// take takes one of some signs, if it is next.
func (p *parser) take(all ...string) (string, bool) {
	if !p.is(all...) {
		return "", false
	}
	s := p.token
	p.next()
	return s, true
}

func (p *parser) want(s string) {
	if _, ok := p.take(s); !ok {
		panic(errSyntax)
	}
}

// ternary reads a whole expression.
func (p *parser) ternary() node {
	if p.depth++; p.depth > maxDepth {
		panic(&Unsupported{fmt.Sprintf("an expression of more than %d levels", maxDepth)})
	}
	defer func() { p.depth-- }()
	c := p.either()
	switch s, _ := p.take("?", "?:", "??"); s {
	case "?":
		yes := p.ternary()
		p.want(":")
		no := p.ternary()
		return func(g Get) any {
			if truth(c(g)) {
				return yes(g)
			}
			return no(g)
		}
	case "?:":
		other := p.ternary()
		return func(g Get) any {
			if v := defined(c, g); v != nil && truth(v) {
				return v
			}
			return other(g)
		}
	case "??":
		other := p.ternary()
		return func(g Get) any {
			if v := defined(c, g); v != nil {
				return v
			}
			return other(g)
		}
	}
	return c
}

// defined is a value, or nothing where it asks for what is not defined.
func defined(n node, g Get) (v any) {
	defer func() {
		if r := recover(); r != nil {
			if _, mine := r.(failure); !mine {
				panic(r)
			}
			v = nil
		}
	}()
	return n(g)
}

func (p *parser) either() node {
	out := p.both()
	for p.is("||") {
		p.next()
		a, b := out, p.both()
		out = func(g Get) any { return truth(a(g)) || truth(b(g)) }
	}
	return out
}

func (p *parser) both() node {
	out := p.bits(0)
	for p.is("&&") {
		p.next()
		a, b := out, p.bits(0)
		out = func(g Get) any { return truth(a(g)) && truth(b(g)) }
	}
	return out
}

// bitwise are the operators on bits, the loosest first.
var bitwise = []string{"|", "^", "&"}

func (p *parser) bits(level int) node {
	if level == len(bitwise) {
		return p.equality()
	}
	out := p.bits(level + 1)
	for {
		s, ok := p.take(bitwise[level])
		if !ok {
			return out
		}
		a, b := out, p.bits(level+1)
		out = func(g Get) any { return onBits(s, a(g), b(g)) }
	}
}

// equality and relation are no chains: JEXL cannot read 1<2<3.
func (p *parser) equality() node {
	a := p.relation()
	s, ok := p.take("==", "!=")
	if !ok {
		return a
	}
	b := p.relation()
	return func(g Get) any { return equal(a(g), b(g)) == (s == "==") }
}

func (p *parser) relation() node {
	a := p.sum()
	s, ok := p.take("<", "<=", ">", ">=", "=~", "!~", "=^", "!^", "=$", "!$")
	if !ok {
		return a
	}
	b := p.sum()
	if s[0] == '<' || s[0] == '>' {
		return func(g Get) any { return ordered(s, a(g), b(g)) }
	}
	return func(g Get) any { return within(s[1:], a(g), b(g)) == (s[0] == '=') }
}

func (p *parser) sum() node {
	out := p.product()
	for {
		s, ok := p.take("+", "-")
		if !ok {
			return out
		}
		a, b := out, p.product()
		if s == "+" && p.old {
			out = func(g Get) any { return oldSum(a(g), b(g)) }
			continue
		}
		out = func(g Get) any { return arithmetic(s, a(g), b(g)) }
	}
}

func (p *parser) product() node {
	out := p.unary()
	for {
		s, ok := p.take("*", "/", "%")
		if !ok {
			return out
		}
		a, b := out, p.unary()
		out = func(g Get) any { return arithmetic(s, a(g), b(g)) }
	}
}

func (p *parser) unary() node {
	if p.depth++; p.depth > maxDepth {
		panic(&Unsupported{fmt.Sprintf("an expression of more than %d levels", maxDepth)})
	}
	defer func() { p.depth-- }()
	switch s, _ := p.take("!", "-", "+"); s {
	case "!":
		a := p.unary()
		return func(g Get) any { return !truth(a(g)) }
	case "-":
		a := p.unary()
		return func(g Get) any { return negative(a(g)) }
	case "+":
		return p.unary()
	}
	return p.called(p.value())
}
