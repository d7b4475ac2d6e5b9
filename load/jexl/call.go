package jexl

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// given are JMeter's own variables.
var given = []string{"vars", "ctx", "log", "props", "threadName", "sampler", "sampleResult", "OUT"}

// value reads a number, a text, a word or what stands in brackets.
func (p *parser) value() node {
	at, k := p.token, p.kind
	if at == "" {
		panic(errSyntax)
	}
	p.next()
	switch {
	case k == number:
		v := literal(at)
		return func(Get) any { return v }
	case k == quoted:
		v := unquoted(at)
		return func(Get) any { return v }
	case k == sign && at == "(":
		n := p.ternary()
		p.want(")")
		return n
	case k == sign && at == "[":
		all := p.several("]")
		return func(g Get) any { return list(all.values(g)) }
	case k != word:
		panic(errSyntax)
	}
	switch at {
	case "true", "false":
		return func(Get) any { return at == "true" }
	case "null":
		return func(Get) any { return nil }
	case "empty", "size":
		a := p.unary()
		return func(g Get) any { return measured(at, a(g)) }
	case "vars":
		return p.variable()
	}
	switch {
	case statements[at] || slices.Contains(given, at):
		panic(&Unsupported{at})
	case p.is("("):
		panic(&Unsupported{"the function " + at})
	}
	p.unknown = append(p.unknown, at)
	return func(Get) any { panic(failure(at + " is not defined")) }
}

// nodes are several, with commas between them.
type nodes []node

// several reads some up to a sign.
func (p *parser) several(end string) (all nodes) {
	for !p.is(end) {
		all = append(all, p.ternary())
		if _, more := p.take(","); !more {
			break
		}
	}
	p.want(end)
	return all
}

func (n nodes) values(g Get) []any {
	out := make([]any, len(n))
	for i := range n {
		out[i] = n[i](g)
	}
	return out
}

// variable reads vars.get("name").
func (p *parser) variable() node {
	p.want(".")
	if p.token != "get" {
		panic(&Unsupported{"vars." + p.token})
	}
	p.next()
	p.want("(")
	name := p.ternary()
	p.want(")")
	return func(g Get) any {
		key, ok := name(g).(string)
		if !ok {
			panic(failure("a variable without a name"))
		}
		if text, ok := g(key); ok {
			return text
		}
		return nil
	}
}

// called reads the methods that are called on a value.
func (p *parser) called(on node) node {
	for p.is(".") {
		p.next()
		name := p.token
		if p.kind != word {
			panic(errSyntax)
		}
		p.next()
		if !p.is("(") {
			panic(&Unsupported{"the field " + name})
		}
		p.next()
		args := p.several(")")
		if _, ok := methods[name]; !ok {
			panic(&Unsupported{"the method " + name})
		}
		self := on
		on = func(g Get) any { return call(name, self(g), args.values(g)) }
	}
	if p.is("[") {
		panic(&Unsupported{"an index"})
	}
	return on
}

// methods are those of texts, each with how many texts or numbers it takes.
var methods = map[string]func(s string, a arguments) any{
	"length":           func(s string, a arguments) any { a.none(); return big.NewInt(int64(utf16Length(s))) },
	"isEmpty":          func(s string, a arguments) any { a.none(); return s == "" },
	"isBlank":          func(s string, a arguments) any { a.none(); return strings.TrimSpace(s) == "" },
	"trim":             func(s string, a arguments) any { a.none(); return strings.Trim(s, "\t\n\v\f\r ") },
	"strip":            func(s string, a arguments) any { a.none(); return strings.TrimSpace(s) },
	"toString":         func(s string, a arguments) any { a.none(); return s },
	"toLowerCase":      func(s string, a arguments) any { a.none(); return strings.ToLower(s) },
	"toUpperCase":      func(s string, a arguments) any { a.none(); return strings.ToUpper(s) },
	"contains":         func(s string, a arguments) any { return strings.Contains(s, a.text(0, 1)) },
	"startsWith":       func(s string, a arguments) any { return strings.HasPrefix(s, a.text(0, 1)) },
	"endsWith":         func(s string, a arguments) any { return strings.HasSuffix(s, a.text(0, 1)) },
	"equalsIgnoreCase": func(s string, a arguments) any { return strings.EqualFold(s, a.text(0, 1)) },
	"concat":           func(s string, a arguments) any { return s + a.text(0, 1) },
	"matches":          func(s string, a arguments) any { return matches(s, a.text(0, 1)) },
	"replace":          func(s string, a arguments) any { return strings.ReplaceAll(s, a.text(0, 2), a.text(1, 2)) },
	"indexOf":          func(s string, a arguments) any { return index(s, strings.Index(s, a.text(0, 1))) },
	"lastIndexOf":      func(s string, a arguments) any { return index(s, strings.LastIndex(s, a.text(0, 1))) },
	"substring":        substring,
	"equals":           nil, // of all values
}

