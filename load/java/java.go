// Package java writes scripts of Groovy, and of BeanShell and so of plain Java, as
// JavaScript. What is written calls a library of its own, Library, which has Java's
// numbers, texts and collections, and the classes that scripts of load plans use: a
// number is one of 32 bits, a BigInt one of 64, and fractions are objects, so that sums,
// divisions and texts are Java's to the digit.
//
// What it does not know it refuses, with the line, before anything runs: a class, a
// method that no class here has, a form of the language. A method that is called on a
// value of another class fails when it is called, as it does there.
package java

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// The parts of Library: what values are and do, what becomes of them in another class,
// and two tables, of the methods that values have and of the classes.
var (
	//go:embed library/values.js
	values string
	//go:embed library/conversions.js
	conversions string
	//go:embed library/methods.js
	methods string
	//go:embed library/classes.js
	classes string
)

// Library is the JavaScript that has to run once before a script does.
var Library = "(function () {\n\"use strict\";\nif (globalThis.$j) return;\n" + values + conversions + methods + classes + "})();\n"

// Dialect is a language that is written as JavaScript.
type Dialect int

// The languages.
const (
	Groovy Dialect = iota
	BeanShell
)

// Unknown is why a script is refused: what of it is not known, and in which line.
type Unknown struct {
	Line int
	What string
	// Broken says that the script fails in JMeter, too, as it comes: its language cannot
	// read it, or it wants a library that JMeter does not come with.
	Broken bool
}

func (u *Unknown) Error() string { return fmt.Sprintf("line %d: %s", u.Line, u.What) }

type problem struct {
	line int
	what string
}

// broken is a problem of the script itself.
type broken problem

// maxScript bounds a script's text.
const maxScript = 1 << 20

// Translate writes a script as JavaScript: an expression that is a function of the
// script's undeclared variables, an object, and gives the value of its last statement. A
// method that one of the objects has not is refused.
// The error is an *Unknown.
func Translate(src string, d Dialect, objects Objects) (out string, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case problem:
			err = &Unknown{Line: p.line, What: p.what}
		case broken:
			err = &Unknown{Line: p.line, What: p.what, Broken: true}
		default:
			panic(p)
		}
	}()
	if len(src) > maxScript {
		return "", &Unknown{Line: 1, What: fmt.Sprintf("more than %d bytes", maxScript)}
	}
	if !utf8.ValidString(src) {
		return "", &Unknown{Line: 1, What: "text that is not UTF-8"}
	}
	p := &parser{toks: lex(src, d == Groovy, 1), dialect: d, foreign: map[string]string{}, functions: map[string]bool{}, top: map[string]string{}, objects: objects, objectOf: map[string]Binding{}}
	p.open()
	p.findFunctions()
	body := p.statements(true)
	if t := p.peek(); t.kind != end {
		p.fail(t, t.show())
	}
	return "(function($s){" + p.hoisted.String() + join(body, true) + "})", nil
}

// calledHere are methods of values that the library makes on the way, such as files.
const calledHere = `
	getFileServer getBaseDir getBaseDirRelative getScriptName resolveBaseFile write newLine flush close setText mkdirs createNewFile
	decode encode encodeToString format getDayOfMonth getId getInstance getMonthValue getTimeInMillis getYear hasNext next parseText setTimeInMillis setType
	toLocalDate toPrettyString withoutPadding print printf println`

// vocabulary is what may be called and named without a declaration in the script.
type vocabulary struct{ methods, classes map[string]bool }

// known is read off the library's tables when the first script comes.
var known = sync.OnceValue(func() vocabulary {
	v := vocabulary{methods: map[string]bool{}, classes: map[string]bool{}}
	// A table has a line for each name: NAME(…) or NAME:.
	names := regexp.MustCompile(`(?m)^\t\t?'?([A-Za-z_]\w*)'?(?:\(|: |,)`)
	for _, part := range []string{methods, classes} {
		for _, m := range names.FindAllStringSubmatch(part, -1) {
			v.methods[m[1]] = true
		}
	}
	for _, name := range strings.Fields(calledHere) {
		v.methods[name] = true
	}
	for _, of := range bindingMethods {
		for name := range of {
			v.methods[name] = true
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\t([A-Z]\w*): `).FindAllStringSubmatch(classes, -1) {
		v.classes[m[1]] = true
	}
	return v
})
