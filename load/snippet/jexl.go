package snippet

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Expression is Rewrite for an expression of JEXL. unknown are the words in it that are no
// variables of JEXL's: asking for one of them, it fails.
func Expression(src string, d Dialect) (js string, unknown []string, err error) {
	p := &jexl{reading: reading{dialect: d}}
	err = p.guarded(src, func() {
		v := p.ternary()
		if t := p.peek(); t.is(sign, "=") || t.is(sign, ";") {
			refuse(t.line, false, "an assignment or a second statement")
		} else if t.kind != end {
			p.fails(t)
		}
		js = `(function($g){"use strict";return $j.jexl.text(` + v + ")})"
	})
	return js, p.unknown, err
}

// jexl reads an expression of JEXL, whose values have their kinds when they are known.
type jexl struct {
	reading
	unknown []string // words that are no variables
}

// jexlWords are operators in letters.
var jexlWords = map[string]string{
	"and": "&&", "or": "||", "not": "!", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "div": "/", "mod": "%",
}

// jexlLevels are the operators between two operands, the loosest first. Of equality and
// relation there are no chains.
var jexlLevels = [][]string{{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!="}, {"<", "<=", ">", ">=", "=~", "!~", "=^", "!^", "=$", "!$"}, {"+", "-"}, {"*", "/", "%"}}

// operator takes one of some operators, in signs or in letters.
func (p *jexl) operator(all ...string) (string, bool) {
	t := p.peek()
	s := t.text
	if t.kind == word {
		s = jexlWords[s]
	} else if t.kind != sign {
		return "", false
	}
	if !slices.Contains(all, s) {
		return "", false
	}
	if p.dialect == JEXL2 && strings.ContainsAny(s, "^$") && len(s) == 2 {
		p.fails(t)
	}
	p.next()
	return s, true
}

func (p *jexl) ternary() string {
	defer p.deeper()()
	c := p.binary(0)
	switch s, _ := p.take("?", "?:", "??"); s {
	case "?":
		yes := p.ternary()
		p.want(":")
		return "($j.jexl.truth(" + c + ")?" + yes + ":" + p.ternary() + ")"
	case "?:", "??":
		return "$j.jexl.or(()=>" + c + ",()=>" + p.ternary() + "," + strconv.FormatBool(s == "?:") + ")"
	}
	return c
}

func (p *jexl) binary(level int) string {
	if level == len(jexlLevels) {
		return p.unary()
	}
	a := p.binary(level + 1)
	for {
		s, ok := p.operator(jexlLevels[level]...)
		if !ok {
			return a
		}
		b := p.binary(level + 1)
		switch j := "$j.jexl."; s {
		case "||", "&&":
			a = "(" + j + "truth(" + a + ")" + s + j + "truth(" + b + "))"
		case "==", "!=":
			return "(" + j + "equal(" + a + "," + b + ")===" + strconv.FormatBool(s == "==") + ")"
		case "=~", "!~", "=^", "!^", "=$", "!$":
			return "(" + j + "within(" + js(s[1:]) + "," + a + "," + b + ")===" + strconv.FormatBool(s[0] == '=') + ")"
		case "<", "<=", ">", ">=":
			return j + "ordered(" + js(s) + "," + a + "," + b + ")"
		default:
			a = j + "compute(" + js(s) + "," + a + "," + b + "," + strconv.FormatBool(p.dialect == JEXL2) + ")"
		}
	}
}

func (p *jexl) unary() string {
	defer p.deeper()()
	switch s, _ := p.operator("!", "-", "+"); s {
	case "!":
		return "!$j.jexl.truth(" + p.unary() + ")"
	case "-":
		return "$j.jexl.negative(" + p.unary() + ")"
	case "+":
		return p.unary()
	}
	v := p.primary()
	for p.peek().is(sign, ".") {
		p.next()
		v = p.method(v)
	}
	return v
}

func (p *jexl) primary() string {
	t := p.next()
	switch {
	case t.kind == quoted:
		return js(t.text)
	case t.kind == number:
		return p.number(t)
	case t.kind == word:
		return p.word(t)
	case t.is(sign, "("):
		v := p.ternary()
		p.want(")")
		return "(" + v + ")"
	case t.is(sign, "["):
		return "[" + strings.Join(p.list("]"), ",") + "]"
	}
	p.fails(t)
	return ""
}

// list reads expressions as far as a closing bracket.
func (p *jexl) list(closing string) (out []string) {
	if _, over := p.take(closing); over {
		return nil
	}
	for {
		out = append(out, p.ternary())
		if _, more := p.take(","); !more {
			p.want(closing)
			return out
		}
	}
}

func (p *jexl) number(t token) string {
	if f, err := strconv.ParseFloat(t.text, 64); err == nil && strings.ContainsAny(t.text, ".eE") {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	base := 10
	if len(t.text) > 1 && t.text[0] == '0' {
		base = 8
	}
	if strings.Trim(t.text, "0123456789") != "" { // as 0x10 and 10L
		refuse(t.line, false, "%s, a number with letters", t.text)
	}
	n, ok := new(big.Int).SetString(t.text, base)
	if !ok {
		p.fails(t)
	}
	return n.String() + "n"
}

// jexlBeyond are the words of expressions that are not rewritten.
var jexlBeyond = []string{"new", "var", "if", "for", "while", "do", "return", "function", "foreach", "let", "const", "ctx", "props", "log", "threadName", "OUT", "sampler", "prev"}

// word reads empty and size, and vars; all other words are no variables of JEXL's.
func (p *jexl) word(t token) string {
	called := p.peek().is(sign, "(")
	switch {
	case slices.Contains(jexlBeyond, t.text):
		refuse(t.line, false, "%s", t.text)
	case t.text == "true" || t.text == "false" || t.text == "null":
		return t.text
	case t.text == "empty" && p.peek().kind != end && !p.peek().is(sign, ")"):
		return "$j.jexl.empty(" + p.unary() + ")"
	case t.text == "size" && called:
		p.next()
		v := p.ternary()
		p.want(")")
		return "$j.jexl.size(" + v + ")"
	case called:
		refuse(t.line, false, "the function %s", t.text)
	case t.text == "vars":
		return varsOfJEXL
	}
	p.unknown = append(p.unknown, t.text)
	return "$j.jexl.unknown(" + js(t.text) + ")"
}

const varsOfJEXL = "$g.vars"

// jexlMethods are those of texts, with how many arguments they have.
var jexlMethods = map[string]int{
	"length": 0, "isEmpty": 0, "trim": 0, "toLowerCase": 0, "toUpperCase": 0, "toString": 0, "contains": 1, "startsWith": 1, "endsWith": 1, "equals": 1, "equalsIgnoreCase": 1,
}

// method reads a method of a text, or of vars.
func (p *jexl) method(v string) string {
	t := p.next()
	if t.kind != word {
		p.fails(t)
	}
	if !p.peek().is(sign, "(") {
		refuse(t.line, false, "the property %s", t.text)
	}
	p.next()
	arguments := p.list(")")
	if n, ok := jexlMethods[t.text]; ok && n == len(arguments) && v != varsOfJEXL {
		return "$j.jexl.call(" + strings.Join(append([]string{js(t.text), v}, arguments...), ",") + ")"
	}
	if v != varsOfJEXL || t.text != "get" || len(arguments) != 1 {
		refuse(t.line, false, "the method %s of %d arguments", t.text, len(arguments))
	}
	return "$g.vars.get(String(" + arguments[0] + "))"
}
