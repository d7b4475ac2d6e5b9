package jmeter

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// functionCall is a ${__name(arguments)} as it is written.
type functionCall struct {
	at   plan.Position
	name string
	raw  string          // the text between ${ and }, without the underscores
	args []expr.Template // each as a text
}

// written are the arguments as they are written.
func (c *functionCall) written() []string {
	all, _ := arguments(c.raw[strings.IndexByte(c.raw, '(')+1:])
	return all
}

// first renders the first argument.
func (c *functionCall) first(s *expr.Scope) string { return c.args[0].Text(s) }

// fixed returns an argument that must be known before the run; other where it is
// absent or empty.
func (c *functionCall) fixed(i int, other string) string {
	if i >= len(c.args) {
		return other
	}
	text, ok := c.args[i].Constant()
	if !ok {
		panic(c.at.Errorf(whittle.Unsupported, "${__%s}: an argument that varies during the run is not supported there", c.raw))
	}
	if text = strings.TrimSpace(text); text == "" {
		return other
	}
	return text
}

// function is one of JMeter's: how many arguments it takes, and what a call of it becomes.
type function struct {
	least, most int
	compile     func(*reader, *functionCall) expr.Expression
}

// anyNumber is no bound on the number of arguments.
const anyNumber = math.MaxInt

// functions are those that run, by their names.
var functions map[string]function

func init() {
	functions = map[string]function{
		"P":               {1, 2, (*reader).property},
		"property":        {1, 3, (*reader).namedProperty},
		"Random":          {2, 3, (*reader).randomNumber},
		"RandomString":    {1, 3, (*reader).randomText},
		"UUID":            {0, 0, ofUser(func(s *expr.Scope) string { return expr.UUID(s.RNG) })},
		"time":            {0, 2, (*reader).time},
		"threadNum":       {0, 0, ofUser(func(s *expr.Scope) string { return strconv.Itoa(s.User.Number() + 1) })},
		"threadGroupName": {0, 0, ofUser(groupNameOf)},
		"TestPlanName":    {0, 0, func(j *reader, _ *functionCall) expr.Expression { return fixedText(filepath.Base(j.Plan.Name)) }},
		"counter":         {1, 2, (*reader).counter},
		"intSum":          {2, anyNumber, (*reader).sum},
		"groovy":          {1, 2, (*reader).scriptCall},
		"BeanShell":       {1, 2, (*reader).scriptCall},
		"javaScript":      {1, 2, (*reader).scriptCall},
		"jexl2":           {1, 2, (*reader).jexl},
		"jexl3":           {1, 2, (*reader).jexl},

		// What reads or fills variables, properties and files.
		"V":            {1, 2, variableByName},
		"eval":         {1, 1, (*reader).evaluate},
		"setProperty":  {2, 3, (*reader).setPropertyCall},
		"FileToString": {1, 3, (*reader).fileToString},
		"timeShift":    {4, 5, (*reader).timeShift},

		// What depends on nothing but its arguments.
		"urlencode": {1, 1, ofText(formEscape)},
		"urldecode": {1, 1, ofText(formDecode)},
		"digest":    {2, 5, (*reader).digest},
	}
}

// computed is an expression whose text is computed for each use.
func computed(of func(*expr.Scope) string) expr.Expression {
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value { return expr.TextValue(of(s)) }}
}

// ofUser compiles calls without arguments of what computes a text.
func ofUser(of func(*expr.Scope) string) func(*reader, *functionCall) expr.Expression {
	return func(*reader, *functionCall) expr.Expression { return computed(of) }
}

func fixedText(text string) expr.Expression {
	v := expr.TextValue(text)
	return expr.Expression{Fixed: &v}
}

// forms are the arguments that a call has to have, as far as they are known before the run,
// and those that are not done and so have to be empty. Each other form of a call is held to
// what JMeter makes of it.
var forms = map[string]struct{ needs, empty []int }{
	"P": {needs: []int{0}}, "property": {needs: []int{0}}, "setProperty": {needs: []int{0}}, "Random": {needs: []int{0, 1}}, "RandomString": {needs: []int{0, 1}},
	"counter": {needs: []int{0}}, "digest": {needs: []int{0, 1}}, "V": {needs: []int{0}},
	"FileToString": {needs: []int{0}, empty: []int{1}}, "timeShift": {needs: []int{0}, empty: []int{1, -2}},
}

// checkForm refuses a call in another form.
func (c *functionCall) checkForm() {
	of := forms[c.name]
	for _, i := range of.needs {
		if i < len(c.args) {
			if text, fixed := c.args[i].Constant(); fixed && strings.TrimSpace(text) == "" {
				panic(c.at.Errorf(whittle.Unsupported, "${__%s}: an empty argument %d is not supported", c.raw, i+1))
			}
		}
	}
	for _, i := range of.empty {
		if i < 0 { // __timeShift has a locale where it has five arguments
			i = 3
			if len(c.args) < 5 {
				continue
			}
		}
		if i < len(c.args) {
			if text, fixed := c.args[i].Constant(); !fixed || strings.TrimSpace(text) != "" {
				panic(c.at.Errorf(whittle.Unsupported, "${__%s}: the argument %d is not supported: leave it empty", c.raw, i+1))
			}
		}
	}
}

