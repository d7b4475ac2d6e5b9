package java

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is.
type kind int

const (
	end     kind = iota
	line         // the end of a line, where Groovy may end a statement
	word         // a name or a keyword
	number       // as it is written
	text         // a text without expressions; its value
	letter       // a character of Java
	woven        // a text with expressions in it
	pattern      // a pattern between slashes
	sign
)

// token is a piece of a script.
type token struct {
	kind   kind
	text   string
	parts  []part // of a woven text
	line   int
	space  bool // white space is before it
	closes int  // of an opening parenthesis: the token that closes it; 0: none does
}

// part is a piece of a woven text: a text, or an expression.
type part struct {
	text       string
	expression bool
	line       int
}

// signs are those of the languages, the longer ones first.
var signs = []string{
	">>>=", "<=>", "==~", "**=", "<<=", ">>=", ">>>", "...", "..<", "===", "!==",
	"==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "?.", "?:", "?=", "->", "=~", "*.", "**", "<<", ">>", "..", "::", ".&",
	"+", "-", "*", "/", "%", "=", "<", ">", "!", "?", ":", ";", ",", ".", "(", ")", "{", "}", "[", "]", "&", "|", "^", "~", "@",
}

var (
	words   = regexp.MustCompile(`^[\pL_$][\pL\p{Nd}_$]*`)
	numbers = regexp.MustCompile(`^(?:0[xX]\w*|(?:[eE][-+]|\w|\.\d)+)`)
)

// lexer cuts a script into tokens.
type lexer struct {
	src    string
	at     int
	line   int
	groovy bool
	out    []token
}

func lex(src string, groovy bool, line int) []token {
	x := &lexer{src: src, line: line, groovy: groovy}
	for x.next() {
	}
	x.add(token{kind: end})
	var open []int
	for i, t := range x.out {
		if t.is(sign, "(") {
			open = append(open, i)
		} else if n := len(open) - 1; n >= 0 && t.is(sign, ")") {
			x.out[open[n]].closes, open = i, open[:n]
		}
	}
	return x.out
}

func (x *lexer) add(t token) {
	t.line = x.line
	x.out = append(x.out, t)
}

func (x *lexer) has(s string) bool { return strings.HasPrefix(x.src[x.at:], s) }

// operand reports whether what is before could end an operand, so that a slash divides.
func (x *lexer) operand() bool {
	if len(x.out) == 0 {
		return false
	}
	switch t := x.out[len(x.out)-1]; t.kind {
	case word:
		return t.text != "return" && t.text != "in" && t.text != "case"
	case number, text, letter, woven, pattern:
		return true
	case sign:
		return t.text == ")" || t.text == "]" || t.text == "}"
	default:
		return false
	}
}

func (x *lexer) next() bool {
	space := false
	for x.at < len(x.src) {
		switch c := x.src[x.at]; {
		case c == '\n':
			x.add(token{kind: line})
			x.line++
			x.at++
			space = true
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
			x.at++
			space = true
		case x.has("\u00a0") || x.has("\ufeff"):
			_, n := utf8.DecodeRuneInString(x.src[x.at:])
			x.at += n
			space = true
		case x.has("//") || x.has("#!"):
			if n := strings.IndexByte(x.src[x.at:], '\n'); n >= 0 {
				x.at += n
			} else {
				x.at = len(x.src)
			}
		case x.has("/*"):
			n := strings.Index(x.src[x.at+2:], "*/")
			if n < 0 {
				panic(broken{x.line, "a comment without its end"})
			}
			x.line += strings.Count(x.src[x.at:x.at+n+4], "\n")
			x.at += n + 4
			space = true
		default:
			before := len(x.out)
			x.token()
			if len(x.out) > before {
				x.out[before].space = space
			}
			return true
		}
	}
	return false
}

func (x *lexer) token() {
	c, _ := utf8.DecodeRuneInString(x.src[x.at:])
	switch {
	case c == '_' || c == '$' || unicode.IsLetter(c):
		w := words.FindString(x.src[x.at:])
		x.add(token{kind: word, text: w})
		x.at += len(w)
	case c >= '0' && c <= '9' || c == '.' && x.at+1 < len(x.src) && x.src[x.at+1] >= '0' && x.src[x.at+1] <= '9':
		n := numbers.FindString(x.src[x.at:])
		x.add(token{kind: number, text: strings.ReplaceAll(n, "_", "")})
		x.at += len(n)
	case c == '"' || c == '\'':
		x.quoted(byte(c))
	case c == '/' && x.groovy && !x.operand():
		x.slashes()
	default:
		for _, s := range signs {
			if x.has(s) {
				x.add(token{kind: sign, text: s})
				x.at += len(s)
				return
			}
		}
		panic(problem{x.line, "the character " + string(c)})
	}
}

