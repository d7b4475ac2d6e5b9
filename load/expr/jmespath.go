package expr

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// JMESPath is a compiled expression of JMESPath: what it makes of a value. Nil is null.
type JMESPath func(*Document) *Document

// jmesTokens are the tokens of JMESPath, the longer ones first.
var jmesTokens = regexp.MustCompile("^(?:[A-Za-z_][A-Za-z0-9_]*|-?[0-9]+|\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`(?:[^`\\\\]|\\\\.)*`|\\[\\?|\\[\\]|\\|\\||&&|[=!<>]=|[][.*@(){}:,|!<>])")

// CompileJMESPath reads an expression: names, indices, slices, projections, filters,
// comparisons, logic, lists and maps of several, literals, and everyday functions.
func CompileJMESPath(src string) (path JMESPath, err error) {
	defer caught(&err)
	if len(src) > maxPathBytes {
		fail("longer than %d bytes", maxPathBytes)
	}
	var p jmesParser
	for rest := strings.TrimSpace(src); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n") {
		token := jmesTokens.FindString(rest)
		if token == "" {
			fail("at %q", rest)
		}
		p.tokens, rest = append(p.tokens, token), rest[len(token):]
	}
	read := p.expression(0)
	if p.peek() != "" {
		p.fail()
	}
	return read, nil
}

type jmesParser struct {
	tokens []string
	at     int
	depth  int
}

// fail ends the reading with the text that is not understood.
func (p *jmesParser) fail() { fail("at %q", strings.Join(p.tokens[min(p.at, len(p.tokens)):], " ")) }

func (p *jmesParser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *jmesParser) next() string {
	token := p.peek()
	if p.at++; token == "" {
		p.fail()
	}
	return token
}

func (p *jmesParser) want(token string) {
	if p.peek() != token {
		p.fail()
	}
	p.at++
}

