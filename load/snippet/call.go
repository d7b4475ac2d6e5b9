package snippet

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// word reads what begins with a name.
func (p *parser) word(t token) value {
	switch t.text {
	case "true", "false":
		return value{t.text, boolean, nil}
	case "null":
		return value{"null", null, nil}
	case "new":
		return p.call(t, value{"", class, nil}, p.class(p.next())+".new", p.arguments())
	}
	if _, depth := p.variable(t.text); depth >= 0 {
		return p.named(t)
	}
	if p.peek().is(sign, "(") {
		if t.text != "print" && t.text != "println" {
			refuse(t.line, false, "the call of %s", t.text)
		}
		return p.logged(t, "$j.print")
	}
	if k := given[t.text]; k != "" {
		if !p.bound(t.text) {
			refuse(t.line, false, "%s, which JMeter does not give a script here", t.text)
		}
		return value{"$g." + t.text, k, nil}
	}
	return value{p.class(t), class, nil}
}

// class reads the rest of a class's name, with its package or without, and gives that without.
func (p *parser) class(t token) string {
	full := t.text
	for p.peek().is(sign, ".") && p.ahead(1).kind == word && !unicode.IsUpper(rune(t.text[0])) {
		p.next()
		t = p.next()
		full += "." + t.text
	}
	if full != t.text && !isOfLibrary(full) || !unicode.IsUpper(rune(t.text[0])) {
		refuse(t.line, false, "%s, which nothing above it sets", full)
	}
	return t.text
}

// named is a variable of the script.
func (p *parser) named(t token) value {
	switch k, depth := p.variable(t.text); {
	case depth == 0:
		return value{"$j.set(" + own(t.text) + "," + js(t.text) + ")", k, nil}
	case depth > 0:
		return value{own(t.text), k, nil}
	}
	if p.dialect != BeanShell || !settable[t.text] || !p.bound(t.text) {
		refuse(t.line, false, "%s, which nothing above it sets", t.text)
	}
	return value{"$g." + t.text, given[t.text], nil}
}

// arguments reads those of a call, in brackets.
func (p *parser) arguments() (out []value) {
	p.want("(")
	if _, over := p.take(")"); over {
		return nil
	}
	for {
		out = append(out, p.expression())
		if _, more := p.take(","); !more {
			p.want(")")
			return out
		}
	}
}

// postfix reads calls, properties and indices behind an operand.
func (p *parser) postfix(v value) value {
	for {
		at := p.at
		p.lines()
		switch t := p.peek(); {
		case t.is(sign, ".") || t.is(sign, "?.") && p.dialect == Groovy:
			p.next()
			p.lines()
			v = p.member(v, t)
		case t.is(sign, "[") && p.at == at && v.kind != class:
			p.next()
			i := p.expression()
			p.want("]")
			v = p.index(t, v, i)
		default:
			p.at = at
			return v
		}
	}
}

func (p *parser) index(t token, v, i value) value {
	item, list := itemOf(v.kind)
	switch groovy := p.dialect == Groovy; {
	case list && i.kind == integer:
		return value{"$j.item(" + v.js + "," + i.js + ")", item, nil}
	case groovy && (v.kind == "vars" || v.kind == "props") && i.kind == text:
		return value{v.js + ".get(" + i.js + ")", text, nil}
	case groovy && v.kind == json && i.kind == text:
		return value{"$j.member(" + v.js + "," + i.js + ")", json, nil}
	case groovy && v.kind == json && i.kind == integer:
		return value{"$j.entry(" + v.js + "," + i.js + ")", json, nil}
	}
	refuse(t.line, false, "%s by an index of %s", v.kind, i.kind)
	return value{}
}

// member reads what follows a dot.
func (p *parser) member(v value, dot token) value {
	t := p.next()
	if t.kind != word && (t.kind != quoted || v.kind != json) || t.text == "" {
		p.fails(t)
	}
	if v.js == "System" && v.kind == class && t.text == "out" {
		return value{"", "out", nil}
	}
	of := v
	if dot.text == "?." {
		of.js = "x"
	}
	var out value
	capital, groovy := strings.ToUpper(t.text[:1])+t.text[1:], p.dialect == Groovy
	switch getter := tableName(v.kind) + ".get" + capital; {
	case p.peek().is(sign, "(") && (v.kind == "log" || v.kind == "out"):
		if !slices.Contains(logMethods[string(v.kind)], t.text) {
			refuse(t.line, false, "the call of %s of %s", t.text, v.kind)
		}
		if v.js == "" {
			return p.logged(t, "$j.print")
		}
		return p.logged(t, v.js+"."+t.text)
	case p.peek().is(sign, "("):
		out = p.call(t, of, t.text, p.arguments())
	case v.kind == json && groovy:
		out = value{"$j.member(" + of.js + "," + js(t.text) + ")", json, nil}
	case groovy && p.peek().is(sign, "="):
		p.next()
		p.lines()
		return p.call(t, v, "set"+capital, []value{p.expression()})
	case groovy && (v.kind == "vars" || v.kind == "props"):
		out = value{of.js + ".get(" + js(t.text) + ")", text, nil}
	case groovy && v.kind != class && tables()[getter] != nil:
		out = p.call(t, of, "get"+capital, nil)
	case groovy && v.kind != class && tables()[tableName(v.kind)+".is"+capital] != nil:
		out = p.call(t, of, "is"+capital, nil)
	case t.text == "length" && tableName(v.kind) == "list":
		out = p.call(t, of, "length", nil)
	default:
		refuse(t.line, false, "%s of %s", t.text, v.kind)
	}
	if dot.text == "?." {
		if out.kind != text && out.kind != json {
			refuse(t.line, false, "?. with %s", out.kind)
		}
		out.js = "((x)=>x==null?null:" + out.js + ")(" + v.js + ")"
	}
	return out
}

