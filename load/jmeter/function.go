package jmeter

import (
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/jexl"
	"whittle/load/plan"
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

// takes says how many arguments a call has.
func (f *function) takes() string {
	if f.most == anyNumber {
		return fmt.Sprintf("%d at least", f.least)
	}
	return fmt.Sprintf("%d to %d", f.least, f.most)
}

// functions are those that run, by their names.
var functions map[string]function

func init() {
	functions = map[string]function{
		"P":               {1, 2, (*reader).property},
		"property":        {1, 3, (*reader).namedProperty},
		"Random":          {2, 3, (*reader).randomNumber},
		"RandomString":    {1, 3, (*reader).randomText},
		"UUID":            {0, 0, uuid},
		"time":            {0, 2, (*reader).time},
		"threadNum":       {0, 0, threadNumber},
		"threadGroupName": {0, 0, func(*reader, *functionCall) expr.Expression { return computed(groupNameOf) }},
		"TestPlanName":    {0, 0, func(j *reader, _ *functionCall) expr.Expression { return fixedText(filepath.Base(j.Plan.Name)) }},
		"counter":         {1, 2, (*reader).counter},
		"CSVRead":         {2, 2, (*reader).csvRead},
		"intSum":          {2, anyNumber, (*reader).sum},
		"longSum":         {2, anyNumber, (*reader).sum},
		"groovy":          {1, 2, (*reader).scriptCall},
		"BeanShell":       {1, 2, (*reader).scriptCall},
		"javaScript":      {1, 2, (*reader).scriptCall},
		"jexl2":           {1, 2, (*reader).jexl},
		"jexl3":           {1, 2, (*reader).jexl},

		// What reads or fills variables, properties and files.
		"V":               {1, 2, variableByName},
		"eval":            {1, 1, (*reader).evaluate},
		"evalVar":         {1, 1, (*reader).evaluateVariable},
		"isVarDefined":    {1, 1, func(j *reader, c *functionCall) expr.Expression { return isDefined(c, j.value) }},
		"isDefined":       {1, anyNumber, func(j *reader, c *functionCall) expr.Expression { return isDefined(c, j.value) }},
		"isPropDefined":   {1, 1, func(j *reader, c *functionCall) expr.Expression { return isDefined(c, j.propertyValue) }},
		"setProperty":     {2, 3, (*reader).setPropertyCall},
		"split":           {2, 3, (*reader).split},
		"log":             {1, 4, func(_ *reader, c *functionCall) expr.Expression { return computed(c.first) }},
		"logn":            {1, 3, func(*reader, *functionCall) expr.Expression { return fixedText("") }},
		"samplerName":     {0, 1, (*reader).presentSampler},
		"env":             {0, anyNumber, func(j *reader, c *functionCall) expr.Expression { return fixedText(j.Source.Env(c.fixed(0, ""))) }},
		"FileToString":    {1, 3, (*reader).fileToString},
		"StringFromFile":  {1, 4, (*reader).lineOfFile},
		"StringToFile":    {2, 4, (*reader).stringToFile},
		"timeShift":       {4, 5, (*reader).timeShift},
		"dateTimeConvert": {3, 4, (*reader).convertTime},
		"RandomDate":      {3, 5, (*reader).randomDate},
		"chooseRandom":    {2, anyNumber, (*reader).chooseRandom},

		// What depends on nothing but its arguments.
		"urlencode":            {1, 1, ofTexts(noVariable, func(a []string) string { return charset{}.formEscape(a[0]) })},
		"urldecode":            {1, 1, ofTexts(noVariable, decodeURL)},
		"changeCase":           {1, 3, ofTexts(2, changeCase)},
		"uppercase":            {1, anyNumber, ofTexts(1, func(a []string) string { return strings.ToUpper(a[0]) })},
		"lowercase":            {1, anyNumber, ofTexts(1, func(a []string) string { return strings.ToLower(a[0]) })},
		"escapeHtml":           {1, 1, ofTexts(noVariable, func(a []string) string { return escapeHTML()(a[0]) })},
		"unescapeHtml":         {1, 1, ofTexts(noVariable, func(a []string) string { return html.UnescapeString(a[0]) })},
		"escapeXml":            {1, 1, ofTexts(noVariable, func(a []string) string { return escapeXML.Replace(a[0]) })},
		"unescape":             {1, 1, ofTexts(noVariable, func(a []string) string { return unescapeJava(a[0]) })},
		"char":                 {1, anyNumber, ofTexts(noVariable, charsOf)},
		"digest":               {2, 5, (*reader).digest},
		"MD5":                  {1, anyNumber, ofTexts(1, func(a []string) string { return digestOf("MD5", a[0]) })},
		"base64Encode":         {1, anyNumber, ofTexts(1, func(a []string) string { return base64.StdEncoding.EncodeToString([]byte(a[0])) })},
		"base64Decode":         {1, anyNumber, ofTexts(1, base64Plain)},
		"strLen":               {1, anyNumber, ofTexts(1, func(a []string) string { return strconv.Itoa(len([]rune(a[0]))) })},
		"substring":            {3, anyNumber, ofTexts(3, substring)},
		"strReplace":           {3, anyNumber, ofTexts(3, func(a []string) string { return strings.ReplaceAll(a[0], a[1], a[2]) })},
		"if":                   {4, anyNumber, ofTexts(4, chosen)},
		"machineName":          {0, 1, ofTexts(0, func([]string) string { return "localhost" })},
		"machineIP":            {0, 1, ofTexts(0, func([]string) string { return "127.0.0.1" })},
		"escapeOroRegexpChars": {1, 2, ofTexts(1, func(a []string) string { return regexp.QuoteMeta(a[0]) })},
	}
}

// ofPlugins are the functions that JMeter has by a plugin alone.
var ofPlugins = map[string]bool{
	"MD5": true, "base64Encode": true, "base64Decode": true, "strLen": true, "substring": true, "strReplace": true, "if": true, "env": true, "uppercase": true,
	"lowercase": true, "chooseRandom": true, "isDefined": true,
}

// computed is an expression whose text is computed for each use.
func computed(of func(*expr.Scope) string) expr.Expression {
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value { return expr.TextValue(of(s)) }}
}

