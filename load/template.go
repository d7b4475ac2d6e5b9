package load

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"
)

// value is what a variable holds: as text, and as the JSON that a lone
// {{ name }} in a body becomes, so that a number stays a number. The zero
// value is that of a variable that nothing has filled yet.
type value struct {
	text, json string
	// doc is a list or a mapping taken apart, nil for all else.
	doc *document
}

func textValue(s string) value { return value{text: s, json: string(appendJSONString(nil, s))} }

func numberValue(n int64) value {
	s := strconv.FormatInt(n, 10)
	return value{text: s, json: s}
}

// nothing is how a variable without a value is written: as Artillery does in a
// text, and as null in JSON, where Artillery leaves the key out.
var nothing = value{text: "undefined", json: "null"}

// encoding is how an expression's value is written at its place.
type encoding uint8

const (
	asText   encoding = iota
	asJSON            // a whole JSON value
	inString          // within a JSON string
	inTarget          // within a URL's path
	inQuery           // within a query's value or a form's
	inHeader          // within a header's value
)

// part is a literal, or an expression and how to write it.
type part struct {
	literal string
	eval    func(*scope) value
	enc     encoding
}

// template is text with expressions in it, compiled once and rendered for
// each request.
type template []part

// scope is what expressions see: one virtual user's variables, by slot.
type scope struct {
	values []value
	rng    *rand.Rand
	member *member // nil but for users of a closed model
}

// render appends the template's text.
func (t template) render(dst []byte, s *scope) []byte {
	for i := range t {
		p := &t[i]
		if p.eval == nil {
			dst = append(dst, p.literal...)
			continue
		}
		dst = p.enc.append(dst, p.eval(s))
	}
	return dst
}

// constant gives the text of a template without expressions.
func (t template) constant() (string, bool) {
	switch {
	case len(t) == 0:
		return "", true
	case len(t) == 1 && t[0].eval == nil:
		return t[0].literal, true
	}
	return "", false
}

// literal appends text, joining neighbours so that rendering copies few pieces.
func (t template) literal(s string) template {
	if s == "" {
		return t
	}
	if n := len(t); n > 0 && t[n-1].eval == nil {
		joined := append(template(nil), t...)
		joined[n-1].literal += s
		return joined
	}
	return append(t[:len(t):len(t)], part{literal: s})
}

// join appends another template.
func (t template) join(o template) template {
	for _, p := range o {
		if p.eval == nil {
			t = t.literal(p.literal)
		} else {
			t = append(t[:len(t):len(t)], p)
		}
	}
	return t
}

func (e encoding) append(dst []byte, v value) []byte {
	if v.json == "" {
		v = nothing
	}
	switch e {
	case asJSON:
		return append(dst, v.json...)
	case inString:
		return appendJSONEscaped(dst, v.text)
	case inTarget:
		return appendTarget(dst, v.text)
	case inQuery:
		return appendQuery(dst, v.text)
	case inHeader:
		return appendHeader(dst, v.text)
	}
	return append(dst, v.text...)
}

// encodeLiteral writes a template's own text for its place.
func (e encoding) encodeLiteral(s string) string {
	switch e {
	case inString:
		return string(appendJSONEscaped(nil, s))
	case inTarget:
		return string(appendTarget(nil, s))
	case inQuery:
		return string(appendQuery(nil, s))
	case inHeader:
		return string(appendHeader(nil, s))
	}
	return s
}

func appendJSONString(dst []byte, s string) []byte {
	return append(appendJSONEscaped(append(dst, '"'), s), '"')
}

const hexDigits = "0123456789abcdef"

func appendJSONEscaped(dst []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		case r < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// appendTarget keeps a URL as it is but for what would break the request line.
func appendTarget(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' || c == '#' {
			dst = append(dst, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

func appendQuery(dst []byte, s string) []byte {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-_.~", c) >= 0:
			dst = append(dst, c)
		default:
			dst = append(dst, '%', "0123456789ABCDEF"[c>>4], "0123456789ABCDEF"[c&15])
		}
	}
	return dst
}

// appendHeader keeps a value from breaking out of its header line.
func appendHeader(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c < ' ' && c != '\t' || c == 0x7f {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}

// compileTemplate reads text with {{ expressions }}.
func (r *reader) compileTemplate(n *node, text string, enc encoding) (template, error) {
	if enc == asJSON {
		if inner, ok := lone(text); ok {
			x, err := r.expression(n, inner)
			return template(nil).expression(x, asJSON), err
		}
		t, err := r.compileTemplate(n, text, inString)
		return template(nil).literal(`"`).join(t).literal(`"`), err
	}
	var t template
	for {
		open := strings.Index(text, "{{")
		if open < 0 {
			return t.literal(enc.encodeLiteral(text)), nil
		}
		end := strings.Index(text[open:], "}}")
		if end < 0 {
			return nil, n.invalid("{{ without }}")
		}
		begin, after := open+2, open+end+2
		// {{{ name }}} is the same.
		if strings.HasPrefix(text[begin:], "{") && strings.HasPrefix(text[after:], "}") {
			begin, after = begin+1, after+1
		}
		x, err := r.expression(n, text[begin:open+end])
		if err != nil {
			return nil, err
		}
		t = t.literal(enc.encodeLiteral(text[:open])).expression(x, enc)
		text = text[after:]
	}
}

// lone reports a text that is one expression and nothing else.
func lone(s string) (inner string, ok bool) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{{") || !strings.HasSuffix(s, "}}") || len(s) < 4 {
		return "", false
	}
	inner = s[2 : len(s)-2]
	if strings.HasPrefix(inner, "{") && strings.HasSuffix(inner, "}") && len(inner) > 1 {
		inner = inner[1 : len(inner)-1]
	}
	return inner, !strings.Contains(inner, "{{") && !strings.Contains(inner, "}}")
}

