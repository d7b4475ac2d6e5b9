package java

import (
	"strconv"
	"strings"
)

var modifiers = map[string]bool{"public": true, "private": true, "protected": true, "static": true, "final": true, "synchronized": true}

var primitives = map[string]bool{
	"int": true, "long": true, "boolean": true, "double": true, "float": true, "char": true, "byte": true, "short": true, "void": true, "def": true, "var": true,
}

// typeAt passes over a type, and gives the token behind it.
func (p *parser) typeAt(i int) (int, bool) {
	t := p.toks[i]
	if t.kind != word || keywords[t.text] {
		return i, false
	}
	if !primitives[t.text] {
		for p.toks[i+1].is(sign, ".") && p.toks[min(i+2, len(p.toks)-1)].kind == word {
			i += 2
		}
		name := p.toks[i].text
		if name[0] < 'A' || name[0] > 'Z' {
			return i, false
		}
	}
	i++
	if p.toks[i].is(sign, "<") {
		if p.dialect == BeanShell && p.toks[i+1].kind == word && (p.toks[i+2].is(sign, ">") || p.toks[i+2].is(sign, ",")) && p.toks[i+1].text[0] >= 'A' && p.toks[i+1].text[0] <= 'Z' {
			panic(broken{t.line, "generics, which BeanShell has not"})
		}
		depth := 0
		for ; ; i++ {
			switch t := p.toks[i]; {
			case t.is(sign, "<"):
				depth++
			case t.is(sign, ">"):
				depth--
			case t.is(sign, ">>"):
				depth -= 2
			case t.kind == word, t.is(sign, ","), t.is(sign, "."), t.is(sign, "?"), t.is(sign, "["), t.is(sign, "]"), t.is(sign, "&"):
			default:
				return i, false
			}
			if depth <= 0 {
				i++
				break
			}
		}
	}
	for p.toks[i].is(sign, "[") && p.toks[min(i+1, len(p.toks)-1)].is(sign, "]") {
		i += 2
	}
	return i, true
}

// declaration reports whether a declaration begins here, and which token is the name.
func (p *parser) declaration() (name int, ok bool) {
	i := p.at
	modified := false
	for p.toks[i].kind == word && modifiers[p.toks[i].text] {
		i++
		modified = true
	}
	n, ok := p.typeAt(i)
	if !ok || p.toks[n].kind != word || keywords[p.toks[n].text] {
		return i, modified && p.toks[i].kind == word && p.toks[i+1].is(sign, "=")
	}
	switch t := p.toks[n+1]; t.kind {
	case sign:
		return n, t.text == "=" || t.text == ";" || t.text == "," || t.text == ":" || t.text == "[" || t.text == "}"
	case line, end:
		return n, true
	case word:
		return n, t.text == "in"
	default:
		return n, false
	}
}

// typeText is the type between two tokens, without its parameters.
func (p *parser) typeText(from, to int) string {
	last, list := "", ""
	depth := 0
	for _, t := range p.toks[from:to] {
		switch {
		case t.is(sign, "<"):
			depth++
		case t.is(sign, ">"):
			depth--
		case t.is(sign, ">>"):
			depth -= 2
		case depth > 0:
		case t.kind == word && !modifiers[t.text]:
			last = t.text
		case t.is(sign, "["):
			list += "[]"
		}
	}
	if last == "def" || last == "var" || last == "Object" && list == "" {
		return ""
	}
	return last + list
}

// declare reads a declaration whose name is at a token.
func (p *parser) declare(name int) statement {
	kind := p.typeText(p.at, name)
	var js strings.Builder
	p.at = name
	for {
		t := p.next()
		if t.kind != word || keywords[t.text] {
			p.fail(t, t.show()+" in a declaration")
		}
		own := kind
		for p.take("[") {
			p.want("]")
			own += "[]"
		}
		v := "null"
		switch {
		case p.take("="):
			p.lines()
			if p.isSign("{") && strings.HasSuffix(own, "[]") {
				v = p.arrayItems()
			} else {
				v = p.cast(own, p.expression())
			}
		case primitives[own]:
			v = p.cast(own, "0")
			if own == "boolean" {
				v = "false"
			}
		}
		js.WriteString(p.bind(t, own, v))
		if !p.take(",") {
			return statement{js.String(), js.String() + "return " + p.variable(t.text) + ";"}
		}
		p.lines()
	}
}