// fails counts that a call could not be done in a run, for the report.
func (c *functionCall) fails(j *reader, why string) {
	j.Plan.Failures.Add(report.ScriptFailure{Element: "${__" + c.raw + "}", File: c.at.File, Line: c.at.Line, Count: 1, Sample: why})
}

// whole is an argument as a whole number of so many bits. Another text is refused, or
// counted as a failure where only the run shows it.
func (c *functionCall) whole(j *reader, t expr.Template, bits int) func(*expr.Scope) int64 {
	if text, fixed := t.Constant(); fixed {
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, bits)
		if err != nil {
			panic(c.at.Errorf(whittle.Unsupported, "${__%s}: %q is no whole number of %d bits", c.raw, text, bits))
		}
		return func(*expr.Scope) int64 { return n }
	}
	j.counts()
	return func(s *expr.Scope) int64 {
		text := strings.TrimSpace(t.Text(s))
		n, err := strconv.ParseInt(text, 10, bits)
		if err != nil {
			c.fails(j, fmt.Sprintf("%.100q is no whole number of %d bits", text, bits))
			return 0
		}
		return n
	}
}

// function compiles a call; inner is what follows the two underscores.
func (j *reader) function(n plan.Position, inner string, depth int) expr.Expression {
	c := &functionCall{at: n, raw: inner, name: strings.TrimSpace(inner)}
	if open := strings.IndexByte(inner, '('); open >= 0 {
		all, end := arguments(inner[open+1:])
		if end == 0 {
			panic(n.Invalid("${__%s}: ( without )", inner))
		}
		c.name = inner[:open]
		for _, a := range all {
			t, _ := j.compound(n, a, expr.AsText, depth+1)
			c.args = append(c.args, t)
		}
	}
	f, ok := functions[c.name]
	switch {
	case !ok:
		panic(n.Errorf(whittle.Unsupported, "the function __%s is not supported: use ${__groovy(…)} or ${__javaScript(…)}; docs/load-jmeter.md lists what is", c.name))
	case len(c.args) < f.least || len(c.args) > f.most:
		takes := fmt.Sprintf("%d to %d", f.least, f.most)
		if f.most == anyNumber {
			takes = fmt.Sprintf("%d at least", f.least)
		}
		panic(c.at.Invalid("${__%s}: it has %d arguments, and JMeter starts no test with such a call: __%s takes %s", c.raw, len(c.args), c.name, takes))
	}
	c.checkForm()
	return f.compile(j, c)
}

// functionVariables finds the variables that calls of functions fill.
var functionVariables = regexp.MustCompile(`\$\{__(?:Random|RandomString|time|timeShift|counter|intSum|` +
	`jexl2|jexl3|groovy|javaScript|digest|FileToString)\([^(){}]*,\s*([A-Za-z_]\w*)\s*\)\}`)

// propertyVariables finds those of __property.
var propertyVariables = regexp.MustCompile(`__property\((?:[^(){}]|\$\{[^{}]*\})*?,\s*([A-Za-z_]\w*)\s*[,)]`)

// property is __P: its default is 1 unless the call has one, which may be empty.
func (j *reader) property(c *functionCall) expr.Expression {
	other := expr.Template(nil).Literal("1")
	if len(c.args) > 1 {
		other = c.args[1]
	}
	return j.propertyOr(c, other, "")
}

// namedProperty is __property: its default is the name unless the call has one, and it
// may fill a variable.
func (j *reader) namedProperty(c *functionCall) expr.Expression {
	other := c.args[0]
	if len(c.args) > 2 {
		other = c.args[2]
	}
	return j.propertyOr(c, other, c.fixed(1, ""))
}

// javasProperty finds the names of properties that Java and JMeter set themselves.
var javasProperty = regexp.MustCompile(`^(user\.(dir|home|name|language|country|timezone)|(java|os|file|line|path|sun|jmeter|log4j\d?)\..*)$`)

func (j *reader) propertyOr(c *functionCall, other expr.Template, variable string) expr.Expression {
	name, ok := c.args[0].Constant()
	text, fixed := other.Constant()
	if name = strings.TrimSpace(name); ok && javasProperty.MatchString(name) && j.Source.Properties[name] == "" {
		panic(c.at.Errorf(whittle.Unsupported, "${__%s}: %s is a property of JMeter's Java, which is not here: give it by --property", c.raw, name))
	}
	if ok && fixed && variable == "" && (!j.setsProperties || j.atStart) {
		if v, ok := j.Source.Properties[name]; ok {
			return fixedText(v)
		}
		return fixedText(strings.TrimSpace(text))
	}
	return j.stored(variable, func(s *expr.Scope) string {
		if text, ok := j.propertyValue(s, strings.TrimSpace(c.first(s))); ok {
			return text
		}
		return strings.TrimSpace(other.Text(s))
	})
}