// expression is what stands between braces: computed for each use, or fixed
// for the whole run.
type expression struct {
	eval  func(*scope) value
	fixed *value
}

// expression appends one; what is fixed becomes text at once.
func (t template) expression(x expression, enc encoding) template {
	if x.fixed != nil {
		return t.literal(string(enc.append(nil, *x.fixed)))
	}
	return append(t[:len(t):len(t)], part{eval: x.eval, enc: enc})
}

// expression compiles what stands between the braces.
func (r *reader) expression(n *node, src string) (expression, error) {
	src = strings.TrimSpace(src)
	if !strings.HasPrefix(src, "$") || r.defined[src] || src == loopCountName || src == loopElementName || strings.HasPrefix(src, loopElementName+".") || strings.HasPrefix(src, loopElementName+"[") {
		v, err := r.variable(n, src)
		return expression{eval: v}, err
	}
	name, args, err := call(src)
	if err != nil {
		return expression{}, n.invalid("{{ %s }}: %v", src, err)
	}
	if fixed, ok := r.fixedWord(name); ok && args == nil {
		return expression{fixed: &fixed}, nil
	}
	eval, err := r.builtin(n, src, name, args)
	return expression{eval: eval}, err
}

const templateWords = "$randomNumber(a, b), $randomString(n), $uuid, $env.NAME, $environment, $testId, $loopCount, $loopElement"

// fixedWord gives the words that mean the same for every request of a run.
func (r *reader) fixedWord(name string) (value, bool) {
	for _, env := range []string{"$env.", "$processEnvironment."} {
		if v, ok := strings.CutPrefix(name, env); ok && isName(v) {
			return textValue(r.source.getenv(v)), true
		}
	}
	switch name {
	case "$environment":
		return textValue(r.source.Environment), true
	case "$testId":
		return textValue(r.testID), true
	}
	return value{}, false
}

func (r *reader) builtin(n *node, src, name string, args []string) (func(*scope) value, error) {
	switch name {
	case "$randomNumber":
		low, high, err := twoNumbers(args)
		if err != nil {
			return nil, n.invalid("{{ %s }}: %v", src, err)
		}
		return func(s *scope) value { return numberValue(low + s.rng.Int64N(high-low+1)) }, nil
	case "$randomString":
		size := int64(10)
		if len(args) > 0 {
			var err error
			if size, err = strconv.ParseInt(args[0], 10, 64); err != nil || size < 0 || size > 1<<16 || len(args) > 1 {
				return nil, n.invalid("{{ %s }}: takes one length from 0 to 65536", src)
			}
		}
		return func(s *scope) value { return textValue(randomString(s.rng, int(size))) }, nil
	case "$uuid":
		return func(s *scope) value { return textValue(uuid(s.rng)) }, nil
	}
	return nil, n.invalid("{{ %s }} is not supported: known are %s", src, templateWords)
}

// variable compiles a name, or a path into what it holds: user.name, rows[0].
func (r *reader) variable(n *node, src string) (func(*scope) value, error) {
	name, rest := src, ""
	if i := strings.IndexAny(src, ".["); i >= 0 {
		name, rest = src[:i], src[i:]
	}
	if !isName(strings.TrimPrefix(name, "$")) || strings.ContainsAny(rest, "(){}|&+*/ <>=!") {
		return nil, n.invalid("{{ %s }} is not supported: an expression is a variable's name, a path into it, or one of %s", src, templateWords)
	}
	slot := r.slot(name, n)
	if rest == "" {
		return func(s *scope) value { return s.values[slot] }, nil
	}
	path := splitPath(rest)
	return func(s *scope) value {
		v := s.values[slot]
		if v.doc == nil {
			return value{}
		}
		if d := v.doc.walk(path); d != nil {
			return d.value()
		}
		return value{}
	}, nil
}

// call splits "$name(a, b)".
func call(src string) (name string, args []string, err error) {
	open := strings.IndexByte(src, '(')
	if open < 0 {
		return src, nil, nil
	}
	if !strings.HasSuffix(src, ")") {
		return "", nil, fmt.Errorf("( without )")
	}
	name, args = strings.TrimSpace(src[:open]), []string{}
	if inner := strings.TrimSpace(src[open+1 : len(src)-1]); inner != "" {
		for a := range strings.SplitSeq(inner, ",") {
			args = append(args, strings.TrimSpace(a))
		}
	}
	return name, args, nil
}

// maxRandom keeps random numbers within what JSON readers hold exactly.
const maxRandom = 1 << 53

func twoNumbers(args []string) (low, high int64, err error) {
	if len(args) != 2 {
		return 0, 0, fmt.Errorf("takes two whole numbers")
	}
	low, err1 := strconv.ParseInt(args[0], 10, 64)
	high, err2 := strconv.ParseInt(args[1], 10, 64)
	if err1 != nil || err2 != nil || low > high || low < -maxRandom || high > maxRandom {
		return 0, 0, fmt.Errorf("takes two whole numbers, the lower one first, within ±2^53")
	}
	return low, high, nil
}

func isName(s string) bool {
	for i, c := range s {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		further := c == '-' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !further) {
			return false
		}
	}
	return s != ""
}

func randomString(rng *rand.Rand, n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[rng.IntN(len(letters))]
	}
	return string(b)
}

// uuid makes a version 4 UUID (RFC 9562, section 5.4).
func uuid(rng *rand.Rand) string {
	high, low := rng.Uint64(), rng.Uint64()
	high = high&^0xf000 | 0x4000
	low = low&^(0xc<<60) | 0x8<<60
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&0xffffffffffff)
}