// quoted reads a text in quotes, single or triple. In Groovy one in double quotes may
// hold expressions.
func (x *lexer) quoted(quote byte) {
	open := string(quote)
	if x.groovy && x.has(strings.Repeat(open, 3)) {
		open = strings.Repeat(open, 3)
	}
	from := x.line
	x.at += len(open)
	var parts []part
	var b strings.Builder
	for {
		switch {
		case x.at >= len(x.src):
			panic(broken{from, "a text without its end"})
		case x.has(open):
			x.at += len(open)
			x.finish(parts, b.String(), quote, from)
			return
		case x.src[x.at] == '\n' && len(open) == 1:
			panic(broken{x.line, "a text that goes on in the next line"})
		case x.src[x.at] == '\\':
			x.escape(&b)
		case x.src[x.at] == '$' && quote == '"' && x.groovy:
			if !x.expression(&parts, &b) {
				panic(broken{x.line, "a bare $ in a text between double quotes"})
			}
		default:
			if x.src[x.at] == '\n' {
				x.line++
			}
			if !x.has("\r\n") || len(open) == 1 {
				b.WriteByte(x.src[x.at])
			}
			x.at++
		}
	}
}

func (x *lexer) finish(parts []part, last string, quote byte, from int) {
	now := x.line
	x.line = from
	defer func() { x.line = now }()
	switch {
	case len(parts) > 0:
		x.add(token{kind: woven, parts: append(parts, part{text: last})})
	case quote == '\'' && !x.groovy:
		if utf8.RuneCountInString(last) != 1 {
			panic(problem{from, "a character of several letters"})
		}
		x.add(token{kind: letter, text: last})
	default:
		x.add(token{kind: text, text: last})
	}
}

// slashes reads a text between slashes, in which only \/ is an escape.
func (x *lexer) slashes() {
	from := x.line
	x.at++
	var parts []part
	var b strings.Builder
	for {
		switch {
		case x.at >= len(x.src) || x.src[x.at] == '\n':
			panic(problem{from, "/"})
		case x.has(`\/`):
			b.WriteByte('/')
			x.at += 2
		case x.src[x.at] == '/':
			x.at++
			x.finish(parts, b.String(), '/', from)
			return
		case x.src[x.at] == '$' && x.expression(&parts, &b):
		default:
			b.WriteByte(x.src[x.at])
			x.at++
		}
	}
}

// expression reads ${…} or $name within a text, and reports whether there is one.
func (x *lexer) expression(parts *[]part, b *strings.Builder) bool {
	rest := x.src[x.at+1:]
	var inner string
	switch {
	case strings.HasPrefix(rest, "{"):
		n := closing(rest)
		if n < 0 {
			panic(problem{x.line, "${ without }"})
		}
		inner = rest[1:n]
		x.at += n + 2
	case rest != "" && (rest[0] == '_' || unicode.IsLetter(rune(rest[0]))):
		n := 0
		for n < len(rest) && (rest[n] == '_' || unicode.IsLetter(rune(rest[n])) || rest[n] >= '0' && rest[n] <= '9' || rest[n] == '.' && n+1 < len(rest) && unicode.IsLetter(rune(rest[n+1]))) {
			n++
		}
		inner = rest[:n]
		x.at += n + 1
	default:
		return false
	}
	*parts = append(*parts, part{text: b.String()}, part{text: inner, expression: true, line: x.line})
	b.Reset()
	x.line += strings.Count(inner, "\n")
	return true
}

// closing is the index of the brace that closes the first one.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		case '"', '\'':
			n := i + 1
			for n < len(s) && s[n] != s[i] && s[n] != '\n' {
				if s[n] == '\\' {
					n++
				}
				n++
			}
			i = n
		}
	}
	return -1
}

func (x *lexer) escape(b *strings.Builder) {
	if x.at+1 >= len(x.src) {
		panic(broken{x.line, "a text without its end"})
	}
	c := x.src[x.at+1]
	x.at += 2
	switch c {
	case 'n', 't', 'r', 'b', 'f':
		b.WriteByte("\n\t\r\b\f"[strings.IndexByte("ntrbf", c)])
	case '\\', '\'', '"', '$', '/':
		b.WriteByte(c)
	case '\n':
		x.line++
	case 'u':
		if x.at+4 > len(x.src) {
			panic(problem{x.line, `\u`})
		}
		r, err := strconv.ParseUint(x.src[x.at:x.at+4], 16, 16)
		if err != nil || r >= 0xd800 && r < 0xe000 {
			panic(problem{x.line, `\u` + x.src[x.at:x.at+4]})
		}
		b.WriteRune(rune(r))
		x.at += 4
	default:
		panic(problem{x.line, `\` + string(c) + " in a text"})
	}
}
