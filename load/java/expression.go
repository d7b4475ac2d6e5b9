package java

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// quote is a text as JavaScript has it.
func quote(s string) string {
	out, _ := json.Marshal(s) // a text is never refused
	return string(out)
}

// local is the name of a variable in JavaScript.
func local(name string) string { return "v$" + name }

// castable are types whose declaration changes a value or refuses it.
var castable = map[string]bool{
	"int": true, "Integer": true, "long": true, "Long": true, "double": true, "Double": true, "float": true, "Float": true, "String": true,
	"boolean": true, "Boolean": true, "char": true, "BigDecimal": true, "short": true, "byte": true,
}

// cast is a value that is put into a variable of a type.
func (p *parser) cast(kind, js string) string {
	if !castable[kind] {
		return js
	}
	return "$j.put(" + quote(kind) + "," + js + "," + strconv.FormatBool(p.dialect == Groovy) + ")"
}

var assignments = []string{"=", "?=", "+=", "-=", "*=", "/=", "%=", "**=", "<<=", ">>=", ">>>=", "&=", "|=", "^="}

// expression reads one, assignments included.
func (p *parser) expression() string {
	defer p.deeper()()
	from := p.at
	left, place := p.ternary()
	t := p.peek()
	if t.kind != sign || !slices.Contains(assignments, t.text) {
		return left
	}
	if place == nil {
		p.fail(p.toks[from], "an assignment to that")
	}
	p.at++
	p.lines()
	v := p.expression()
	switch op := strings.TrimSuffix(t.text, "="); op {
	case "":
	case "?":
		v = "$j.or(" + left + ",function(){return " + v + "})"
	default:
		v = p.operation(t, op, left, v)
	}
	return place(v)
}

// conditional reads an expression without an assignment.
func (p *parser) conditional() string {
	js, _ := p.ternary()
	return js
}

// store writes a value to where an expression stands; nil: it is no such place.
type store func(value string) string

func (p *parser) ternary() (string, store) {
	left, place := p.binary(0)
	back := p.at
	p.lines()
	switch {
	case p.take("?"):
		p.lines()
		a := p.expression()
		p.want(":")
		p.lines()
		b := p.expression()
		return "(" + p.truth(left) + "?" + a + ":" + b + ")", nil
	case p.take("?:"):
		p.lines()
		return "$j.or(" + left + ",function(){return " + p.conditional() + "})", nil
	}
	p.at = back
	return left, place
}

// levels are the signs of two operands, the weakest first.
var levels = [][]string{
	{"||"}, {"&&"}, {"|"}, {"^"}, {"&"}, {"==", "!=", "<=>", "=~", "==~", "===", "!=="}, {"<", ">", "<=", ">=", "instanceof", "in", "as"}, {"<<", ">>", ">>>", "..", "..<"}, {"+", "-"}, {"*", "/", "%"}, {"**"},
}

func (p *parser) binary(level int) (string, store) {
	if level == len(levels) {
		return p.unary()
	}
	left, place := p.binary(level + 1)
	for {
		back := p.at
		// In BeanShell a line's end means nothing, in Groovy && and || may begin one.
		if p.dialect == BeanShell || level < 2 {
			p.lines()
		}
		t := p.peek()
		if t.kind != sign && t.kind != word || !slices.Contains(levels[level], t.text) {
			p.at = back
			return left, place
		}
		p.at++
		p.lines()
		left, place = p.pair(t, left, level), nil
	}
}

