package snippet

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind int

const (
	end     tokenKind = iota
	newline           // where Groovy may end a statement
	word
	number // as it is written
	quoted // a text without expressions: its value
	mixed  // a text with expressions in it
	sign
	skipped // a space or a comment
)

type token struct {
	kind  tokenKind
	text  string
	parts []string // of a mixed text: texts and expressions in turn
	line  int
}

func (t token) is(k tokenKind, text string) bool { return t.kind == k && t.text == text }

// pieces are what a script is made of. A text is read whole, with its quotes.
var pieces = []struct {
	kind tokenKind
	by   *regexp.Regexp
}{
	{skipped, regexp.MustCompile(`^(?:[^\S\n]|\x{feff}|//[^\n]*|/\*(?s:.*?)\*/)+`)},
	{newline, regexp.MustCompile(`^\n`)},
	{word, regexp.MustCompile(`^[\pL_$][\pL\p{Nd}_$]*`)},
	{number, regexp.MustCompile(`^\d[\d_]*(?:\.\d+)?\w*`)},
	{quoted, nil}, // by the dialect
	{sign, regexp.MustCompile(`^(?:=~|!~|=\^|=\$|!\^|!\$|\?\.|\?[:?]|[-+*/%=!<>]=|&&|\|\||\+\+|--|[-+*/%=<>!?:;,.(){}\[\]&|^@])`)},
}

// The texts of Groovy, which may have expressions in them, and those of the other languages.
var (
	groovyTexts = regexp.MustCompile(`^(?:(?s:'''(?:[^\\]|\\.)*?'''|"""(?:[^\\]|\\.)*?""")|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n$]|\\.|\$\{[^{}\n]*\}|\$)*")`)
	otherTexts  = regexp.MustCompile(`^(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")`)
)

// refuse ends the reading.
func refuse(line int, broken bool, format string, args ...any) {
	panic(&Refused{Line: line, What: fmt.Sprintf(format, args...), Broken: broken})
}

// lex takes a script apart. Line ends mean something in Groovy alone, and nothing in brackets.
func lex(src string, d Dialect, line int) (out []token) {
	texts := otherTexts
	if d == Groovy {
		texts = groovyTexts
	}
	var open []string
	for src != "" {
		t := token{line: line}
		for _, p := range pieces {
			if t.text = cmp.Or(p.by, texts).FindString(src); t.text != "" {
				t.kind = p.kind
				break
			}
		}
		if t.text == "" {
			refuse(line, false, "%.10q", src)
		}
		src = src[len(t.text):]
		line += strings.Count(t.text, "\n")
		switch {
		case t.kind == quoted:
			t.unquote(d)
		case t.kind == sign && strings.Contains("([{", t.text):
			open = append(open, t.text)
		case t.kind == sign && strings.Contains(")]}", t.text) && len(open) > 0:
			open = open[:len(open)-1]
		}
		if t.kind != skipped && (t.kind != newline || d == Groovy && (len(open) == 0 || open[len(open)-1] == "{")) {
			out = append(out, t)
		}
	}
	return append(out, token{kind: end, line: line})
}

// inText finds the parts of a text that stand for something else: escapes and, in a Groovy text between double
// quotes, expressions.
var inText = regexp.MustCompile(`(?s)\\u[0-9a-fA-F]{4}|\\.|\$\{[^{}\n]*\}|\$[\pL_][\pL\p{Nd}_]*(?:\.[\pL_][\pL\p{Nd}_]*)*|\$`)

// unquote makes of a text in quotes its value, or its parts.
func (t *token) unquote(d Dialect) {
	quote := t.text[:1]
	if len(t.text) >= 6 && strings.HasPrefix(t.text, strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	if quote == "'" && d == BeanShell || len(quote) == 3 && d != Groovy {
		refuse(t.line, false, "%.20s", t.text)
	}
	inner, woven := strings.ReplaceAll(t.text[len(quote):len(t.text)-len(quote)], "\r\n", "\n"), d == Groovy && quote[0] == '"'
	var b strings.Builder
	for inner != "" {
		at := inText.FindStringIndex(inner)
		if at == nil {
			break
		}
		b.WriteString(inner[:at[0]])
		found := inner[at[0]:at[1]]
		inner = inner[at[1]:]
		switch {
		case found[0] == '\\':
			b.WriteString(escaped(t.line, found[1:]))
		case !woven:
			b.WriteString(found)
		case found == "$":
			refuse(t.line, false, "a bare $ in a text between double quotes")
		default:
			t.parts = append(t.parts, b.String(), strings.Trim(found, "${}"))
			b.Reset()
		}
	}
	b.WriteString(inner)
	if t.text = b.String(); len(t.parts) > 0 {
		t.kind, t.parts = mixed, append(t.parts, t.text)
	}
}

// escaped is what an escape in a text stands for.
func escaped(line int, what string) string {
	at := strings.IndexByte(`ntrbf\'"$`, what[0])
	if r, err := strconv.ParseUint(what[1:], 16, 16); what[0] == 'u' && err == nil && utf8.ValidRune(rune(r)) && r != 0 {
		return string(rune(r))
	} else if at < 0 {
		refuse(line, false, `\%s in a text`, what)
	}
	return "\n\t\r\b\f\\'\"$"[at : at+1]
}