// jmesPowers say how tightly tokens bind what stands before them.
var jmesPowers = map[string]int{
	"|": 1, "||": 2, "&&": 3, "==": 5, "!=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5, "[]": 9, "[?": 21, ".": 40, "[": 55,
}

const (
	jmesProjects = 10 // what binds less ends a projection
	jmesStar     = 20
	jmesNot      = 45
)

func (p *jmesParser) expression(power int) JMESPath {
	if p.depth++; p.depth > maxJMESDepth {
		p.fail()
	}
	defer func() { p.depth-- }()
	left := p.prefix()
	for jmesPowers[p.peek()] > power {
		left = p.infix(left)
	}
	return left
}

// maxJMESDepth bounds expressions within expressions.
const maxJMESDepth = 32

func (p *jmesParser) prefix() JMESPath {
	token := p.next()
	switch c := token[0]; {
	case c == '"':
		return jmesMember(unquote(token))
	case c == '\'':
		text, _ := json.Marshal(strings.ReplaceAll(token[1:len(token)-1], `\'`, `'`)) // a text is never refused
		return jmesLiteral(string(text))
	case c == '`':
		if _, ok := ParseDocument(token[1 : len(token)-1]); !ok {
			p.fail()
		}
		return jmesLiteral(token[1 : len(token)-1])
	case token == "@":
		return jmesCurrent
	case token == "*":
		return jmesProject(jmesCurrent, KindMap, jmesItems, p.projected(jmesStar))
	case token == "!":
		of := p.expression(jmesNot)
		return func(d *Document) *Document { return jmesBool(!jmesTruth(of(d))) }
	case token == "(":
		inner := p.expression(0)
		p.want(")")
		return inner
	case token == "[]" || token == "[?":
		p.at--
		return p.infix(jmesCurrent)
	case token == "[":
		if next := p.peek(); next == "*" && p.at+1 < len(p.tokens) && p.tokens[p.at+1] == "]" || next == ":" || next != "" && strings.Trim(next, "-0123456789") == "" {
			p.at--
			return p.infix(jmesCurrent)
		}
		return p.several()
	case token == "{":
		return p.named()
	case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
		if p.peek() == "(" {
			return p.call(token)
		}
		return jmesMember(token)
	}
	p.at--
	p.fail()
	return nil
}

func (p *jmesParser) infix(left JMESPath) JMESPath {
	token := p.next()
	switch token {
	case ".":
		if p.peek() == "*" {
			p.at++
			return jmesProject(left, KindMap, jmesItems, p.projected(jmesStar))
		}
		return jmesThen(left, p.member(jmesPowers["."]))
	case "|":
		return jmesThen(left, p.expression(jmesPowers[token]))
	case "||", "&&":
		right := p.expression(jmesPowers[token])
		return func(d *Document) *Document {
			if l := left(d); jmesTruth(l) == (token == "||") {
				return l
			}
			return right(d)
		}
	case "[]":
		return jmesProject(left, KindList, jmesFlat, p.projected(jmesPowers[token]))
	case "[?":
		holds := p.expression(0)
		p.want("]")
		return jmesProject(left, KindList, func(d *Document) (out []*Document) {
			for _, item := range jmesItems(d) {
				if jmesTruth(holds(item)) {
					out = append(out, item)
				}
			}
			return out
		}, p.projected(jmesPowers[token]))
	case "[":
		return p.bracket(left)
	}
	right := p.expression(jmesPowers[token])
	return func(d *Document) *Document { return jmesCompare(token, left(d), right(d)) }
}

// bracket reads an index, a slice or all items.
func (p *jmesParser) bracket(left JMESPath) JMESPath {
	if p.peek() == "*" {
		p.at++
		p.want("]")
		return jmesProject(left, KindList, jmesItems, p.projected(jmesStar))
	}
	inner := ""
	for p.peek() != "]" {
		inner += p.next()
	}
	p.at++
	if i, err := strconv.Atoi(inner); err == nil {
		return func(d *Document) *Document {
			if d = left(d); d == nil {
				return nil
			}
			return d.at(i)
		}
	}
	if !strings.Contains(inner, ":") {
		p.fail()
	}
	find := slice(inner) // not of one that runs backwards
	return jmesProject(left, KindList, func(d *Document) (out []*Document) {
		find(d, func(c *Document) { out = append(out, c) })
		return out
	}, p.projected(jmesStar))
}

// projected reads what is done with each of several.
func (p *jmesParser) projected(power int) JMESPath {
	switch next := p.peek(); {
	case jmesPowers[next] < jmesProjects:
		return jmesCurrent
	case next == ".":
		p.at++
		return p.member(power)
	}
	return p.expression(power)
}

// member reads what stands behind a dot.
func (p *jmesParser) member(power int) JMESPath {
	next := p.peek()
	if next == "" || next != "[" && next != "{" && next != "*" && next[0] != '"' && next[0] != '_' && (next[0]|0x20 < 'a' || next[0]|0x20 > 'z') {
		p.fail()
	}
	return p.expression(power)
}

// several reads a list of expressions.
func (p *jmesParser) several() JMESPath {
	all := p.list("]")
	return func(d *Document) *Document {
		if d == nil {
			return nil
		}
		out := make([]*Document, len(all))
		for i, of := range all {
			if out[i] = of(d); out[i] == nil {
				out[i] = &Document{Kind: KindNull, raw: "null"}
			}
		}
		return jmesList(out)
	}
}

// list reads expressions up to an end.
func (p *jmesParser) list(end string) (all []JMESPath) {
	for p.peek() != end {
		if len(all) > 0 {
			p.want(",")
		}
		all = append(all, p.expression(0))
	}
	p.at++
	return all
}

// named reads a map of expressions.
func (p *jmesParser) named() JMESPath {
	var names []string
	var all []JMESPath
	for p.peek() != "}" {
		if len(all) > 0 {
			p.want(",")
		}
		name := p.next()
		if name[0] == '"' {
			name = unquote(name)
		}
		p.want(":")
		names, all = append(names, name), append(all, p.expression(0))
	}
	p.at++
	return func(d *Document) *Document {
		if d == nil {
			return nil
		}
		var pairs []string
		for i, of := range all {
			name, _ := json.Marshal(names[i]) // a text is never refused
			text := "null"
			if v := of(d); v != nil {
				text = v.raw
			}
			pairs = append(pairs, string(name)+":"+text)
		}
		return jmesLiteral("{" + strings.Join(pairs, ",") + "}")(nil)
	}
}

// jmesFunctions are those that are done; arguments that they cannot take make nothing.
var jmesFunctions = map[string]struct {
	takes int
	of    func(a []*Document) *Document
}{
	"length": {1, func(a []*Document) *Document {
		if a[0].Kind == KindMap {
			return jmesLiteral(strconv.Itoa(len(a[0].Items)))(nil)
		}
		return a[0].length()
	}},
	"contains": {2, func(a []*Document) *Document {
		if a[0].Kind == KindString {
			return jmesBool(strings.Contains(a[0].Value().Text, a[1].Value().Text))
		}
		if a[0].Kind != KindList {
			return nil
		}
		for _, item := range jmesItems(a[0]) {
			if jmesSame(item, a[1]) {
				return jmesBool(true)
			}
		}
		return jmesBool(false)
	}},
	"starts_with": {2, func(a []*Document) *Document {
		return jmesBool(strings.HasPrefix(a[0].Value().Text, a[1].Value().Text))
	}},
	"ends_with": {2, func(a []*Document) *Document {
		return jmesBool(strings.HasSuffix(a[0].Value().Text, a[1].Value().Text))
	}},
}

func (p *jmesParser) call(name string) JMESPath {
	f, ok := jmesFunctions[name]
	if !ok {
		p.at--
		p.fail()
	}
	p.at++
	all := p.list(")")
	if len(all) != f.takes {
		p.fail()
	}
	return func(d *Document) *Document {
		var given []*Document
		for _, of := range all {
			v := of(d)
			if v == nil {
				return nil
			}
			given = append(given, v)
		}
		return f.of(given)
	}
}

func jmesCurrent(d *Document) *Document { return d }

func jmesMember(name string) JMESPath {
	return func(d *Document) *Document {
		if d == nil {
			return nil
		}
		return jmesNull(d.get(name))
	}
}

func jmesNull(d *Document) *Document {
	if d == nil || d.Kind == KindNull {
		return nil
	}
	return d
}

func jmesLiteral(text string) JMESPath {
	d, ok := ParseDocument(text)
	if !ok {
		d = nil
	}
	return func(*Document) *Document { return jmesNull(d) }
}

func jmesBool(b bool) *Document { return &Document{Kind: KindBool, raw: strconv.FormatBool(b)} }

func jmesThen(left, right JMESPath) JMESPath {
	return func(d *Document) *Document { return right(left(d)) }
}

// jmesProject does something with each of what is found in a list or a map, and keeps what
// is not null.
func jmesProject(left JMESPath, of Kind, find func(*Document) []*Document, each JMESPath) JMESPath {
	return func(d *Document) *Document {
		d = left(d)
		if d == nil || d.Kind != of {
			return nil
		}
		var out []*Document
		for _, item := range find(d) {
			if v := jmesNull(each(item)); v != nil && len(out) < MaxMatches {
				out = append(out, v)
			}
		}
		return jmesList(out)
	}
}

func jmesList(items []*Document) *Document {
	list := &Document{Kind: KindList}
	var raw []string
	for _, d := range items {
		list.Items, raw = append(list.Items, *d), append(raw, d.raw)
	}
	list.raw = "[" + strings.Join(raw, ",") + "]"
	return list
}

// jmesItems lists the items of a list, or the values of a map.
func jmesItems(d *Document) (out []*Document) {
	allChildren(d, func(c *Document) { out = append(out, c) })
	return out
}

func jmesFlat(d *Document) (out []*Document) {
	for _, item := range jmesItems(d) {
		if item.Kind == KindList {
			out = append(out, jmesItems(item)...)
		} else {
			out = append(out, item)
		}
	}
	return out
}

func jmesTruth(d *Document) bool {
	switch {
	case d == nil || d.Kind == KindNull:
		return false
	case d.Kind == KindList || d.Kind == KindMap:
		return len(d.Items) > 0
	}
	return d.raw != "false" && d.raw != `""`
}

func jmesSame(a, b *Document) bool {
	if a = jmesNull(a); a == nil || jmesNull(b) == nil {
		return a == jmesNull(b)
	}
	if a.Kind != b.Kind || len(a.Items) != len(b.Items) {
		return false
	}
	switch a.Kind {
	case KindNumber:
		x, _ := strconv.ParseFloat(a.raw, 64) // it is a number
		y, _ := strconv.ParseFloat(b.raw, 64)
		return x == y
	case KindMap:
		for i, name := range a.names {
			if !jmesSame(&a.Items[i], b.get(name)) {
				return false
			}
		}
		return true
	case KindList:
		for i := range a.Items {
			if !jmesSame(&a.Items[i], &b.Items[i]) {
				return false
			}
		}
		return true
	}
	return a.Value().Text == b.Value().Text
}

func jmesCompare(by string, a, b *Document) *Document {
	switch by {
	case "==":
		return jmesBool(jmesSame(a, b))
	case "!=":
		return jmesBool(!jmesSame(a, b))
	}
	if a == nil || b == nil || a.Kind != KindNumber || b.Kind != KindNumber {
		return nil
	}
	x, _ := strconv.ParseFloat(a.raw, 64) // it is a number
	y, _ := strconv.ParseFloat(b.raw, 64)
	return jmesBool(map[string]bool{"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[by])
}