func call(name string, on any, args []any) any {
	if on == nil {
		panic(failure("a method of nothing"))
	}
	if name == "equals" {
		if len(args) != 1 {
			panic(failure("equals takes one value"))
		}
		return javaEqual(on, args[0])
	}
	s, ok := on.(string)
	if !ok {
		if name == "toString" && len(args) == 0 {
			return textOf(on)
		}
		panic(failure("a method that only texts have"))
	}
	return methods[name](s, args)
}

// arguments are those of a call.
type arguments []any

func (a arguments) none() {
	if len(a) > 0 {
		panic(failure("too many arguments"))
	}
}

// text is argument i of n.
func (a arguments) text(i, n int) string {
	if len(a) != n {
		panic(failure("another number of arguments"))
	}
	s, ok := a[i].(string)
	if !ok {
		panic(failure("an argument that is no text"))
	}
	return s
}

func index(s string, at int) any {
	if at < 0 {
		return big.NewInt(-1)
	}
	return big.NewInt(int64(utf16Length(s[:at])))
}

func utf16Length(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// substring is a part of a text of the plane that Java counts by letters.
func substring(s string, a arguments) any {
	letters := []rune(s)
	from, to := 0, len(letters)
	for i, v := range a {
		n, ok := v.(*big.Int)
		if !ok || !n.IsInt64() {
			panic(failure("no index"))
		}
		switch i {
		case 0:
			from = int(n.Int64())
		case 1:
			to = int(n.Int64())
		}
	}
	if len(a) < 1 || len(a) > 2 || from < 0 || to > len(letters) || from > to || utf16Length(s) != len(letters) {
		panic(failure("no part of the text"))
	}
	return string(letters[from:to])
}

// measured is empty or size of a value.
func measured(what string, v any) any {
	n, zero := 1, false
	switch v := v.(type) {
	case nil:
		n = 0
	case string:
		n = utf16Length(v)
	case list:
		n = len(v)
	case *big.Int:
		zero = v.Sign() == 0
	case float64:
		zero = v == 0
	}
	if what == "empty" {
		return n == 0 || zero
	}
	return big.NewInt(int64(n))
}

// literal is a number as it is written.
func literal(text string) any {
	if len(text) > maxDigits {
		panic(&Unsupported{"a number of so many digits"})
	}
	last := text[len(text)-1] | 0x20
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0X") {
		n, ok := new(big.Int).SetString(text[2:], 16)
		if !ok {
			panic(errSyntax)
		}
		return n
	}
	whole := !strings.ContainsAny(text, ".eE")
	switch last {
	case 'l', 'h', 'd', 'f', 'b':
		text = text[:len(text)-1]
		whole = whole && (last == 'l' || last == 'h')
	}
	if !whole {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(errSyntax)
		}
		return f
	}
	base := 10
	if len(text) > 1 && text[0] == '0' {
		base = 8
	}
	n, ok := new(big.Int).SetString(text, base)
	if !ok {
		panic(errSyntax) // 08 is no number
	}
	return n
}

// unquoted is the text in quotes.
func unquoted(text string) string {
	quote, inner := text[0], text[1:len(text)-1]
	if !strings.Contains(inner, `\`) {
		return inner
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' || i+1 == len(inner) {
			b.WriteByte(inner[i])
			continue
		}
		i++
		switch c := inner[i]; {
		case strings.IndexByte("btnfr", c) >= 0:
			b.WriteByte("\b\t\n\f\r"[strings.IndexByte("btnfr", c)])
		case c == 'u' && i+4 < len(inner):
			n, err := strconv.ParseUint(inner[i+1:i+5], 16, 16)
			if err != nil {
				panic(errSyntax)
			}
			b.Write(utf8.AppendRune(nil, rune(n)))
			i += 4
		case c == '\\' || c == quote:
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}
