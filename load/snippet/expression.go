package snippet

import (
	"slices"
	"strconv"
	"strings"
)

// value is an expression as JavaScript.
type value struct {
	js   string
	kind kind
	text *string // what a text that is written in the script says
}

// levels are the operators between two operands, the loosest first.
var levels = [][]string{{"||"}, {"&&"}, {"==", "!="}, {"<", "<=", ">", ">=", "as"}, {"+", "-"}, {"*", "/", "%"}}

// operated takes one of some operators. A line may begin with those of logic.
func (p *parser) operated(all ...string) (string, bool) {
	at := p.at
	if p.lines(); p.at != at && !slices.Contains([]string{"&&", "||", "?", ":", "?:"}, p.peek().text) {
		p.at = at
	}
	if t := p.peek(); (t.kind == sign || t.is(word, "as")) && slices.Contains(all, t.text) {
		p.next()
		p.lines()
		return t.text, true
	}
	p.at = at
	return "", false
}

// expression reads one, or an assignment.
func (p *parser) expression() value {
	t, n := p.peek(), p.ahead(1)
	if n.kind == sign && (n.text == "++" || n.text == "--") && t.kind == word || t.kind == sign && (t.text == "++" || t.text == "--") {
		p.at += 2
		if t.kind == sign {
			t, n = n, t
		}
		if after := p.peek(); after.kind != newline && after.kind != end && !after.is(sign, ";") && !after.is(sign, ")") && !after.is(sign, "}") {
			refuse(n.line, false, "%s within an expression", n.text)
		}
		v := p.assigned(t, p.arithmetic(n, n.text[:1], p.named(t), value{"1", integer, nil}))
		return value{v.js, void, nil}
	}
	if t.kind != word || n.kind != sign {
		return p.ternary()
	}
	switch n.text {
	case "=":
		p.at += 2
		p.lines()
		return p.assigned(t, p.expression())
	case "+=", "-=", "*=", "/=", "%=":
		p.at += 2
		p.lines()
		return p.assigned(t, p.arithmetic(n, n.text[:1], p.named(t), p.expression()))
	}
	return p.ternary()
}

// assigned is an assignment to a variable, which keeps its kind.
func (p *parser) assigned(t token, v value) value {
	if p.dialect == BeanShell && settable[t.text] && p.bound(t.text) {
		return value{"($g." + t.text + "=" + p.converted(t, v, given[t.text]).js + ")", given[t.text], nil}
	}
	if given[t.text] != "" && p.bound(t.text) {
		refuse(t.line, false, "an assignment to %s", t.text)
	}
	k, depth := p.variable(t.text)
	switch {
	case depth < 0 && (v.kind == void || v.kind == null || v.kind == "logged"):
		refuse(t.line, false, "a variable of %s", v.kind)
	case depth < 0 && p.dialect == BeanShell && len(p.scopes) > 2:
		refuse(t.line, false, "%s, which is of its block alone: set it before", t.text)
	case depth < 0:
		p.scopes[0][t.text], k = v.kind, v.kind
	case k == null:
		if v.kind != text && v.kind != json && v.kind != null && !isObject(v.kind) {
			refuse(t.line, false, "%s, which is null and then %s", t.text, v.kind)
		}
		p.scopes[depth][t.text], k = v.kind, v.kind
	case isText(k) && isText(v.kind) && k != v.kind:
		refuse(t.line, false, "%s, which is a text and then one with expressions: add toString()", t.text)
	case k == json && v.kind != json:
		refuse(t.line, false, "%s, which is of JSON and then %s", t.text, v.kind)
	}
	return value{"(" + own(t.text) + "=" + p.converted(t, v, k).js + ")", k, nil}
}

