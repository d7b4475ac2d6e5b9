package jmeter

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// compile reads a text with ${variables} and ${__functions()}. A name that
// nothing fills stays as it is written, as in JMeter, and so does a text in which there is
// none, with its backslashes.
func (j *reader) compile(n plan.Position, text string, enc expr.Encoding) expr.Template {
	if strings.Contains(text, "${") {
		if t, live := j.compound(n, text, enc, 0); live {
			return t
		}
	}
	return expr.Template(nil).Literal(enc.EncodeLiteral(text))
}

// maxNested bounds functions within functions.
const maxNested = 16

// compound reads a text as JMeter's parser does. live reports whether JMeter then has
// anything to put together.
func (j *reader) compound(n plan.Position, text string, enc expr.Encoding, depth int) (t expr.Template, live bool) {
	if depth > maxNested {
		panic(n.Invalid("functions nested deeper than %d", maxNested))
	}
	var plain strings.Builder
	for i := 0; i < len(text); {
		switch {
		case text[i] == '\\' && i+1 < len(text) && strings.IndexByte(`\,$`, text[i+1]) >= 0:
			plain.WriteByte(text[i+1])
			i += 2
		case text[i] == '\\' && i+1 < len(text):
			plain.WriteString(text[i : i+2])
			i += 2
		case strings.HasPrefix(text[i:], "${"):
			size := referenceLength(text[i:])
			if size == 0 {
				if call.MatchString(text[i:]) { // not a name
					panic(n.Invalid("%.200s: a call ends with )}", text[i:]))
				}
				live = live || plain.Len() > 0
				plain.WriteString(withoutBackslashes(text[i+len("${"):])) // as JMeter reads one without an end
				i = len(text)
				continue
			}
			live = true
			if x, ok := j.reference(n, text[i+2:i+size-1], depth); ok {
				t = t.Literal(enc.EncodeLiteral(plain.String())).Expression(x, enc)
				plain.Reset()
			} else {
				plain.WriteString("${" + withoutBackslashes(text[i+2:i+size-1]) + "}")
			}
			i += size
		default:
			plain.WriteByte(text[i])
			i++
		}
	}
	return t.Literal(enc.EncodeLiteral(plain.String())), live
}

// referenceLength is how long the ${…} is that s begins with: up to the first }, or where
// a function is called to the one after its arguments; 0 where it has no end.
func referenceLength(s string) int {
	if name := len(call.FindString(s)); name > 0 {
		_, size := arguments(s[name:])
		behind := strings.TrimLeft(s[name+size:], " \t\r\n")
		if size > 0 && strings.HasPrefix(behind, "}") {
			return len(s) - len(behind) + 1
		}
		return 0
	}
	for i := len("${"); i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '}':
			return i + 1
		}
	}
	return 0
}

// call is how one begins.
var call = regexp.MustCompile(`^\$\{\s*__[A-Za-z]\w*\(`)

// arguments are those of a call, up to its ), with the size of all that; 0: they have no end.
// A comma parts two of them, unless it is escaped or within a ${…}.
func arguments(s string) (out []string, size int) {
	begin, references, parens := 0, 0, 0
	previous := byte(' ')
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\':
			i++
			previous = ' '
			continue
		case c == '{' && previous == '$':
			references++
		case references > 0:
			if c == '}' {
				references--
			}
		case c == ',':
			out = append(out, s[begin:i])
			begin = i + 1
			continue // as JMeter, which looks back beyond it
		case c == ')' && parens > 0:
			parens--
		case c == ')' && i == 0:
			return nil, 1
		case c == ')':
			return append(out, s[begin:i]), i + 1
		case c == '(':
			parens++
		}
		previous = c
	}
	return append(out, s[begin:]), 0
}

// backslash finds one that stands before something.
var backslash = regexp.MustCompile(`(?s)\\(.)`)

// withoutBackslashes takes away each that stands before something.
func withoutBackslashes(s string) string { return backslash.ReplaceAllString(s, "$1") }

// replaced writes something else in place of each ${…} of a text, until what was written
// is longer than most; by is asked with what is between the braces, and with all of it.
func replaced(text string, most int, by func(inner, reference string) string) string {
	var b strings.Builder
	for b.Len() <= most {
		at := strings.Index(text, "${")
		size := 0
		if at > 0 && text[at-1] == '\\' {
			b.WriteString(text[:at+1])
			text = text[at+1:]
			continue
		}
		if at >= 0 {
			size = referenceLength(text[at:])
		}
		if size == 0 {
			return b.String() + text
		}
		b.WriteString(text[:at])
		b.WriteString(by(text[at+2:at+size-1], text[at:at+size]))
		text = text[at+size:]
	}
	return b.String()
}