// pair writes an operation whose right side comes next.
func (p *parser) pair(t token, left string, level int) string {
	switch t.text {
	case "instanceof", "as":
		n, ok := p.typeAt(p.at)
		if !ok {
			p.fail(p.peek(), p.peek().show()+" where a class is expected")
		}
		kind := p.typeText(p.at, n)
		p.at = n
		if t.text == "as" {
			return "$j.as(" + left + "," + quote(kind) + ")"
		}
		return "$j.isA(" + left + "," + quote(kind) + ")"
	case "||", "&&":
		right, _ := p.binary(level + 1)
		return "(" + p.truth(left) + t.text + p.truth(right) + ")"
	}
	literal := p.peek().kind == text || left[0] == '"'
	right, _ := p.binary(level + 1)
	if p.dialect == BeanShell && (t.text == "==" || t.text == "!=") && literal && right != "null" && left != "null" {
		// Whether two texts are one object is known where one of them was made by a call.
		return "$j.same(" + left + "," + right + "," + strconv.FormatBool(t.text == "==") + ")"
	}
	return p.operation(t, t.text, left, right)
}

// operations are the signs by the library's functions.
var operations = map[string]string{
	"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "mod", "**": "pow", "<<": "shl", ">>": "shr", ">>>": "ushr", "&": "and", "|": "orBits", "^": "xor",
	"==": "eq", "!=": "ne", "<": "lt", ">": "gt", "<=": "le", ">=": "ge", "<=>": "cmp", "=~": "find", "==~": "matches", "in": "within", "..": "range", "..<": "rangeTo",
	"===": "is", "!==": "isNot",
}

func (p *parser) operation(t token, op, left, right string) string {
	name := operations[op]
	if name == "" {
		p.fail(t, op)
	}
	if p.dialect == BeanShell {
		switch op {
		case "/", "==", "!=", "+":
			name += "J"
		case "**", "=~", "==~", "..", "..<", "<=>", "in", "===", "!==":
			p.fail(t, op)
		}
	}
	return "$j." + name + "(" + left + "," + right + ")"
}

func (p *parser) unary() (string, store) {
	t := p.peek()
	if t.kind == sign {
		switch t.text {
		case "!":
			p.at++
			v, _ := p.unary()
			return "!" + p.truth(v), nil
		case "-", "+", "~":
			p.at++
			if n := p.peek(); t.text == "-" && n.kind == number {
				p.at++
				return p.postfix(p.number(n, "-"), nil)
			}
			v, _ := p.unary()
			return map[string]string{"-": "$j.neg(", "+": "(", "~": "$j.not("}[t.text] + v + ")", nil
		case "++", "--":
			p.at++
			v, place := p.unary()
			if place == nil {
				p.fail(t, t.text+" of that")
			}
			return place(p.operation(t, t.text[:1], v, "1")), nil
		case "(":
			if js, ok := p.parenthesisCast(); ok {
				return js, nil
			}
		}
	}
	js, place := p.primary()
	return p.postfix(js, place)
}

// parenthesisCast reads (int) x.
func (p *parser) parenthesisCast() (string, bool) {
	n, ok := p.typeAt(p.at + 1)
	if !ok || !p.toks[n].is(sign, ")") {
		return "", false
	}
	kind := p.typeText(p.at+1, n)
	after := p.toks[n+1]
	if !primitives[kind] {
		switch after.kind {
		case word:
			if after.text == "in" || after.text == "as" || after.text == "instanceof" {
				return "", false
			}
		case text, woven, number, letter:
		case sign:
			if after.text != "(" && after.text != "!" && after.text != "[" {
				return "", false
			}
		default:
			return "", false
		}
	}
	p.at = n + 1
	v, _ := p.unary()
	if !castable[kind] {
		return v, true
	}
	return "$j.cast(" + quote(kind) + "," + v + "," + strconv.FormatBool(p.dialect == Groovy) + ")", true
}

// decimals are numbers that are not written by base 16.
var decimals = regexp.MustCompile(`^(\d+|\d*\.\d+)(e[-+]?\d+)?[ldfgi]?$`)