// call is a call of a method that the tables have.
func (p *parser) call(t token, v value, name string, arguments []value) value {
	key := tableName(v.kind) + "." + name
	if v.kind == class {
		key = strings.TrimPrefix(v.js+"."+name, ".")
	}
	switch {
	case p.dialect == Groovy && name == "toString" && len(arguments) == 0 && !isObject(v.kind): // of null, too
		return value{p.shown(t, v), text, nil}
	case name == "equals" && v.kind == woven:
		refuse(t.line, false, "equals of %s, which equals no text: use ==", v.kind)
	case p.dialect == Groovy && name == "equals" && v.kind == text && len(arguments) == 1 && (arguments[0].kind == text || arguments[0].kind == null):
		return value{"(" + v.js + "===" + arguments[0].js + ")", boolean, nil} // of null, too
	}
	item, _ := itemOf(v.kind)
	for _, s := range tables()[key] {
		if out, ok := p.called(t, v, s, arguments, item); ok {
			return out
		}
	}
	shown := strings.TrimSuffix(key, ".new")
	for _, what := range []string{name, v.js, strings.TrimSuffix(name, ".new")} {
		if hint := instead[what]; hint != "" {
			refuse(t.line, false, "%s: %s", shown, hint)
		}
	}
	kinds := make([]string, len(arguments))
	for i, a := range arguments {
		kinds[i] = string(a.kind)
	}
	refuse(t.line, false, "the call of %s(%s)", key, strings.Join(kinds, ", "))
	return value{}
}

// place is where a signature's JavaScript has the object or an argument.
var place = regexp.MustCompile(`\$\d`)

// called is a call by a signature. False: the arguments are not of its kinds.
func (p *parser) called(t token, v value, s signature, arguments []value, item kind) (value, bool) {
	if len(s.arguments) != len(arguments) {
		return value{}, false
	}
	by := []string{v.js}
	for i, want := range s.arguments {
		a, ok := arguments[i], true
		switch want {
		case "any":
			a.js = p.shown(t, a)
		case "item":
			ok = a.kind == item
		case "equal":
			ok = a.kind == text || a.kind == null
		case "pattern":
			if ok = a.text != nil; ok {
				a.js = pattern(t, *a.text, strings.Contains(s.js, "$j.split"))
			}
		default:
			a, ok = convert(a, want)
		}
		if !ok {
			return value{}, false
		}
		by = append(by, a.js)
	}
	out := value{place.ReplaceAllStringFunc(s.js, func(at string) string { return by[at[1]-'0'] }), s.gives, nil}
	if s.gives == "item" {
		out.kind = item
	}
	return out, true
}

// logged is a call that prints its first argument, whatever it is.
func (p *parser) logged(t token, by string) value {
	arguments := p.arguments()
	if len(arguments) == 0 {
		return value{"0", void, nil}
	}
	v := arguments[0]
	switch {
	case v.kind == json:
		v.js = "JSON.stringify(" + v.js + ")"
	case v.kind == "logged" || isObject(v.kind) && v.kind != "uuid":
		v.js = "(" + v.js + ",\"\")"
	default:
		v.js = p.shown(t, v)
	}
	return value{by + "(" + v.js + ")", void, nil}
}

// patternPieces are what patterns of Java and JavaScript have in common, piece by piece.
var patternPieces = regexp.MustCompile(`^(?:[^\\\[\](){}*+?|^$.\n\r]|\\[dwDW.\\/\[\](){}*+?|^$"'nrt-]|\\[sS]|\.|\||\^|` +
	`\((?:\?:)?|\)|(?:[*+?]|\{\d+(?:,\d*)?\})\??|\[\^?(?:[^\\\[\]&^]|\\[dwsDW.\\/\[\](){}*+?|^$"'nrt-])+\])`)

var repeated = regexp.MustCompile(`^(?:[*+?]|\{\d)`)

// pattern is a regular expression of Java's as JavaScript writes it between slashes.
func pattern(t token, src string, splits bool) string {
	var b strings.Builder
	_, err := regexp.Compile(src)
	for rest := src; rest != "" && err == nil; {
		piece := patternPieces.FindString(rest)
		rest = rest[len(piece):]
		if piece == "" || repeated.MatchString(piece) && repeated.MatchString(rest) || splits && (piece == "(" || src == "|") {
			break
		}
		switch {
		case piece == ".":
			piece = `[^\n\r\u0085\u2028\u2029]`
		case piece == `\s`:
			piece = `[ \t\n\v\f\r]`
		case piece == `\S`:
			piece = `[^ \t\n\v\f\r]`
		case piece[0] == '[' || piece == "/":
			piece = strings.ReplaceAll(strings.ReplaceAll(piece, `\s`, ` \t\n\v\f\r`), "/", `\/`)
			piece = strings.ReplaceAll(piece, `\\/`, `\/`)
		}
		b.WriteString(piece)
		if rest == "" {
			return b.String()
		}
	}
	refuse(t.line, false, "the pattern %s", src)
	return ""
}