func fixedText(text string) expr.Expression {
	v := expr.TextValue(text)
	return expr.Expression{Fixed: &v}
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
		panic(n.Errorf(whittle.Unsupported, "the function __%s is not supported: docs/load-jmeter.md lists those that are", c.name))
	case len(c.args) < f.least || len(c.args) > f.most:
		panic(c.at.Invalid("${__%s}: it has %d arguments, and JMeter starts no test with such a call: __%s takes %s", c.raw, len(c.args), c.name, f.takes()))
	case ofPlugins[c.name]:
		j.note(fmt.Sprintf("line %d: __%s is of a plugin: JMeter without it leaves ${__%s} as it is written", c.at.Line, c.name, c.raw))
	}
	return f.compile(j, c)
}

// functionVariables finds the variables that calls of functions fill.
var functionVariables = regexp.MustCompile(`\$\{__(?:(?:Random|RandomString|RandomDate|time|timeShift|dateTimeConvert|counter|intSum|longSum|jexl2|jexl3|groovy|javaScript|changeCase|digest|FileToString|StringFromFile|chooseRandom|MD5|base64Encode|base64Decode)\([^(){}]*,|(?:samplerName|machineName|machineIP)\()\s*([A-Za-z_]\w*)\s*\)\}`)

// splitVariables finds the variables that calls of __split fill, and those of
// __property.
var splitVariables = regexp.MustCompile(`__(split|property)\((?:[^(){}]|\$\{[^{}]*\})*?,\s*([A-Za-z_]\w*)\s*[,)]`)

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

func (j *reader) propertyOr(c *functionCall, other expr.Template, variable string) expr.Expression {
	name, ok := c.args[0].Constant()
	text, fixed := other.Constant()
	if name = strings.TrimSpace(name); ok && fixed && variable == "" && (!j.setsProperties || j.atStart) {
		if v, ok := j.Source.Properties[name]; ok {
			return fixedText(v)
		}
		return fixedText(strings.TrimSpace(text))
	}
	return j.storedAs(variable, func(s *expr.Scope) string {
		if text, ok := j.propertyValue(s, strings.TrimSpace(c.first(s))); ok {
			return text
		}
		return strings.TrimSpace(other.Text(s))
	})
}