func (p *parser) number(t token, minus string) string {
	s := strings.ToLower(t.text)
	hex := strings.HasPrefix(s, "0x")
	switch {
	case hex && strings.HasSuffix(s, "l"):
		return "(" + minus + "BigInt.asIntN(64,BigInt(" + quote(s[:len(s)-1]) + ")))" // as Java reads it
	case strings.HasSuffix(s, "l"), strings.HasSuffix(s, "g") && !strings.Contains(s, "."):
		return "BigInt(\"" + minus + s[:len(s)-1] + "\")"
	case !hex && !decimals.MatchString(s), hex && strings.Trim(s[2:], "0123456789abcdefl") != "":
		p.fail(t, "the number "+t.text)
	case strings.ContainsAny(s, ".e") && !hex, !hex && (strings.HasSuffix(s, "d") || strings.HasSuffix(s, "f")):
		plain := strings.TrimRight(s, "dfg")
		if plain == s && p.dialect == Groovy || strings.HasSuffix(s, "g") {
			return "$j.decimal(\"" + minus + plain + "\")"
		}
		if strings.HasSuffix(s, "f") {
			p.fail(t, "a number of the class float")
		}
		f, err := strconv.ParseFloat(minus+plain, 64)
		if err != nil {
			p.fail(t, "the number "+t.text)
		}
		return "$j.double(" + strconv.FormatFloat(f, 'g', -1, 64) + ")"
	case len(s) > 1 && s[0] == '0' && !hex:
		n, err := strconv.ParseInt(s, 8, 32)
		if err != nil {
			p.fail(t, "the number "+t.text)
		}
		return minus + strconv.FormatInt(n, 10)
	}
	n, err := strconv.ParseInt(minus+s, 0, 64)
	if err != nil {
		p.fail(t, "the number "+t.text)
	}
	if n > 1<<31-1 || n < -1<<31 {
		if hex && n <= 1<<32-1 {
			return strconv.FormatInt(int64(int32(uint32(n))), 10) //nolint:gosec // as Java reads it
		}
		if p.dialect == BeanShell {
			p.fail(t, "the number "+t.text+", which is too large for an int")
		}
		return "BigInt(\"" + minus + s + "\")"
	}
	return "(" + strconv.FormatInt(n, 10) + ")"
}

// given are names that JMeter binds.
var given = map[string]bool{
	"vars": true, "props": true, "log": true, "ctx": true, "prev": true, "data": true, "Label": true, "Parameters": true, "args": true, "OUT": true, "sampler": true,
	"AssertionResult": true, "SampleResult": true, "Response": true, "bsh": false, "SampleLabel": true, "ResponseCode": true, "ResponseData": true, "ResponseHeaders": true,
	"Failure": true, "FailureMessage": true, "IsSuccess": true, "ResponseMessage": true, "RequestHeaders": true, "SamplerData": true, "bshParams": true, "FileName": true, "threadName": true, "LabelName": true,
}

func (p *parser) primary() (string, store) {
	defer p.deeper()()
	t := p.next()
	switch t.kind {
	case number:
		return p.number(t, ""), nil
	case text:
		return quote(t.text), nil
	case letter:
		return "$j.char(" + quote(t.text) + ")", nil
	case woven:
		return p.woven(t), nil
	case word:
		return p.name(t)
	case sign:
		switch t.text {
		case "(":
			p.lines()
			v := p.expression()
			p.want(")")
			return p.comesTo("("+v+")", p.objectOf[v]), nil
		case "[":
			return p.list(), nil
		case "{":
			if p.dialect == Groovy {
				return p.closure(), nil
			}
		}
	}
	p.fail(t, t.show())
	return "", nil
}

// woven writes a text with expressions in it.
func (p *parser) woven(t token) string {
	out := `$j.weave(`
	for i, part := range t.parts {
		if i > 0 {
			out += ","
		}
		if !part.expression {
			out += quote(part.text)
			continue
		}
		toks, at := p.toks, p.at
		p.toks, p.at = lex(part.text, true, part.line), 0
		p.lines()
		if p.peek().kind == end {
			out += `"null"`
		} else {
			out += p.expression()
			p.lines()
			if p.peek().kind != end {
				p.fail(p.peek(), p.peek().show()+" in a text")
			}
		}
		p.toks, p.at = toks, at
	}
	return out + ")"
}