func (j *reader) randomNumber(c *functionCall) expr.Expression {
	low, high := c.whole(j, c.args[0], 64), c.whole(j, c.args[1], 64)
	j.counts()
	return expr.Expression{Eval: j.storeResult(c.fixed(2, ""), func(s *expr.Scope) expr.Value {
		a, b := low(s), high(s)
		if b-a < 0 || b-a == math.MaxInt64 { // the difference may have overflowed
			c.fails(j, fmt.Sprintf("there is no number from %d to %d", a, b))
			return expr.TextValue("")
		}
		return expr.NumberValue(a + s.RNG.Int64N(b-a+1))
	})}
}

// renderInt renders a whole number within what JSON holds exactly; another text counts as 0.
func renderInt(t expr.Template, s *expr.Scope) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(t.Text(s)), 10, 64)
	if err != nil {
		return 0
	}
	return min(max(n, -expr.MaxRandom), expr.MaxRandom)
}

func (j *reader) randomText(c *functionCall) expr.Expression {
	size, err := strconv.Atoi(c.fixed(0, ""))
	if err != nil || size < 0 || size > 1<<16 {
		panic(c.at.Invalid("${__%s}: takes a length from 0 to 65536, characters and a variable", c.raw))
	}
	from := []rune(c.fixed(1, expr.Letters))
	return j.stored(c.fixed(2, ""), func(s *expr.Scope) string { return expr.RandomString(s.RNG, from, size) })
}

func (j *reader) time(c *functionCall) expr.Expression {
	format := c.fixed(0, "")
	shape := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
	named := map[string]string{"YMD": "yyyyMMdd", "HMS": "HHmmss", "YMDHMS": "yyyyMMdd-HHmmss"}
	if pattern, ok := named[format]; ok {
		format = pattern
	}
	if rest, ok := strings.CutPrefix(format, "/"); ok {
		by, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || by < 1 {
			panic(c.at.Invalid("${__%s}: a divisor is a whole number above 0", c.raw))
		}
		shape = func(t time.Time) string { return strconv.FormatInt(t.UnixMilli()/by, 10) }
	} else if format != "" {
		var ok bool
		if shape, ok = Dated(format); !ok {
			panic(c.at.Errorf(whittle.Unsupported, "${__%s}: the date format %q is not supported%s", c.raw, format, instead(format)))
		}
	}
	return j.stored(c.fixed(1, ""), func(s *expr.Scope) string { return shape(clock(s)) })
}

// counter counts its own calls: one for each user, or one for all.
func (j *reader) counter(c *functionCall) expr.Expression {
	perUser := strings.EqualFold(c.fixed(0, "FALSE"), "true")
	return expr.Expression{Eval: j.storeResult(c.fixed(1, ""), func(s *expr.Scope) expr.Value { return expr.NumberValue(count(s.User, c, perUser)) })}
}

func (j *reader) sum(c *functionCall) expr.Expression {
	terms, name := c.args, ""
	// The last argument is a variable where it is no number.
	if text, ok := terms[len(terms)-1].Constant(); ok {
		if _, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err != nil {
			terms, name = terms[:len(terms)-1], strings.TrimSpace(text)
		}
	}
	if len(terms) < 2 {
		panic(c.at.Invalid("${__%s}: takes two numbers or more", c.raw))
	}
	var numbers []func(*expr.Scope) int64
	for _, t := range terms {
		numbers = append(numbers, c.whole(j, t, 32))
	}
	return j.foldable(terms, name, func(s *expr.Scope) expr.Value {
		var sum int64
		for _, n := range numbers {
			sum = int64(int32(sum + n(s))) //nolint:gosec // as in Java
		}
		return expr.NumberValue(sum)
	})
}

// stored is an expression whose text is put into a variable; empty: into none.
func (j *reader) stored(name string, of func(*expr.Scope) string) expr.Expression {
	return expr.Expression{Eval: j.storeResult(name, computed(of).Eval)}
}

// foldable computes at once what its arguments let it.
func (j *reader) foldable(args []expr.Template, name string, eval func(*expr.Scope) expr.Value) expr.Expression {
	varies := func(a expr.Template) bool { _, ok := a.Constant(); return !ok }
	if name != "" || slices.ContainsFunc(args, varies) {
		return expr.Expression{Eval: j.storeResult(name, eval)}
	}
	v := eval(&expr.Scope{})
	return expr.Expression{Fixed: &v}
}