// variable is a declared variable in JavaScript.
func (p *parser) variable(name string) string {
	if _, ok := p.declared(name); ok {
		return local(name)
	}
	return "$s[" + quote(name) + "]"
}

// bind declares a variable with its first value. Those that stand at the top of a
// BeanShell script stay for its next run.
func (p *parser) bind(t token, kind, value string) string {
	if p.dialect == BeanShell && len(p.scopes) == 1 {
		p.top[t.text] = kind
		p.becomes("$s["+quote(t.text)+"]", value)
		return "$s[" + quote(t.text) + "]=" + value + ";"
	}
	p.becomes(local(t.text), value)
	in := p.scopes[len(p.scopes)-1]
	if _, ok := in[t.text]; ok {
		if p.dialect == Groovy {
			p.fail(t, t.text+", which is declared twice")
		}
		return local(t.text) + "=" + value + ";"
	}
	in[t.text] = kind
	return "let " + local(t.text) + "=" + value + ";"
}

// spread reads def (a, b) = list.
func (p *parser) spread() statement {
	p.at += 2
	var names []token
	for {
		t := p.next()
		if t.kind != word {
			p.fail(t, t.show()+" in a declaration")
		}
		names = append(names, t)
		if !p.take(",") {
			break
		}
	}
	p.want(")")
	p.want("=")
	v := p.expression()
	js := "let $l" + strconv.Itoa(p.at) + "=$j.each(" + v + ");"
	for i, n := range names {
		js += p.bind(n, "", "$j.item($l"+strconv.Itoa(p.at)+","+strconv.Itoa(i)+")")
	}
	return both(js)
}

// function writes a function of the script ahead of everything else.
func (p *parser) function(name string) {
	for !p.peek().is(word, name) || !p.ahead(1).is(sign, "(") {
		p.at++
	}
	p.at++
	p.want("(")
	scopes, lets := p.scopes, p.lets
	p.scopes, p.lets = []map[string]string{{}}, [][]string{nil}
	if p.dialect == Groovy {
		p.scopes[0] = scopes[0]
	}
	p.open()
	p.inside++
	head, first := p.parameters(")")
	p.want(")")
	for p.peek().kind == word || p.isSign(",") { // throws
		p.at++
	}
	p.want("{")
	body := p.statements(false)
	p.want("}")
	p.inside--
	first = p.close() + first
	p.scopes, p.lets = scopes, lets
	p.hoisted.WriteString("function f$" + name + "(" + head + "){" + first + join(body, true) + "}")
}

// parameters reads names with their types, up to a sign; first is what a body begins
// with: the values in place of those that are not given.
func (p *parser) parameters(until string) (head, first string) {
	var all []string
	p.lines()
	for !p.isSign(until) {
		i := p.at
		if n, ok := p.typeAt(i); ok && p.toks[n].kind == word {
			i = n
		}
		kind := p.typeText(p.at, i)
		p.at = i
		t := p.next()
		if t.kind != word || keywords[t.text] {
			p.fail(t, t.show()+" among parameters")
		}
		for p.take("[") {
			p.want("]")
		}
		p.scopes[len(p.scopes)-1][t.text] = kind
		p.becomes(local(t.text), "")
		all = append(all, local(t.text))
		if p.take("=") {
			first += "if(" + local(t.text) + "===undefined)" + local(t.text) + "=" + p.conditional() + ";"
		}
		if castable[kind] {
			first += local(t.text) + "=" + p.cast(kind, local(t.text)) + ";"
		}
		p.lines()
		if !p.take(",") {
			break
		}
		p.lines()
	}
	return strings.Join(all, ","), first
}
