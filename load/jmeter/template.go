package jmeter

import (
	"strconv"
	"strings"
	"time"

	"whittle/load/expr"
	"whittle/load/plan"
)

// compile reads a text with ${variables} and ${__functions()}. A name that
// nothing fills stays as it is written, as in JMeter.
func (j *reader) compile(n plan.Position, text string, enc expr.Encoding) expr.Template {
	if !strings.Contains(text, "${") {
		return expr.Template(nil).Literal(enc.EncodeLiteral(text))
	}
	return j.compound(n, text, enc, 0)
}

// maxNested bounds functions within functions.
const maxNested = 16

func (j *reader) compound(n plan.Position, text string, enc expr.Encoding, depth int) expr.Template {
	if depth > maxNested {
		panic(n.Invalid("functions nested deeper than %d", maxNested))
	}
	var t expr.Template
	var plain strings.Builder
	flush := func() {
		t = t.Literal(enc.EncodeLiteral(plain.String()))
		plain.Reset()
	}
	for i := 0; i < len(text); {
		switch {
		case text[i] == '\\' && i+1 < len(text) && strings.IndexByte(`\,$`, text[i+1]) >= 0:
			plain.WriteByte(text[i+1])
			i += 2
		case strings.HasPrefix(text[i:], "${"):
			size := referenceLength(text[i:])
			if size == 0 {
				panic(n.Invalid("${ without } in %.60q", text[i:]))
			}
			if x, ok := j.reference(n, text[i+2:i+size-1], depth); ok {
				flush()
				t = t.Expression(x, enc)
			} else {
				plain.WriteString(text[i : i+size])
			}
			i += size
		default:
			plain.WriteByte(text[i])
			i++
		}
	}
	flush()
	return t
}

// referenceLength is how long the ${…} is that s begins with, those within it
// included; 0 where it has no end.
func referenceLength(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], "${"):
			depth++
			i++
		case s[i] == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// reference compiles what stands between ${ and }. False: nothing is of that
// name.
func (j *reader) reference(n plan.Position, inner string, depth int) (expr.Expression, bool) {
	if name, ok := strings.CutPrefix(strings.TrimSpace(inner), "__"); ok {
		return j.function(n, name, depth), true
	}
	if inner == "JMeterThread.last_sample_ok" {
		return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
			return expr.TextValue(strconv.FormatBool(s.User == nil || !s.User.Failed()))
		}}, true
	}
	if fixed, ok := j.constants[inner]; ok && !j.runtime[inner] {
		return fixedText(fixed), true
	}
	if !j.runtime[inner] {
		if strings.Contains(inner, "${") {
			panic(n.Invalid("${%s}: a name made of variables is not supported", inner))
		}
		return expr.Expression{}, false
	}
	return expr.Expression{Eval: j.variable(inner)}, true
}

// variable reads a variable that something fills during the run; before that
// it is written literally.
func (j *reader) variable(name string) func(*expr.Scope) expr.Value {
	slot := j.Define(name)
	unset := expr.TextValue("${" + name + "}")
	return func(s *expr.Scope) expr.Value {
		if v := s.Values[slot]; v.JSON != "" {
			return v
		}
		return unset
	}
}

// userVariables reads the test plan's variables and those of every enabled
// Arguments element: JMeter sets them all when the test starts.
func (j *reader) userVariables(plan *element) {
	if t := plan.prop("TestPlan.user_defined_variables"); t != nil {
		j.arguments(t)
	}
	var walk func(e *element)
	walk = func(e *element) {
		if e.name == "Arguments" {
			j.refuseOthers(e, "Arguments.arguments")
			j.arguments(e.tag)
		}
		for _, c := range e.below {
			walk(c)
		}
	}
	walk(plan)
}

func (j *reader) arguments(t *tag) {
	list := t.prop("Arguments.arguments")
	if list == nil {
		return
	}
	for _, a := range list.children {
		name := strings.TrimSpace(a.value("Argument.name"))
		if name == "" {
			continue
		}
		at := a.where("Argument.value")
		tpl := j.compile(at, a.value("Argument.value"), expr.AsText)
		fixed, ok := tpl.Constant()
		if ok && !j.runtime[name] {
			j.constants[name] = fixed
			continue
		}
		// It differs from run to run, or something changes it during one.
		delete(j.constants, name)
		j.runtime[name] = true
		j.setup = append(j.setup, plan.Assignment{Slot: j.Define(name), Value: tpl})
	}
}

// findRuntime lists the variables that something fills during the run.
func (j *reader) findRuntime(e *element) {
	add := func(list, sep string) {
		for name := range strings.SplitSeq(list, sep) {
			if name = strings.TrimSpace(name); name != "" {
				j.runtime[name] = true
			}
		}
	}
	switch e.name {
	case "CSVDataSet":
		add(e.value("variableNames"), ",")
	case "CounterConfig":
		add(e.value("CounterConfig.name"), ",")
	case "RegexExtractor":
		name := e.value("RegexExtractor.refname")
		add(name, ",")
		for g := range 10 {
			j.runtime[strings.TrimSpace(name)+"_g"+strconv.Itoa(g)] = true
		}
	case "BoundaryExtractor":
		add(e.value("BoundaryExtractor.refname"), ",")
	case "JSONPostProcessor":
		add(e.value("JSONPostProcessor.referenceNames"), ";")
	}
	for _, c := range e.below {
		j.findRuntime(c)
	}
}

// storeResult puts a function's value into the variable that its last argument names.
func (j *reader) storeResult(name string, eval func(*expr.Scope) expr.Value) func(*expr.Scope) expr.Value {
	if name == "" {
		return eval
	}
	delete(j.constants, name)
	j.runtime[name] = true
	slot := j.Define(name)
	return func(s *expr.Scope) expr.Value {
		v := eval(s)
		s.Values[slot] = v
		return v
	}
}

// Dated compiles a pattern of Java's SimpleDateFormat, as far as it is of
// numbers and names that Go knows.
func Dated(pattern string) (func(time.Time) string, bool) {
	layouts := map[string]string{
		"yyyy": "2006", "yy": "06", "y": "2006", "MMMM": "January", "MMM": "Jan", "MM": "01", "M": "1", "dd": "02", "d": "2",
		"EEEE": "Monday", "EEE": "Mon", "E": "Mon", "HH": "15", "hh": "03", "h": "3", "mm": "04", "m": "4", "ss": "05", "s": "5",
		"a": "PM", "z": "MST", "Z": "-0700", "X": "Z07", "XX": "Z0700", "XXX": "Z07:00",
	}
	var pieces []func(time.Time) string
	for rest := pattern; rest != ""; {
		c := rest[0]
		n := 1
		switch {
		case c == '\'':
			end := strings.IndexByte(rest[1:], '\'')
			if end < 0 {
				return nil, false
			}
			text := rest[1 : 1+end]
			if text == "" {
				text = "'"
			}
			pieces = append(pieces, func(time.Time) string { return text })
			n = end + 2
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			for n < len(rest) && rest[n] == c {
				n++
			}
			layout, ok := layouts[rest[:n]]
			switch {
			case rest[:n] == "SSS":
				pieces = append(pieces, func(t time.Time) string { return t.Format(".000")[1:] })
			case !ok:
				return nil, false
			default:
				pieces = append(pieces, func(t time.Time) string { return t.Format(layout) })
			}
		default:
			text := rest[:1]
			pieces = append(pieces, func(time.Time) string { return text })
		}
		rest = rest[n:]
	}
	return func(t time.Time) string {
		var b strings.Builder
		for _, p := range pieces {
			b.WriteString(p(t))
		}
		return b.String()
	}, true
}