// ternary reads c ? a : b, and Groovy's c ?: b.
func (p *parser) ternary() value {
	defer p.deeper()()
	t := p.peek()
	c := p.binary(0)
	s, _ := p.operated("?", "?:")
	if s == "" {
		return c
	}
	condition, yes := "", c
	if s == "?" {
		condition, yes = p.truth(t, c), p.ternary()
		if _, ok := p.operated(":"); !ok {
			p.fails(p.peek())
		}
	}
	no := p.ternary()
	k := yes.kind
	switch {
	case isText(yes.kind) && isText(no.kind) && yes.kind != no.kind:
		k = woven // equals is refused of it
	case yes.kind == null && isText(no.kind):
		k = no.kind
	case no.kind == null && isText(yes.kind), yes.kind == no.kind && yes.kind != void && yes.kind != "logged":
	default:
		refuse(t.line, false, "a choice between %s and %s", yes.kind, no.kind)
	}
	if s == "?" {
		return value{"(" + condition + "?" + yes.js + ":" + no.js + ")", k, nil}
	}
	if p.dialect != Groovy || !isText(k) && k != integer {
		refuse(t.line, false, "?: between %s and %s", c.kind, no.kind)
	}
	return value{"(" + c.js + "||" + no.js + ")", k, nil}
}

func (p *parser) binary(level int) value {
	if level == len(levels) {
		return p.unary()
	}
	out := p.binary(level + 1)
	for {
		t := p.peek()
		s, ok := p.operated(levels[level]...)
		switch {
		case !ok:
			return out
		case s == "as":
			out = p.cast(t, out, p.next().text, p.dialect == Groovy)
		case s == "&&" || s == "||":
			left := p.truth(t, out)
			out = value{"(" + left + s + p.truth(t, p.binary(level+1)) + ")", boolean, nil}
		case s == "==" || s == "!=":
			out = value{p.equality(t, s, out, p.binary(level+1)), boolean, nil}
		case level == 3:
			right := p.binary(level + 1)
			if !isNumber(out.kind) || !isNumber(right.kind) {
				refuse(t.line, false, "%s between %s and %s", s, out.kind, right.kind)
			}
			out = value{"(" + out.js + s + right.js + ")", boolean, nil}
		default:
			out = p.arithmetic(t, s, out, p.binary(level+1))
		}
	}
}

// equality is == and !=. In BeanShell it is Java's, by which two texts are equal only where
// they are the same object.
func (p *parser) equality(t token, s string, a, b value) string {
	plain := func(k kind) bool { return k == text || k == integer || k == boolean }
	switch groovy := p.dialect == Groovy; {
	case a.kind == void || b.kind == void:
	case a.kind == null || b.kind == null:
		return "(" + a.js + s + b.js + ")"
	case isNumber(a.kind) && isNumber(b.kind):
		if p.boxed && !isLiteral(a.js) && !isLiteral(b.js) {
			refuse(t.line, false, "%s between numbers that may be objects: use equals, or int", s)
		}
		return "(" + a.js + s + b.js + ")"
	case !groovy && (a.kind == text || b.kind == text):
		refuse(t.line, false, "%s between texts, by which Java compares objects: use equals", s)
	case a.kind == boolean && b.kind == boolean, groovy && isText(a.kind) && isText(b.kind):
		return "(" + a.js + s + "=" + b.js + ")"
	case groovy && (a.kind == json && plain(b.kind) || b.kind == json && plain(a.kind)):
		return "($j.equal(" + a.js + "," + b.js + ")===" + strconv.FormatBool(s == "==") + ")"
	}
	refuse(t.line, false, "%s between %s and %s", s, a.kind, b.kind)
	return ""
}

func isLiteral(js string) bool { return strings.Trim(js, "0123456789n") == "" }

