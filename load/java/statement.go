package java

import (
	"slices"
	"strconv"
	"strings"
)

// parser writes tokens as JavaScript while it reads them.
type parser struct {
	dialect   Dialect
	toks      []token
	at        int
	scopes    []map[string]string // what is declared, innermost last, with its type
	objects   Objects
	objectOf  map[string]Binding // which object of the run a piece of JavaScript comes to
	foreign   map[string]string  // imported classes that JMeter does not come with, with their names
	functions map[string]bool
	hoisted   strings.Builder   // functions, which every statement sees
	nested    int               // depth of expressions and blocks
	inside    int               // functions and closures around
	lets      [][]string        // variables of blocks that are declared where they begin
	top       map[string]string // types of what stands at the top of a BeanShell script
}

// statement is one as JavaScript; last is how it is written where it is the last of a
// function, whose value it is then.
type statement struct{ js, last string }

// maxNested bounds what is within each other.
const maxNested = 200

func (p *parser) peek() token { return p.toks[p.at] }

func (p *parser) ahead(n int) token { return p.toks[min(p.at+n, len(p.toks)-1)] }

func (p *parser) next() token {
	t := p.toks[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) fail(t token, what string) { panic(problem{t.line, what}) }

func (t token) show() string {
	switch t.kind {
	case end:
		return "the end"
	case line:
		return "the end of the line"
	default:
		return t.text
	}
}

func (t token) is(kind kind, text string) bool { return t.kind == kind && t.text == text }

func (p *parser) isSign(s string) bool { return p.peek().is(sign, s) }
func (p *parser) isWord(s string) bool { return p.peek().is(word, s) }

func (p *parser) take(s string) bool {
	if p.isSign(s) || p.isWord(s) {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(s string) {
	p.lines()
	if !p.take(s) {
		p.fail(p.peek(), p.peek().show()+" where "+s+" is expected")
	}
}

// lines passes over the ends of lines.
func (p *parser) lines() {
	for p.peek().kind == line {
		p.at++
	}
}

// deeper enters what is within something; leave it by the function that it returns.
func (p *parser) deeper() func() {
	if p.nested++; p.nested > maxNested {
		p.fail(p.peek(), "what is nested so deep")
	}
	return func() { p.nested-- }
}

func (p *parser) open() {
	p.scopes = append(p.scopes, map[string]string{})
	p.lets = append(p.lets, nil)
}

// close leaves a block; what comes back is written where the block begins.
func (p *parser) close() (first string) {
	n := len(p.lets) - 1
	for _, name := range p.lets[n] {
		first += "let " + local(name) + "=null;"
	}
	p.scopes, p.lets = p.scopes[:n], p.lets[:n]
	return first
}

// assigned is where a value goes that a name gets which nothing declares. In BeanShell it
// stays in the block around it, unless it is one of the script's own already.
func (p *parser) assigned(name string) store {
	if p.dialect == BeanShell && len(p.scopes) > 1 && !given[name] {
		if _, ok := p.top[name]; !ok {
			n := len(p.scopes) - 1
			return func(v string) string {
				if _, ok := p.scopes[n][name]; !ok {
					p.scopes[n][name] = ""
					p.lets[n] = append(p.lets[n], name)
				}
				p.becomes(local(name), v)
				return "(" + local(name) + "=" + v + ")"
			}
		}
	}
	return func(v string) string {
		kind, ok := p.top[name]
		if !ok && p.dialect == BeanShell {
			p.top[name] = ""
		}
		p.becomes(p.undeclared(name), v)
		return "($s[" + quote(name) + "]=" + p.cast(kind, v) + ")"
	}
}

// undeclared is a variable of the script's own, that nothing declares, in JavaScript.
func (p *parser) undeclared(name string) string {
	if p.dialect == BeanShell {
		return "$s[" + quote(name) + "]"
	}
	return "$j.known($s," + quote(name) + ")"
}

// declared finds a variable's type; ok: it is declared.
func (p *parser) declared(name string) (kind string, ok bool) {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if kind, ok = p.scopes[i][name]; ok {
			return kind, true
		}
	}
	return "", false
}

// assignedAtTop reports whether a name that nothing declares is of a variable that stays
// for the script's next run.
func (p *parser) assignedAtTop(name string) bool {
	_, ok := p.top[name]
	return ok
}

// findFunctions notes the functions that a script defines, before they are used.
func (p *parser) findFunctions() {
	for i := range p.toks {
		if name, ok := p.functionAt(i); ok {
			p.functions[name] = true
		}
	}
}

// functionAt is the name of the function whose definition begins at a token.
func (p *parser) functionAt(i int) (string, bool) {
	typed := false
	for p.toks[i].kind == word && modifiers[p.toks[i].text] {
		i++
		typed = true
	}
	if n, ok := p.typeAt(i); ok && p.toks[n].kind == word {
		i, typed = n, true
	}
	if p.toks[i].kind != word || !p.toks[min(i+1, len(p.toks)-1)].is(sign, "(") || keywords[p.toks[i].text] {
		return "", false
	}
	if !typed && p.dialect == Groovy {
		return "", false
	}
	n := p.toks[i+1].closes
	if n == 0 {
		return "", false
	}
	for n++; n < len(p.toks) && (p.toks[n].kind == line || p.toks[n].kind == word && (p.toks[n].text == "throws" || p.toks[n-1].text == "throws")); n++ {
	}
	return p.toks[i].text, n < len(p.toks) && p.toks[n].is(sign, "{")
}

var keywords = map[string]bool{
	"if": true, "else": true, "for": true, "while": true, "do": true, "switch": true, "case": true, "default": true, "try": true, "catch": true, "finally": true,
	"return": true, "throw": true, "new": true, "break": true, "continue": true, "import": true, "class": true, "in": true, "instanceof": true, "as": true,
	"true": true, "false": true, "null": true, "assert": true, "synchronized": true, "interface": true, "enum": true, "goto": true, "package": true,
}

// statements reads statements up to a brace, a case or the end.
func (p *parser) statements(top bool) []statement {
	defer p.deeper()()
	var out []statement
	for {
		for p.peek().kind == line || p.isSign(";") {
			p.at++
		}
		t := p.peek()
		if t.kind == end || t.is(sign, "}") || t.is(word, "case") || t.is(word, "default") {
			return out
		}
		s := p.statement(top)
		if s.js != "" {
			at := "$j.line=" + strconv.Itoa(t.line) + ";"
			out = append(out, statement{at + s.js, at + s.last})
		}
		switch t := p.peek(); {
		case t.kind == line, t.kind == end, t.is(sign, ";"), t.is(sign, "}"), p.toks[p.at-1].is(sign, "}"):
		case t.is(word, "case"), t.is(word, "default"):
		case p.at > 0 && (p.toks[p.at-1].is(sign, ";") || p.toks[p.at-1].kind == line):
		default:
			p.fail(t, t.show()+" behind a statement")
		}
	}
}

// join writes statements after each other; value: the last one is what comes back.
func join(all []statement, value bool) string {
	var b strings.Builder
	for i, s := range all {
		if value && i == len(all)-1 {
			b.WriteString(s.last)
		} else {
			b.WriteString(s.js)
		}
	}
	return b.String()
}

func both(js string) statement { return statement{js, js} }

func value(js string) statement { return statement{js + ";", "return " + js + ";"} }

func (p *parser) statement(top bool) statement {
	t := p.peek()
	if t.is(sign, "@") {
		p.fail(t, "an annotation")
	}
	if top {
		if name, ok := p.functionAt(p.at); ok {
			p.function(name)
			return statement{}
		}
	}
	if t.kind == word {
		p.at++
		if s, ok := p.keyword(t); ok {
			return s
		}
		p.at--
	}
	if p.isSign("{") {
		p.at++
		p.open()
		body := p.statements(false)
		first := p.close()
		p.want("}")
		return statement{"{" + first + join(body, false) + "}", "{" + first + join(body, p.dialect == Groovy) + "}"}
	}
	if name, ok := p.declaration(); ok {
		return p.declare(name)
	}
	if p.peek().is(word, "def") && p.ahead(1).is(sign, "(") {
		return p.spread()
	}
	if t.kind == word && !keywords[t.text] && p.ahead(1).is(sign, ":") && (p.ahead(2).kind == line || p.ahead(2).is(word, "for") || p.ahead(2).is(word, "while")) {
		p.fail(t, "a label")
	}
	return value(p.command())
}

// keyword reads a statement whose keyword has been read. False: it is none.
func (p *parser) keyword(t token) (statement, bool) {
	switch t.text {
	case "import":
		return p.importing(t), true
	case "package":
		p.fail(t, "a package")
	case "class", "interface", "enum", "trait":
		p.fail(t, "a class of its own")
	case "if":
		return p.branch(), true
	case "for":
		return p.forLoop(), true
	case "while":
		c := p.condition()
		return both("while(" + c + ")" + p.block()), true
	case "do":
		body := p.block()
		p.want("while")
		return both("do" + body + "while(" + p.condition() + ");"), true
	case "switch":
		return p.choice(t), true
	case "try":
		return p.attempt(t), true
	case "return":
		if t := p.peek(); t.kind == line || t.kind == end || t.is(sign, ";") || t.is(sign, "}") {
			return both("return null;"), true
		}
		return both("return " + p.expression() + ";"), true
	case "throw":
		return both("$j.raise(" + p.expression() + ");"), true
	case "assert":
		c, what := p.expression(), `""`
		if p.take(":") || p.take(",") {
			what = p.expression()
		}
		return both("$j.holds(" + p.truth(c) + "," + what + ");"), true
	case "break", "continue":
		if p.peek().kind == word {
			p.fail(p.peek(), "a label")
		}
		return both(t.text + ";"), true
	}
	return statement{}, false
}

func (p *parser) importing(t token) statement {
	p.take("static")
	last, first, path := "", "", ""
	for {
		n := p.next()
		switch {
		case n.kind == word && n.text == "as":
			p.fail(n, "an import by another name")
		case n.kind == word:
			if first == "" {
				first = n.text
			}
			last = n.text
			path += n.text
		case n.is(sign, "."):
			path += "."
		case n.is(sign, "*"), n.is(sign, ".*"), n.is(sign, "*."):
			last = "*"
		case n.is(sign, ";"), n.kind == line, n.kind == end:
			if !shipped(path + ".") {
				if last != "*" && !known().classes[last] && p.dialect == Groovy {
					panic(broken{t.line, "the library " + path + ", which JMeter does not come with"})
				}
				p.foreign[last] = path
			}
			return statement{}
		default:
			p.fail(n, n.show()+" in an import")
		}
	}
}

// shipped reports whether a class may come with JMeter; whether it is known here is seen
// where it is used.
func shipped(path string) bool {
	return slices.ContainsFunc([]string{"java.", "javax.", "groovy.", "org.apache.", "com.jayway.", "net.minidev.", "org.slf4j.", "org.jsoup.", "com.fasterxml.", "org.codehaus."}, func(prefix string) bool {
		return strings.HasPrefix(path, prefix)
	})
}

func (p *parser) condition() string {
	p.want("(")
	p.lines()
	c := p.truth(p.expression())
	p.want(")")
	return c
}

// truth is what a condition's value comes to.
func (p *parser) truth(js string) string {
	if p.dialect == Groovy {
		return "$j.t(" + js + ")"
	}
	return "$j.b(" + js + ")"
}

// block reads a block, or the one statement that stands in its place.
func (p *parser) block() string { return join(p.body(), false) }

func (p *parser) body() []statement {
	p.lines()
	if p.take(";") {
		return []statement{both("{}")}
	}
	p.open()
	if p.take("{") {
		inner := p.statements(false)
		first := p.close()
		p.want("}")
		return []statement{{"{" + first + join(inner, false) + "}", "{" + first + join(inner, true) + "}"}}
	}
	s := p.statement(false)
	first := p.close()
	return []statement{{"{" + first + s.js + "}", "{" + first + s.last + "}"}}
}

func (p *parser) branch() statement {
	c := p.condition()
	then := p.body()
	out := statement{"if(" + c + ")" + join(then, false), "if(" + c + ")" + join(then, p.dialect == Groovy)}
	back := p.at
	for p.peek().kind == line || p.isSign(";") {
		p.at++
	}
	if !p.take("else") {
		p.at = back
		return out
	}
	other := p.body()
	return statement{out.js + "else" + join(other, false), out.last + "else" + join(other, p.dialect == Groovy)}
}

func (p *parser) forLoop() statement {
	p.want("(")
	p.open()
	if each, ok := p.forEach(); ok {
		return both("{" + p.close() + each + "}")
	}
	first := ""
	if !p.isSign(";") {
		if name, ok := p.declaration(); ok {
			first = p.declare(name).js
		} else {
			first = p.expressions() + ";"
		}
	}
	p.want(";")
	c := "true"
	if !p.isSign(";") {
		c = p.truth(p.expression())
	}
	p.want(";")
	step := ""
	if !p.isSign(")") {
		step = p.expressions()
	}
	p.want(")")
	body := p.block()
	return both("{" + p.close() + first + "for(;" + c + ";" + step + ")" + body + "}")
}

// expressions reads some with commas between them.
func (p *parser) expressions() string {
	out := p.expression()
	for p.take(",") {
		out += "," + p.expression()
	}
	return out
}

// forEach reads the head of a loop over a collection: x : list, or x in list.
func (p *parser) forEach() (string, bool) {
	i := p.at
	if name, ok := p.declaration(); ok {
		i = name
	}
	if p.toks[i].kind != word || !p.toks[i+1].is(sign, ":") && !p.toks[i+1].is(word, "in") {
		return "", false
	}
	kind := p.typeText(p.at, i)
	name := p.toks[i].text
	p.at = i + 2
	list := p.expression()
	p.want(")")
	p.scopes[len(p.scopes)-1][name] = kind
	p.becomes(local(name), "")
	return "for(let " + local(name) + " of $j.each(" + list + "))" + p.block(), true
}

func (p *parser) choice(t token) statement {
	p.want("(")
	on := p.expression()
	p.want(")")
	p.want("{")
	var cases, bodies strings.Builder
	n := 0
	for {
		p.lines()
		if p.take("}") {
			break
		}
		if p.take("default") {
			bodies.WriteString("default:")
		} else {
			p.want("case")
			cases.WriteString("function(){return " + p.conditional() + "},")
			bodies.WriteString("case " + strconv.Itoa(n) + ":")
			n++
			if p.isSign("->") {
				p.fail(t, "->")
			}
		}
		p.want(":")
		bodies.WriteString(p.caseBody())
	}
	return both("switch($j.which(" + on + ",[" + cases.String() + "]," + strconv.FormatBool(p.dialect == Groovy) + ")){" + bodies.String() + "}")
}

func (p *parser) caseBody() string {
	var first, body string
	if p.dialect == BeanShell { // its cases are no blocks
		body = join(p.statements(false), false)
	} else {
		p.open()
		body = join(p.statements(false), false)
		first = p.close()
	}
	if body == "" {
		return ""
	}
	return "{" + first + body + "}"
}

func (p *parser) attempt(t token) statement {
	p.lines()
	if p.isSign("(") {
		p.fail(t, "try with resources")
	}
	body := p.body()
	out := statement{"try" + join(body, false), "try" + join(body, true)}
	caught := false
	for {
		back := p.at
		p.lines()
		switch {
		case p.take("catch"):
			if caught {
				p.fail(p.peek(), "a second catch")
			}
			caught = true
			p.want("(")
			name := ""
			for !p.isSign(")") {
				n := p.next()
				if n.kind == end {
					p.fail(n, "the end")
				}
				if n.kind == word {
					name = n.text
				}
			}
			p.want(")")
			p.open()
			p.scopes[len(p.scopes)-1][name] = ""
			p.becomes(local(name), "")
			handler := p.body()
			_ = p.close()
			head := "catch($e){let " + local(name) + "=$j.caught($e);"
			out.js += head + join(handler, false) + "}"
			out.last += head + join(handler, true) + "}"
		case p.take("finally"):
			b := p.block()
			out.js += "finally" + b
			out.last += "finally" + b
			return out
		default:
			if p.at = back; !caught {
				panic(broken{t.line, "try without catch"})
			}
			return out
		}
	}
}
