// Package snippet rewrites the everyday scripts of load plans, one to ten lines of Groovy or
// BeanShell and conditions of JEXL, as JavaScript.
//
// A script means the same or is refused with its line: every expression has one kind, known
// before anything runs, and what is done with kinds whose values JavaScript and Java treat
// otherwise is written out (whole numbers of 32 and 64 bits wrap around as in Java) or
// refused. A method that methods.txt does not list is refused.
package snippet

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Library is the JavaScript that has to run once before a rewritten script does. It defines
// $j, and calls the functions of an object $host: random() float64, uuid() string,
// now() int64, sleep(float64), matches(text, pattern string) (bool, error).
//
//go:embed library.js
var Library string

// Dialect is a language that is rewritten.
type Dialect int

// The languages.
const (
	Groovy Dialect = iota
	BeanShell
	JEXL  // 3, as __jexl3 has it
	JEXL2 // as __jexl2 has it
)

// Refused is why a script is not rewritten: what of it is not known, and in which line.
type Refused struct {
	Line int
	What string
	// Broken says that JEXL itself cannot read the expression, so that it comes to nothing
	// in JMeter, too.
	Broken bool
}

func (r *Refused) Error() string { return fmt.Sprintf("line %d: %s", r.Line, r.What) }

// maxScript bounds a script's text, maxNested how deep it nests.
const (
	maxScript = 64 << 10
	maxNested = 100
)

// Rewrite gives a function of JavaScript in the parenthesis of an expression. It takes the
// object whose members are JMeter's variables (vars, props, log, prev and the like), of
// which bound says which there are, and returns a text or null: the value of the last
// statement. Lines are those of the script. The error is a *Refused.
func Rewrite(src string, d Dialect, bound func(name string) bool) (js string, err error) {
	p := &parser{reading: reading{dialect: d}, bound: bound, scopes: []map[string]kind{{}, {}}}
	err = p.guarded(src, func() {
		for i, t := range p.toks {
			boxes := t.is(word, "Integer") || t.is(word, "Long") || t.is(word, "Double")
			p.boxed = p.boxed || d == BeanShell && boxes && !p.toks[i+1].is(sign, ".")
		}
		body := p.statements(true)
		if t := p.peek(); t.kind != end {
			p.fails(t)
		}
		declared := ""
		for _, name := range slices.Sorted(maps.Keys(p.scopes[0])) {
			declared += "let " + own(name) + ";"
		}
		js = atLines(`(function($g){"use strict";let $r=null;` + declared + body + "\nreturn $r})")
	})
	return js, err
}

// reading is a script that is being read, token by token.
type reading struct {
	toks    []token
	at      int
	dialect Dialect
	depth   int
}

func (p *reading) guarded(src string, parse func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Refused:
			err = r
		default:
			panic(r)
		}
	}()
	switch {
	case len(src) > maxScript:
		return &Refused{Line: 1, What: fmt.Sprintf("more than %d bytes", maxScript)}
	case !utf8.ValidString(src) || strings.ContainsRune(src, lineMark):
		return &Refused{Line: 1, What: "text that is not UTF-8"}
	}
	p.toks = lex(src, p.dialect, 1)
	parse()
	return nil
}

func (p *reading) peek() token { return p.toks[p.at] }

func (p *reading) next() token {
	t := p.toks[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

// ahead is the token so many after the next, however lines end.
func (p *reading) ahead(n int) token { return p.toks[min(p.at+n, len(p.toks)-1)] }

func (p *reading) lines() {
	for p.peek().kind == newline {
		p.at++
	}
}

// take takes one of some signs, if it is next.
func (p *reading) take(all ...string) (string, bool) {
	if t := p.peek(); t.kind == sign && slices.Contains(all, t.text) {
		p.at++
		return t.text, true
	}
	return "", false
}

func (p *reading) want(s string) {
	if _, ok := p.take(s); !ok {
		p.fails(p.peek())
	}
}

// fails refuses what cannot be read: whether the language can is known of JEXL alone.
func (p *reading) fails(t token) {
	what := fmt.Sprintf("%q", t.text)
	if t.kind == end || t.kind == newline {
		what = "the end of a line or of the script"
	}
	refuse(t.line, p.dialect >= JEXL, "%s, which is not understood there", what)
}

// deeper bounds how deep a script nests.
func (p *reading) deeper() (leave func()) {
	if p.depth++; p.depth > maxNested {
		refuse(p.peek().line, false, "what is nested deeper than %d", maxNested)
	}
	return func() { p.depth-- }
}

// lineMark stands before each statement with the number of its line.
const lineMark = '\x00'

func marked(line int) string { return fmt.Sprintf("%c%d%c", lineMark, line, lineMark) }

// atLines puts each statement into its line, so that errors have the script's.
func atLines(js string) string {
	var b strings.Builder
	line := 1
	for i, piece := range strings.Split(strings.ReplaceAll(js, "\n", " "), string(lineMark)) {
		var n int
		if i%2 == 0 {
			b.WriteString(piece)
		} else if _, err := fmt.Sscan(piece, &n); err == nil && n > line {
			b.WriteString(strings.Repeat("\n", n-line))
			line = n
		}
	}
	return b.String()
}

// own is the JavaScript name of a script's variable: no word of the language.
func own(name string) string { return "v_" + name }