func (j *reader) randomNumber(c *functionCall) expr.Expression {
	low, high := c.args[0], c.args[1]
	a, fixedLow := low.Constant()
	b, fixedHigh := high.Constant()
	if fixedLow && fixedHigh {
		if _, _, err := expr.WholeRange([]string{strings.TrimSpace(a), strings.TrimSpace(b)}); err != nil {
			panic(c.at.Invalid("${__%s}: %v", c.raw, err))
		}
	}
	return expr.Expression{Eval: j.storeResult(c.fixed(2, ""), func(s *expr.Scope) expr.Value {
		a, b := renderInt(low, s), renderInt(high, s)
		return expr.NumberValue(a + s.RNG.Int64N(max(b-a, 0)+1))
	})}
}

// renderInt renders a whole number within what JSON holds exactly; what is none
// counts as 0.
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
	return j.stored(c, 2, func(s *expr.Scope) string { return expr.RandomString(s.RNG, from, size) })
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
			panic(c.at.Errorf(whittle.Unsupported, "${__%s}: the date format %q is not supported", c.raw, format))
		}
	}
	return j.stored(c, 1, func(s *expr.Scope) string { return shape(clock(s)) })
}

func uuid(*reader, *functionCall) expr.Expression {
	return computed(func(s *expr.Scope) string { return expr.UUID(s.RNG) })
}

func threadNumber(*reader, *functionCall) expr.Expression {
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value { return expr.NumberValue(int64(s.User.Number()) + 1) }}
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
	return j.foldable(terms, name, func(s *expr.Scope) expr.Value {
		var sum int64
		for _, t := range terms {
			sum += renderInt(t, s)
		}
		return expr.NumberValue(sum)
	})
}

// stored is an expression whose text is put into the variable that an argument
// names, if there is one.
func (j *reader) stored(c *functionCall, argument int, of func(*expr.Scope) string) expr.Expression {
	return j.storedAs(c.fixed(argument, ""), of)
}

// storedAs is an expression whose text is put into a variable; empty: into none.
func (j *reader) storedAs(name string, of func(*expr.Scope) string) expr.Expression {
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

// jexl compiles an expression of JEXL. JMeter writes references into its text before it is
// read, and so does this: one that JEXL cannot read then comes to nothing.
func (j *reader) jexl(c *functionCall) expr.Expression {
	written := argumentBackslash.ReplaceAllString(c.written()[0], "$1")
	e := &jexlTexts{reader: j, old: c.name == "jexl2", source: j.compile(c.at, written, expr.AsText)}
	text, fixed := e.source.Constant()
	if !fixed {
		text = j.standIn(written, false)
	}
	known, err := jexl.Parse(text, e.old)
	var not *jexl.Unsupported
	switch {
	case errors.As(err, &not):
		panic(c.at.Errorf(whittle.Unsupported, "${__%s}: an expression with %s is not supported", c.raw, not.What))
	case err != nil && fixed:
		j.note(fmt.Sprintf("line %d: ${__%s} comes to nothing, as in JMeter: JEXL cannot read it", c.at.Line, c.raw))
	case err == nil && len(known.Unknown) > 0:
		j.note(fmt.Sprintf("line %d: ${__%s} comes to nothing where it asks for %s, as in JMeter: JEXL knows no variable of that name", c.at.Line, c.raw, known.Unknown[0]))
	}
	name := c.fixed(1, "")
	if fixed && name == "" && !strings.Contains(text, "vars") {
		return fixedText(e.eval(&expr.Scope{}).Text)
	}
	return expr.Expression{Eval: j.storeResult(name, e.eval)}
}

// argumentBackslash finds a backslash that JMeter takes away from a function's argument.
var argumentBackslash = regexp.MustCompile(`\\([\\,])`)

// jexlTexts is an expression with the texts that it came to.
type jexlTexts struct {
	*reader
	old    bool
	source expr.Template
	read   byText[*jexl.Expression] // nil: it cannot be read
}

func (e *jexlTexts) eval(s *expr.Scope) expr.Value {
	x := e.read.of(e.source.Text(s), func(text string) *jexl.Expression {
		x, _ := jexl.Parse(text, e.old) // what cannot be read is nil
		return x
	})
	if x == nil {
		return expr.TextValue("")
	}
	out, _ := x.Eval(func(name string) (string, bool) { return e.value(s, name) })
	return expr.TextValue(out[:min(len(out), expr.MaxCaptured)])
}