func (p *parser) name(t token) (string, store) {
	switch t.text {
	case "true", "false", "null":
		return t.text, nil
	case "new":
		return p.create(t), nil
	case "void":
		if p.dialect == BeanShell {
			return "undefined", nil
		}
	case "this":
		p.fail(t, "this")
	}
	if keywords[t.text] {
		p.fail(t, t.text)
	}
	kind, declared := p.declared(t.text)
	switch {
	case declared:
		return local(t.text), func(v string) string {
			p.becomes(local(t.text), v)
			return "(" + local(t.text) + "=" + p.cast(kind, v) + ")"
		}
	case p.isSign("(") && (p.functions[t.text] || t.text == "println" || t.text == "print" || t.text == "printf" || t.text == "sleep"):
		p.at++
		args := p.arguments(")")
		if p.functions[t.text] {
			return "f$" + t.text + "(" + args + ")", nil
		}
		return "$j." + t.text + "(" + args + ")", nil
	case p.isSign("("):
		if _, ok := p.declared(t.text); !ok {
			p.fail(t, "the call of "+t.text)
		}
	case given[t.text]:
		return p.comesTo(p.undeclared(t.text), p.objects.Variable(t.text)), func(v string) string { return "($s." + t.text + "=" + v + ")" }
	case known().classes[t.text]:
		return "$j.c." + t.text, nil
	case p.isSign(".") && packaged[t.text] && p.ahead(1).kind == word:
		return p.qualified(t), nil
	case t.text[0] >= 'A' && t.text[0] <= 'Z' && p.isSign(".") && p.ahead(1).kind == word && !p.assignedAtTop(t.text):
		if p.dialect == Groovy || !strings.HasPrefix(t.text, "Failure") {
			p.unknownClass(t, t.text)
		}
	}
	return p.undeclared(t.text), p.assigned(t.text)
}

// packaged are what the full names of classes begin with.
var packaged = map[string]bool{"java": true, "javax": true, "org": true, "com": true, "groovy": true, "net": true}

// qualified reads a class by its full name.
func (p *parser) qualified(t token) string {
	path := t.text
	for p.isSign(".") && p.ahead(1).kind == word {
		p.at++
		w := p.next().text
		path += "." + w
		if w[0] >= 'A' && w[0] <= 'Z' {
			if !known().classes[w] {
				p.fail(t, "the class "+path)
			}
			return "$j.c." + w
		}
	}
	p.fail(t, path)
	return ""
}

// unknownClass refuses a class. One of a library that JMeter does not come with is not
// there either, unless somebody has put it there.
func (p *parser) unknownClass(t token, path string) {
	name, ok := p.foreign[path]
	if !ok {
		name, ok = p.foreign["*"]
	}
	if ok || strings.Contains(path, ".") && !shipped(path) {
		panic(broken{t.line, "the class " + path + " of a library that JMeter does not come with: " + name})
	}
	p.fail(t, "the class "+path)
}

// create reads what follows new.
func (p *parser) create(t token) string {
	var path, w string
	for {
		n := p.next()
		if n.kind != word {
			p.fail(n, n.show()+" behind new")
		}
		w = n.text
		path += w
		if !p.take(".") {
			break
		}
		path += "."
	}
	if p.isSign("<") {
		n, ok := p.typeAt(p.at - 1)
		if !ok && p.ahead(1).is(sign, ">") {
			n, ok = p.at+2, p.dialect == Groovy
		}
		if !ok {
			p.fail(p.peek(), "<")
		}
		p.at = n
	}
	if p.take("[") {
		if p.take("]") {
			p.lines()
			if p.isSign("{") {
				return p.arrayItems()
			}
			p.fail(t, "an array of no size")
		}
		size := p.expression()
		p.want("]")
		if p.isSign("[") {
			p.fail(t, "an array of arrays")
		}
		return "$j.array(" + quote(w) + "," + size + ")"
	}
	if !known().classes[w] {
		p.unknownClass(t, path)
	}
	p.want("(")
	args := p.arguments(")")
	if p.isSign("{") && p.peek().line == p.toks[p.at-1].line {
		p.fail(t, "a class of its own")
	}
	if args != "" {
		args = "," + args
	}
	return "$j.make(" + quote(w) + args + ")"
}