// reference compiles what stands between ${ and }. False: nothing is of that
// name.
func (j *reader) reference(n plan.Position, inner string, depth int) (expr.Expression, bool) {
	if name, ok := strings.CutPrefix(strings.TrimSpace(inner), "__"); ok && functionName.MatchString(name) && !j.isVariable(name) {
		return j.function(n, name, depth), true
	}
	inner = withoutBackslashes(inner)
	if inner == lastSampleOK {
		return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
			return expr.TextValue(strconv.FormatBool(s.User == nil || !s.User.Failed()))
		}}, true
	}
	if fixed, ok := j.constants[inner]; ok && (j.atStart || !j.varies(inner)) {
		return fixedText(fixed), true
	}
	if !j.varies(inner) || j.atStart && !j.named(inner) {
		return expr.Expression{}, false // when the test starts no script has run
	}
	return expr.Expression{Eval: j.variable(inner)}, true
}

// isVariable reports whether a name that begins like a function's is a variable's: it has no
// arguments and is no function's, such as a form's __RequestVerificationToken.
func (j *reader) isVariable(name string) bool {
	name = strings.TrimSpace(name)
	_, known := functions[name]
	_, set := j.constants["__"+name]
	return !strings.Contains(name, "(") && !known && (set || j.varies("__"+name))
}

// functionName is how a call begins, behind two underscores.
var functionName = regexp.MustCompile(`^[A-Za-z]\w*(\(|$)`)

// variable reads a variable that something fills during the run; before that
// it is written literally.
func (j *reader) variable(name string) func(*expr.Scope) expr.Value {
	slot := j.Define(name)
	unset := expr.TextValue("${" + name + "}")
	if fixed, ok := j.constants[name]; ok {
		unset = expr.TextValue(fixed)
	}
	return func(s *expr.Scope) expr.Value {
		if v := s.Values[slot]; v.JSON != "" {
			return v
		}
		return unset
	}
}

// storeResult puts a function's value into the variable that its last argument names.
func (j *reader) storeResult(name string, eval func(*expr.Scope) expr.Value) func(*expr.Scope) expr.Value {
	if name == "" {
		return eval
	}
	j.runtime[name] = true
	slot := j.Define(name)
	return func(s *expr.Scope) expr.Value {
		v := eval(s)
		s.Values[slot] = v
		return v
	}
}

// layouts are the pieces of a pattern of Java's SimpleDateFormat that Go has.
var layouts = map[string]string{
	"yyyy": "2006", "yyy": "2006", "yy": "06", "y": "2006", "MMMM": "January", "MMM": "Jan", "MM": "01", "M": "1", "dd": "02", "d": "2",
	"EEEE": "Monday", "EEE": "Mon", "EE": "Mon", "E": "Mon", "HH": "15", "hh": "03", "h": "3", "mm": "04", "m": "4", "ss": "05", "s": "5",
	"a": "PM", "z": "MST", "zzz": "MST", "Z": "-0700", "X": "Z07", "XX": "Z0700", "XXX": "Z07:00",
}

// datePiece finds what a pattern begins with: a text in quotes, in which two are one, two
// alone, which are one, too, a run of one letter, or what is around these.
var datePiece = regexp.MustCompile(`^(?:''|'(?:[^']|'')+'|y+|M+|d+|E+|H+|h+|m+|s+|S+|a+|z+|Z+|X+|[^A-Za-z']+)`)

// Dated compiles a pattern of Java's dates, as far as it is of numbers and names that Go
// knows, and means the same to SimpleDateFormat and DateTimeFormatter.
func Dated(pattern string) (func(time.Time) string, bool) {
	var pieces []func(time.Time) string
	for pattern != "" {
		text := datePiece.FindString(pattern)
		pattern = pattern[len(text):]
		layout, known := layouts[text]
		switch {
		case known:
			pieces = append(pieces, func(t time.Time) string { return t.Format(layout) })
			continue
		case text == "SSS":
			pieces = append(pieces, func(t time.Time) string { return t.Format(".000")[1:] })
			continue
		case text == "" || strings.IndexByte("yMdEHhmsSazZX", text[0]) >= 0:
			return nil, false
		case text == "''":
			text = "'"
		case text[0] == '\'':
			text = strings.ReplaceAll(text[1:len(text)-1], "''", "'")
		}
		pieces = append(pieces, func(time.Time) string { return text })
	}
	return func(t time.Time) string {
		var b strings.Builder
		for _, p := range pieces {
			b.WriteString(p(t))
		}
		return b.String()
	}, true
}
