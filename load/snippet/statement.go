package snippet

import (
	"cmp"
	"slices"
	"strings"
)

// parser reads a script of Groovy or BeanShell.
type parser struct {
	reading
	bound func(name string) bool
	// scopes are the kinds of declared variables, the innermost last. The first has those
	// that are assigned without being declared.
	scopes []map[string]kind
	boxed  bool // BeanShell: numbers may be objects, whose == is Java's
	loops  int
}

// statements reads as far as a closing brace or the end. gives makes the value of the last
// one the script's, in $r.
func (p *parser) statements(gives bool) string {
	defer p.deeper()()
	var b strings.Builder
	for {
		p.lines()
		if _, empty := p.take(";"); empty {
			continue
		}
		t := p.peek()
		if t.kind == end || t.is(sign, "}") {
			return b.String()
		}
		js, v := p.statement(gives)
		b.WriteString(marked(t.line))
		if gives {
			b.WriteString("$r=null;")
		}
		if v != nil && gives && p.isLast() {
			if !strings.HasPrefix(js, "let ") {
				js = ""
			}
			js += "$r=" + p.result(t, *v) + ";"
		}
		b.WriteString(js)
	}
}

// isLast reports whether no statement of the block follows.
func (p *parser) isLast() bool {
	i := p.at
	for p.toks[i].kind == newline || p.toks[i].is(sign, ";") {
		i++
	}
	return p.toks[i].kind == end || p.toks[i].is(sign, "}")
}

// result is a value as the text that a script comes to; of nothing null.
func (p *parser) result(t token, v value) string {
	if v.kind == void || v.kind == null {
		return "(" + v.js + ",null)"
	}
	if isText(v.kind) {
		return v.js
	}
	return p.shown(t, v)
}

// ends wants the end of a statement.
func (p *parser) ends() {
	t := p.peek()
	if !t.is(sign, ";") && t.kind != end && (p.dialect != Groovy || t.kind != newline && !t.is(sign, "}") && !t.is(word, "else")) {
		p.fails(t)
	}
}

// foreign are the words that begin statements which are not rewritten.
var foreign = []string{"class", "interface", "enum", "switch", "do", "static", "public", "private", "void", "synchronized", "assert", "with"}

// statement reads one, and gives the value of an expression or a declaration.
func (p *parser) statement(gives bool) (string, *value) {
	t := p.peek()
	gives = gives && p.dialect == Groovy
	switch {
	case t.is(sign, "{") || t.is(sign, "@") || t.kind == word && slices.Contains(foreign, t.text):
		refuse(t.line, false, "%s", t.text)
	case t.is(word, "import"):
		p.imported()
		return "", nil
	case t.is(word, "if"):
		return p.conditional(gives), nil
	case t.is(word, "try"):
		return p.attempt(gives), nil
	case t.is(word, "for"), t.is(word, "while"):
		p.loops++
		defer func() { p.loops-- }()
		if p.next(); t.text == "for" {
			return p.forLoop(t), nil
		}
		return "while" + p.condition() + p.block(false), nil
	case t.is(word, "return"):
		p.next()
		if t := p.peek(); t.is(sign, ";") || t.is(sign, "}") || t.kind == newline || t.kind == end {
			return "return null;", nil
		}
		v := p.expression()
		p.ends()
		return "return " + p.result(t, v) + ";", nil
	case t.is(word, "throw"):
		p.next()
		v := p.expression()
		p.ends()
		if v.kind != exception {
			refuse(t.line, false, "a throw of %s", v.kind)
		}
		return "throw " + v.js + ";", nil
	case t.is(word, "break"), t.is(word, "continue"):
		if p.next(); p.loops == 0 {
			refuse(t.line, false, "%s outside of a loop", t.text)
		}
		p.ends()
		return t.text + ";", nil
	}
	js, v, ok := p.declaration()
	if !ok {
		v = p.expression()
		js = v.js + ";"
	}
	p.ends()
	if ok && p.dialect != Groovy {
		return js, nil
	}
	return js, &v
}

// libraries are what the packages begin with whose classes are looked up by their names.
var libraries = []string{"java.", "javax.", "groovy.", "org.apache.jmeter.", "org.apache.commons.", "org.apache.log"}

// isOfLibrary reports whether a class is one of those packages'.
func isOfLibrary(name string) bool {
	return slices.ContainsFunc(libraries, func(l string) bool { return strings.HasPrefix(name, l) })
}

func (p *parser) imported() {
	t := p.next()
	name := ""
	for n := p.peek(); n.kind != newline && n.kind != end && !n.is(sign, ";"); n = p.peek() {
		if n.text == "static" || n.text == "as" {
			refuse(n.line, false, "import %s", n.text)
		}
		name += p.next().text
	}
	if !isOfLibrary(name) {
		refuse(t.line, false, "the library %s", name)
	}
}

// block reads a block in braces, or one statement. gives is as for statements.
func (p *parser) block(gives bool) string {
	p.lines()
	p.scopes = append(p.scopes, map[string]kind{})
	defer func() { p.scopes = p.scopes[:len(p.scopes)-1] }()
	if _, ok := p.take("{"); ok {
		body := p.statements(gives)
		p.want("}")
		return "{" + body + "}"
	}
	defer p.deeper()()
	t := p.peek()
	js, v := p.statement(gives)
	if gives && v != nil {
		js = "$r=" + p.result(t, *v) + ";"
	}
	return "{" + marked(t.line) + js + "}"
}

func (p *parser) condition() string {
	t := p.peek()
	p.want("(")
	v := p.truth(t, p.expression())
	p.want(")")
	return "(" + v + ")"
}