func (p *parser) arrayItems() string {
	p.want("{")
	var items []string
	for {
		p.lines()
		if p.take("}") {
			break
		}
		if p.isSign("{") {
			items = append(items, p.arrayItems())
		} else {
			items = append(items, p.expression())
		}
		p.lines()
		p.take(",")
	}
	return "[" + strings.Join(items, ",") + "]"
}

// list reads [1, 2], [a: 1] or [:].
func (p *parser) list() string {
	var items []string
	isMap := false
	p.lines()
	if p.isSign(":") && p.ahead(1).is(sign, "]") {
		p.at += 2
		return "$j.map()"
	}
	for !p.isSign("]") {
		key := ""
		switch t := p.peek(); {
		case (t.kind == word || t.kind == text || t.kind == number) && p.ahead(1).is(sign, ":"):
			key = quote(t.text)
			if t.kind == number {
				key = p.number(t, "")
			}
			p.at += 2
		case t.kind == woven && p.ahead(1).is(sign, ":"):
			p.at++
			key = p.woven(t)
			p.at++
		case t.is(sign, "(") && t.closes > 0 && p.toks[t.closes+1].is(sign, ":"):
			p.at++
			key = p.expression()
			p.want(")")
			p.want(":")
		case t.is(sign, "*"):
			p.fail(t, "*")
		}
		p.lines()
		v := p.expression()
		if key != "" {
			isMap = true
			v = key + "," + v
		}
		items = append(items, v)
		p.lines()
		if !p.take(",") {
			break
		}
		p.lines()
	}
	p.want("]")
	if isMap {
		return "$j.map(" + strings.Join(items, ",") + ")"
	}
	return "[" + strings.Join(items, ",") + "]"
}

// closure reads { a, b -> … }, whose brace has been read.
func (p *parser) closure() string {
	p.open()
	p.inside++
	defer func() { p.inside-- }()
	var head, first string
	back := p.at
	if p.hasArrow() {
		head, first = p.parameters("->")
		p.want("->")
	} else {
		p.at = back
		p.scopes[len(p.scopes)-1]["it"] = ""
		head = local("it")
	}
	body := p.statements(false)
	p.want("}")
	first = p.close() + first
	return "$j.closure(function(" + head + "){" + first + join(body, true) + "})"
}

// hasArrow reports whether a closure that begins here names its parameters.
func (p *parser) hasArrow() bool {
	depth := 0
	for i := p.at; i < len(p.toks); i++ {
		switch t := p.toks[i]; {
		case t.is(sign, "->") && depth == 0:
			return true
		case t.is(sign, "<"), t.is(sign, "["), t.is(sign, "("):
			depth++
		case t.is(sign, ">"), t.is(sign, "]"), t.is(sign, ")"):
			depth--
		case t.kind == word, t.is(sign, ","), t.is(sign, "="), t.kind == line, t.kind == number, t.kind == text:
		default:
			return false
		}
	}
	return false
}

// arguments reads those of a call up to its closing sign.
func (p *parser) arguments(until string) string {
	var args []string
	p.lines()
	for !p.isSign(until) {
		if t := p.peek(); t.kind == word && p.ahead(1).is(sign, ":") && p.dialect == Groovy {
			p.fail(t, "an argument by name")
		}
		args = append(args, p.expression())
		p.lines()
		if !p.take(",") {
			break
		}
		p.lines()
	}
	p.want(until)
	return strings.Join(args, ",")
}