// arithmetic are sums and the like: of texts, and of numbers as Java has them.
func (p *parser) arithmetic(t token, s string, a, b value) value {
	if s == "+" && (isText(a.kind) || isText(b.kind)) {
		switch {
		case slices.Contains([]kind{exception, "logged"}, a.kind), slices.Contains([]kind{exception, "logged"}, b.kind):
			return value{`""`, "logged", nil}
		case p.dialect == Groovy && !isText(a.kind) && !isNumber(a.kind) && a.kind != null:
			refuse(t.line, false, "+ between %s and a text: begin with a text", a.kind)
		}
		k := text
		if a.kind == woven { // a text with expressions and one more piece
			k = woven
		}
		return value{"(" + p.shown(t, a) + "+" + p.shown(t, b) + ")", k, nil}
	}
	if !isNumber(a.kind) || !isNumber(b.kind) {
		refuse(t.line, false, "%s between %s and %s", s, a.kind, b.kind)
	}
	k := integer
	if a.kind == double || b.kind == double {
		k = double
	} else if a.kind == long || b.kind == long {
		k = long
	}
	x, y := p.converted(t, a, k).js, p.converted(t, b, k).js
	switch {
	case k == double:
		return value{"(" + x + s + y + ")", double, nil}
	case s == "/" && p.dialect == Groovy:
		refuse(t.line, false, "a quotient of whole numbers, which is none: use intdiv")
	case k == long:
		return value{"BigInt.asIntN(64," + x + s + y + ")", long, nil}
	case s == "/":
		return value{"($j.quotient(" + x + "," + y + ")|0)", integer, nil}
	case s == "%":
		return value{"$j.remainder(" + x + "," + y + ")", integer, nil}
	case s == "*":
		return value{"Math.imul(" + x + "," + y + ")", integer, nil}
	}
	return value{"((" + x + s + y + ")|0)", integer, nil}
}

// shown is a value as a text.
func (p *parser) shown(t token, v value) string {
	switch v.kind {
	case text, woven, null, "uuid", integer, long, boolean:
		return "String(" + v.js + ")"
	case double:
		return "$j.fraction(" + v.js + ")"
	case json:
		return "$j.shown(" + v.js + ")"
	}
	refuse(t.line, false, "%s as a text", v.kind)
	return ""
}

// truth is a value as a condition: Groovy's truth, or a yes or no in BeanShell.
func (p *parser) truth(t token, v value) string {
	_, list := itemOf(v.kind)
	switch {
	case v.kind == boolean:
		return v.js
	case p.dialect == BeanShell:
	case isText(v.kind) || v.kind == integer || v.kind == long || v.kind == null:
		return "!!" + v.js
	case list:
		return "$j.filled(" + v.js + ")"
	case v.kind == json:
		return "$j.truth(" + v.js + ")"
	case v.kind == "sample" || v.kind == "vars" || v.kind == "props":
		return "(" + v.js + "!=null)"
	}
	refuse(t.line, false, "%s as a condition", v.kind)
	return ""
}

// conversions are those that Java does by itself. $ is the value.
var conversions = map[[2]kind]string{
	{woven, text}: "$", {integer, double}: "$", {integer, long}: "BigInt($)", {long, double}: "Number($)", {json, text}: "$j.text($)", {json, integer}: "$j.whole($)",
}

// casts are those that a script has to ask for.
var casts = map[[2]kind]string{
	{long, integer}: "$j.narrow($)", {double, integer}: "$j.toInt($)", {double, long}: "$j.toLong($)", {null, text}: "$",
}

// groovyCasts are further ones of Groovy's as.
var groovyCasts = map[[2]kind]string{
	{text, integer}: "$j.int($j.trim($))", {woven, integer}: "$j.int($j.trim($))", {json, integer}: "$j.asInt($)", {text, long}: "$j.long($j.trim($))",
	{integer, text}: "String($)", {long, text}: "String($)", {boolean, text}: "String($)",
}

// filled is a conversion of a value.
func filled(by string, v value) string {
	if by == "$" {
		return v.js
	}
	return strings.Replace(by, "$)", v.js+")", 1)
}

// convert is a value as one of another kind. False: Java does not convert it by itself.
func convert(v value, to kind) (value, bool) {
	if v.kind == to || v.kind == null && (to == text || to == json || isObject(to)) {
		return value{v.js, to, v.text}, true
	}
	by := conversions[[2]kind{v.kind, to}]
	return value{filled(by, v), to, v.text}, by != ""
}

func (p *parser) converted(t token, v value, to kind) value {
	out, ok := convert(v, to)
	if !ok {
		refuse(t.line, false, "%s where %s is wanted", v.kind, to)
	}
	return out
}