// conditional reads an if; gives is as for statements.
func (p *parser) conditional(gives bool) string {
	p.next()
	js := "if" + p.condition() + p.block(gives)
	before := p.at
	for p.lines(); p.peek().is(sign, ";"); p.lines() {
		p.at++
	}
	switch {
	case !p.peek().is(word, "else"):
		p.at = before
		return js
	case p.ahead(1).is(word, "if"):
		p.next()
		return js + "else " + p.conditional(gives)
	}
	p.next()
	return js + "else" + p.block(gives)
}

func (p *parser) forLoop(t token) string {
	p.want("(")
	p.scopes = append(p.scopes, map[string]kind{})
	defer func() { p.scopes = p.scopes[:len(p.scopes)-1] }()
	// for (x in list), for (String x : list)
	at := p.at
	of, name := p.typed()
	if name == "" && p.ahead(1).is(word, "in") {
		name = p.next().text
	}
	if n := p.peek(); name != "" && (n.is(sign, ":") || n.is(word, "in")) {
		p.next()
		all := p.expression()
		p.want(")")
		item, ok := itemOf(all.kind)
		if !ok || of != "" && of != item {
			refuse(t.line, false, "a loop over %s", all.kind)
		}
		p.declare(t, name, item)
		return "for(let " + own(name) + " of $j.each(" + all.js + "))" + p.block(false)
	}
	p.at = at
	js, _, ok := p.declaration()
	if !ok {
		js = p.expression().js + ";"
	}
	p.want(";")
	condition := p.truth(t, p.expression())
	p.want(";")
	update := p.expression().js
	p.want(")")
	return "for(" + js + condition + ";" + update + ")" + p.block(false)
}

// attempt reads a try with a catch of whatever is thrown.
func (p *parser) attempt(gives bool) string {
	t := p.next()
	js := "try" + p.block(gives)
	p.lines()
	if c := p.next(); !c.is(word, "catch") {
		refuse(t.line, false, "a try without catch (Exception e)")
	}
	p.want("(")
	if of := p.peek().text; of == "Exception" || of == "Throwable" {
		p.next()
	}
	name := p.next().text
	if !p.peek().is(sign, ")") {
		refuse(t.line, false, "a catch of %s: catch Exception", name)
	}
	p.next()
	p.scopes = append(p.scopes, map[string]kind{name: exception})
	js += "catch(" + own(name) + "){$j.caught(" + own(name) + ");" + p.block(gives) + "}"
	p.scopes = p.scopes[:len(p.scopes)-1]
	at := p.at
	if p.lines(); p.peek().is(word, "finally") {
		p.fails(p.peek())
	}
	p.at = at
	return js
}

// types are the kinds of variables by how they are declared. Empty: that of its value.
var types = map[string]kind{
	"def": "", "var": "", "Object": "", "String": text, "int": integer, "Integer": integer, "long": long, "Long": long, "double": double, "Double": double,
	"boolean": boolean, "Boolean": boolean, "List": "", "Random": "random", "StringBuilder": "builder", "UUID": "uuid",
}

// typed reads a type and a name; an empty name: it is none.
func (p *parser) typed() (of kind, name string) {
	t, n := p.peek(), 1
	of, known := types[t.text]
	if p.ahead(1).is(sign, "[") && p.ahead(2).is(sign, "]") {
		of, n = listOf(of), 3
	}
	name = p.ahead(n).text
	switch {
	case t.kind != word || t.text == "new" || p.ahead(n).kind != word || name == "in" || name == "as":
		return "", ""
	case !known || of == listOf(""):
		refuse(t.line, false, "a variable of the type %s", t.text)
	case p.ahead(n+1).is(sign, "("):
		refuse(t.line, false, "a function of its own")
	}
	p.at += n + 1
	return of, name
}

// initial are the values of declared variables that are given none.
var initial = map[kind]string{integer: "0", long: "0n", boolean: "false", double: "0"}

// declaration reads one of variables, and gives the value of the last. False: it is none.
func (p *parser) declaration() (js string, v value, ok bool) {
	t := p.peek()
	of, name := p.typed()
	if name == "" {
		return "", v, false
	}
	for {
		v = value{cmp.Or(initial[of], "null"), cmp.Or(of, null), nil}
		if _, set := p.take("="); set {
			p.lines()
			if v = p.expression(); of != "" {
				v = p.converted(t, v, of)
			}
		}
		if v.kind == void || v.kind == "logged" {
			refuse(t.line, false, "a variable of %s", v.kind)
		}
		p.declare(t, name, v.kind)
		js += "let " + own(name) + "=" + v.js + ";"
		v.js = own(name)
		if _, more := p.take(","); !more {
			return js, v, true
		}
		if n := p.next(); n.kind != word {
			p.fails(n)
		} else {
			name = n.text
		}
	}
}

func (p *parser) declare(t token, name string, k kind) {
	if p.bound(name) && given[name] != "" {
		refuse(t.line, false, "a variable %s of its own", name)
	}
	if _, depth := p.variable(name); depth >= 0 && (p.dialect == Groovy || depth == len(p.scopes)-1) {
		refuse(t.line, false, "a second variable %s", name)
	}
	p.scopes[len(p.scopes)-1][name] = k
}

// variable is the kind of a script's own variable, with the number of its scope; below 0:
// there is none.
func (p *parser) variable(name string) (k kind, depth int) {
	for depth, scope := range slices.Backward(p.scopes) {
		if k, ok := scope[name]; ok {
			return k, depth
		}
	}
	return "", -1
}
