// Package jexl evaluates expressions of Commons JEXL 3.2 and 2.1 as JMeter has them: strict,
// with comparisons, sums, logic, the methods of texts, and the variables of JMeter's user
// alone. It is pure.
package jexl

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"whittle/load/expr"
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
	v, _ := attempt(func() any {
		if v := e.eval(get); v != nil {
			return textOf(v)
		}
		return nil
	})
	text, ok = v.(string)
	return text, ok
}

// attempt gives what a function comes to. False: it is a failure.
func attempt(f func() any) (v any, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, mine := r.(failure); !mine {
				panic(r)
			}
			v, ok = nil, false
		}
	}()
	return f(), true
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
		if size, p.kind = expr.QuotedLength(p.rest), quoted; size == 0 {
			panic(errSyntax)
		}
	case c >= '0' && c <= '9':
		size, p.kind = len(numbers.FindString(p.rest)), number
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

// numbers are as they are written.
var numbers = regexp.MustCompile(`^(?:0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[lLhHdDfFbB]?)`)

// is reports whether one of some signs is next.
func (p *parser) is(all ...string) bool {
	return p.kind == sign && slices.Contains(all, p.token)
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
	c := p.binary(0)
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
			if v, _ := attempt(func() any { return c(g) }); v != nil && truth(v) {
				return v
			}
			return other(g)
		}
	case "??":
		other := p.ternary()
		return func(g Get) any {
			if v, _ := attempt(func() any { return c(g) }); v != nil {
				return v
			}
			return other(g)
		}
	}
	return c
}

// levels are the operators between two operands, the loosest first.
var levels = [][]string{
	{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", "<=", ">", ">=", "=~", "!~", "=^", "!^", "=$", "!$"}, {"+", "-"}, {"*", "/", "%"},
}

// The levels that are no chains: JEXL cannot read 1<2<3.
const (
	equality = 5
	relation = 6
)

func (p *parser) binary(level int) node {
	if level == len(levels) {
		return p.unary()
	}
	out := p.binary(level + 1)
	for {
		s, ok := p.take(levels[level]...)
		if !ok {
			return out
		}
		out = p.operation(s, out, p.binary(level+1))
		if level == equality || level == relation {
			return out
		}
	}
}

func (p *parser) operation(s string, a, b node) node {
	switch s {
	case "||":
		return func(g Get) any { return truth(a(g)) || truth(b(g)) }
	case "&&":
		return func(g Get) any { return truth(a(g)) && truth(b(g)) }
	case "|", "^", "&":
		return func(g Get) any { return onBits(s, a(g), b(g)) }
	case "==", "!=":
		return func(g Get) any { return equal(a(g), b(g)) == (s == "==") }
	case "<", "<=", ">", ">=":
		return func(g Get) any { return ordered(s, a(g), b(g)) }
	case "+", "-", "*", "/", "%":
		if s == "+" && p.old {
			return func(g Get) any { return oldSum(a(g), b(g)) }
		}
		return func(g Get) any { return arithmetic(s, a(g), b(g)) }
	}
	return func(g Get) any { return within(s[1:], a(g), b(g)) == (s[0] == '=') }
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