// cast is (int) x, and x as int.
func (p *parser) cast(t token, v value, name string, groovy bool) value {
	to := types[name]
	by := casts[[2]kind{v.kind, to}]
	if groovy && by == "" {
		by = groovyCasts[[2]kind{v.kind, to}]
	}
	if by != "" {
		return value{filled(by, v), to, nil}
	}
	out, ok := convert(v, to)
	if !ok || to == "" {
		refuse(t.line, false, "%s as %s", v.kind, name)
	}
	return out
}

func (p *parser) unary() value {
	defer p.deeper()()
	t := p.peek()
	switch {
	case t.is(sign, "!"):
		p.next()
		return value{"!" + p.truth(t, p.unary()), boolean, nil}
	case t.is(sign, "-"):
		p.next()
		v := p.unary()
		if v.kind == double {
			return value{"(-" + v.js + ")", double, nil}
		}
		return p.arithmetic(t, "-", value{"0", integer, nil}, v)
	case t.is(sign, "(") && p.ahead(1).kind == word && p.ahead(2).is(sign, ")") && types[p.ahead(1).text] != "":
		to := p.ahead(1).text
		p.at += 3
		return p.cast(t, p.unary(), to, false)
	}
	return p.postfix(p.primary())
}

// primary reads an operand without what follows it.
func (p *parser) primary() value {
	t := p.next()
	switch {
	case t.kind == number:
		return p.number(t)
	case t.kind == quoted:
		return value{js(t.text), text, &t.text}
	case t.kind == mixed:
		out := `(""`
		for i, part := range t.parts {
			if i%2 == 0 {
				out += "+" + js(part)
			} else {
				out += "+" + p.shown(t, p.within(part, t.line))
			}
		}
		return value{out + ")", woven, nil}
	case t.kind == word:
		return p.word(t)
	case t.is(sign, "("):
		v := p.expression()
		p.want(")")
		return value{"(" + v.js + ")", v.kind, v.text}
	case t.is(sign, "[") && p.dialect == Groovy:
		return p.list(t)
	}
	p.fails(t)
	return value{}
}

// within is an expression in a text.
func (p *parser) within(src string, line int) value {
	toks, at := p.toks, p.at
	p.toks, p.at = lex(src, p.dialect, line), 0
	v := p.ternary()
	if t := p.peek(); t.kind != end {
		refuse(line, false, "%q in a text", t.text)
	}
	p.toks, p.at = toks, at
	return v
}

func (p *parser) number(t token) value {
	digits := strings.ReplaceAll(t.text, "_", "")
	suffix := strings.ToLower(strings.TrimLeft(digits, "0123456789."))
	digits = digits[:len(digits)-len(suffix)]
	whole, fraction, fractional := strings.Cut(digits, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	small := err == nil && n <= 1<<31-1
	switch {
	case err != nil || len(whole) > 1 && whole[0] == '0' || fractional && fraction == "":
	case fractional && suffix == "" && p.dialect == Groovy:
		refuse(t.line, false, "%s, which is a BigDecimal: add d", t.text)
	case suffix == "d" || fractional && suffix == "":
		return value{digits, double, nil}
	case fractional:
	case suffix == "l" || suffix == "" && !small && n != 1<<31 && p.dialect == Groovy:
		return value{whole + "n", long, nil}
	case suffix == "" && small:
		return value{whole, integer, nil}
	}
	refuse(t.line, false, "the number %s", t.text)
	return value{}
}

// list reads the items of a list as far as the closing bracket.
func (p *parser) list(t token) value {
	var items []string
	var k kind
	for {
		v := p.expression()
		if k != "" && v.kind != k || isObject(v.kind) || v.kind == null || v.kind == void || p.peek().is(sign, ":") {
			refuse(t.line, false, "a list or map of %s", v.kind)
		}
		k = v.kind
		items = append(items, v.js)
		if _, more := p.take(","); !more {
			p.want("]")
			return value{"[" + strings.Join(items, ",") + "]", listOf(k), nil}
		}
	}
}

// js writes a text as JavaScript.
func js(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r < ' ' || r == '\u2028' || r == '\u2029':
			b.WriteString("\\u" + strconv.FormatInt(0x10000+int64(r), 16)[1:])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