// postfix reads what follows an operand: members, calls, indices, ++.
func (p *parser) postfix(js string, place store) (string, store) {
	for {
		t := p.peek()
		back := p.at
		if t.kind == line {
			p.lines()
			if n := p.peek(); !n.is(sign, ".") && !n.is(sign, "?.") && !n.is(sign, "*.") {
				p.at = back
				return js, place
			}
			t = p.peek()
		}
		if t.kind != sign {
			return js, place
		}
		switch t.text {
		case ".", "?.", "*.":
			p.at++
			js, place = p.member(js, t.text)
		case "[":
			if p.dialect == Groovy && t.space && p.toks[p.at-1].line != t.line {
				return js, place
			}
			p.at++
			p.lines()
			i := p.expression()
			for first := true; p.take(","); first = false {
				if first {
					i = "[].concat(" + i
				}
				if i += "," + p.expression(); !p.isSign(",") {
					i += ")"
				}
			}
			p.want("]")
			list := js
			js, place = "$j.at("+list+","+i+")", func(v string) string { return "$j.setAt(" + list + "," + i + "," + v + ")" }
		case "++", "--":
			if place == nil {
				return js, place
			}
			p.at++
			js, place = "$j.first("+js+","+place(p.operation(t, t.text[:1], js, "1"))+")", nil
		case "(":
			if t.line != p.toks[p.at-1].line || p.dialect == BeanShell {
				return js, place
			}
			p.at++
			js, place = "$j.run("+js+",["+p.arguments(")")+"])", nil
		default:
			return js, place
		}
	}
}

// member reads a property or a method.
func (p *parser) member(of, how string) (string, store) {
	p.lines()
	t := p.next()
	if t.kind != word && t.kind != text {
		p.fail(t, t.show()+" behind a point")
	}
	safe := map[string]string{".": "", "?.": "Safe", "*.": "All"}[how]
	if p.isSign("<") && t.kind == word && t.text == "" {
		p.fail(t, "<")
	}
	called := p.isSign("(")
	args := ""
	if called {
		p.at++
		args = p.arguments(")")
	}
	if p.isSign("{") && p.dialect == Groovy && (called || known().methods[t.text]) && t.line == p.peek().line {
		p.at++
		if args != "" {
			args += ","
		}
		args += p.closure()
		called = true
	}
	name := t.text
	if called {
		if !known().methods[t.text] {
			p.fail(t, "the call of "+t.text)
		}
		gives := Binding("")
		if safe != "All" {
			gives = p.calls(t, of, t.text)
		}
		return p.comesTo("$j.call"+safe+"("+of+","+quote(t.text)+",["+args+"])", gives), nil
	}
	if t.text == "class" {
		p.fail(t, "class")
	}
	if p.dialect == BeanShell {
		safe = "J"
	}
	gives := Binding("")
	if how != "*." {
		if next := p.peek(); !next.is(sign, "=") {
			gives = p.property(t, of, name)
		}
	}
	return p.comesTo("$j.get"+safe+"("+of+","+quote(name)+")", gives), func(v string) string {
		p.setting(t, of, name)
		return "$j.set(" + of + "," + quote(name) + "," + v + ")"
	}
}

// command reads an expression that stands by itself: in Groovy, println x and log.info x
// as well.
func (p *parser) command() string {
	if p.dialect != Groovy || p.peek().kind != word {
		return p.expression()
	}
	t := p.peek()
	if (t.text == "println" || t.text == "print") && p.operandAt(1) {
		p.at++
		return "$j." + t.text + "(" + p.expressions() + ")"
	}
	if p.ahead(1).is(sign, ".") && p.ahead(2).kind == word && p.operandAt(3) && p.ahead(3).space && known().methods[p.ahead(2).text] {
		of, _ := p.name(p.next())
		p.at++
		m := p.next()
		p.calls(m, of, m.text)
		return "$j.call(" + of + "," + quote(m.text) + ",[" + p.expressions() + "])"
	}
	return p.expression()
}

// operandAt reports whether an operand of a command begins at a token.
func (p *parser) operandAt(n int) bool {
	t := p.ahead(n)
	switch t.kind {
	case text, woven, number:
		return true
	case word:
		return !keywords[t.text] || t.text == "new" || t.text == "null" || t.text == "true" || t.text == "false"
	default:
		return false
	}
}
