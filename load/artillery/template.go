package artillery

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// compileTemplate reads text with {{ expressions }}. As in Artillery, a variable that
// stands alone keeps its type in JSON; what a function makes is a text everywhere.
func (r *reader) compileTemplate(n *node, text string, enc expr.Encoding) expr.Template {
	name, sole := soleVariable(text)
	if enc == expr.AsJSON {
		if r.callsNothing(n, text) {
			return expr.Template(nil).Expression(expr.Expression{Fixed: &expr.Value{}}, expr.AsJSON)
		}
		if sole {
			return expr.Template(nil).Expression(r.expression(n, name), expr.AsJSON)
		}
		return expr.Template(nil).Literal(`"`).Join(r.compileTemplate(n, text, expr.InString)).Literal(`"`)
	}
	if sole && enc != expr.InTarget && enc != expr.InSearch {
		return expr.Template(nil).Expression(r.expression(n, name), enc)
	}
	var t expr.Template
	for {
		open := strings.Index(text, "{{")
		if open < 0 {
			return t.Literal(enc.EncodeLiteral(text))
		}
		end := strings.Index(text[open:], "}}")
		if end < 0 {
			if r.frozen {
				return t.Literal(enc.EncodeLiteral(text))
			}
			panic(n.Invalid("{{ without }}"))
		}
		begin, after := open+2, open+end+2
		// {{{ name }}} is the same.
		if strings.HasPrefix(text[begin:], "{") && strings.HasPrefix(text[after:], "}") {
			begin, after = begin+1, after+1
		}
		t = t.Literal(enc.EncodeLiteral(text[:open]))
		if inner := text[begin : open+end]; r.isExpression(n, inner) {
			t = t.Expression(r.again(r.expression(n, inner)), enc)
		} else {
			t = t.Literal(enc.EncodeLiteral(text[open:after]))
		}
		text = text[after:]
	}
}

// callsNothing reports whether a text calls a function that there is not. For Artillery all
// of it is then undefined.
func (r *reader) callsNothing(n *node, text string) bool {
	for _, m := range functionCall.FindAllStringSubmatch(text, -1) {
		name, _, err := call(m[1])
		if err == nil && !slices.Contains(functions, name) && !r.fakesData {
			r.note(n, "there is no function %s: what calls it is undefined, as by Artillery, all of %.100q", name, text)
			return true
		}
	}
	return false
}

// functions are those that every plan has.
var functions = []string{"$randomNumber", "$randomString"}

// isExpression reports whether a text between braces is in Artillery's language. Artillery
// sends another text as it is written, and the report says so.
func (r *reader) isExpression(n *node, inner string) bool {
	if n.File == flags || variablePattern.MatchString("{{"+inner+"}}") || callPattern.MatchString(inner) {
		return true
	}
	r.note(n, "{{%.100s}} is sent as it is written, as by Artillery, whose language it is not: that has names, paths, and %s", inner, builtinNames)
	return false
}

// callPattern is what Artillery takes for a call.
var callPattern = regexp.MustCompile(`^\s*\$[A-Za-z0-9_]+\s*\(\s*[A-Za-z0-9_,\s]*\s*\)\s*$`)

// again writes out the expressions that a value has in it, and reads $$ in it as
// JavaScript's replace does.
func (r *reader) again(x expr.Expression) expr.Expression {
	if x.Fixed != nil {
		return x
	}
	return expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		v := x.Eval(s)
		if !strings.ContainsAny(v.Text, "{$") {
			return v
		}
		return expr.Value{Text: r.rendered(s, v.Text), JSON: `""`}
	}}
}

// rendered is a text of a variable, written out.
func (r *reader) rendered(s *expr.Scope, text string) string {
	text = strings.ReplaceAll(text, "$$", "$")
	for range maxNested {
		m := variablePattern.FindStringIndex(text)
		if m == nil {
			return text
		}
		v := r.valueNow(s, strings.TrimSpace(strings.Trim(text[m[0]:m[1]], "{}")))
		if v.JSON == "" {
			v.Text = "undefined"
		}
		if len(text)+len(v.Text) > expr.MaxBody {
			return text
		}
		text = text[:m[0]] + v.Text + text[m[1]:]
	}
	return text
}

// valueNow is what a name leads to, of a text that was not in the plan.
func (r *reader) valueNow(s *expr.Scope, name string) expr.Value {
	if v, ok := r.fixedWord(name); ok {
		return v
	}
	path := expr.SplitPath(name)
	if len(path) == 0 {
		return expr.Value{}
	}
	v := r.variableNow(s, path[0])
	if len(path) == 1 {
		return v
	}
	return within(v, path[1:])
}

// within is what a path leads to from a value, as in JavaScript: of a text its characters
// and its length, and nothing of what else has no parts.
func within(v expr.Value, path []string) expr.Value {
	if v.Doc == nil {
		return character(v, path)
	}
	if d := v.Doc.Walk(path); d != nil {
		return d.Value()
	}
	return expr.Value{}
}

// character is what a path leads to from a text, which has no more than one step.
func character(v expr.Value, path []string) expr.Value {
	if !strings.HasPrefix(v.JSON, `"`) || len(path) == 0 {
		return expr.Value{}
	}
	units := utf16.Encode([]rune(v.Text))
	if path[0] == "length" && len(path) == 1 {
		return expr.NumberValue(int64(len(units)))
	}
	at, err := strconv.ParseUint(path[0], 10, 31)
	if err != nil || int(at) >= len(units) {
		return expr.Value{}
	}
	one := expr.TextValue(string(utf16.Decode(units[at : at+1])))
	if len(path) > 1 {
		return character(one, path[1:])
	}
	return one
}

// variableNow is a variable by its name: one of the plan's, or one that a script has set.
func (r *reader) variableNow(s *expr.Scope, name string) expr.Value {
	if slot, ok := r.Slot(name); ok {
		return s.Values[slot]
	}
	if u, ok := s.User.(plan.User); ok && r.processor != nil {
		if v, ok := r.processor.contextOf(u).extra[name]; ok {
			return v
		}
	}
	return r.wellKnown()[name]
}

// expressionValue is an expression's value.
func (r *reader) expressionValue(n *node, src string) func(*expr.Scope) expr.Value {
	x := r.expression(n, src)
	if x.Fixed != nil {
		return func(*expr.Scope) expr.Value { return *x.Fixed }
	}
	return x.Eval
}

// expression compiles what stands between the braces.
func (r *reader) expression(n *node, src string) expr.Expression {
	src = strings.TrimSpace(src)
	name, args, err := call(src)
	if err != nil {
		panic(n.Invalid("{{ %s }}: %v", src, err))
	}
	if strings.HasPrefix(src, "$") && args != nil {
		return expr.Expression{Eval: r.builtin(n, src, name, args)}
	}
	if fixed, ok := r.fixedWord(src); ok {
		return expr.Expression{Fixed: &fixed}
	}
	if src == "$uuid" {
		r.useUUID()
	}
	return expr.Expression{Eval: r.known(n, src)}
}

// useUUID gives each user its $uuid.
func (r *reader) useUUID() {
	if r.IsDefined("$uuid") || r.frozen {
		return
	}
	v := plan.Variable{Slot: r.Define("$uuid"), Choices: []expr.Value{{}}}
	v.Texts = []expr.Template{expr.Template(nil).Expression(expr.Expression{Eval: func(s *expr.Scope) expr.Value { return expr.TextValue(expr.UUID(s.RNG)) }}, expr.AsJSON)}
	r.Plan.Variables = append(r.Plan.Variables, v)
}

const builtinNames = "$randomNumber(a, b), $randomString(n), $uuid, $env.NAME, $environment, $testId, $loopCount, $loopElement"

// fixedWord returns the words that mean the same for every request of a run.
func (r *reader) fixedWord(name string) (expr.Value, bool) {
	for _, env := range []string{"$env.", "$processEnvironment."} {
		if v, ok := strings.CutPrefix(name, env); ok && expr.IsName(v) {
			if value := r.Source.Env(v); value != "" {
				return expr.TextValue(value), true
			}
			return expr.Value{}, true
		}
	}
	switch name {
	case "$environment":
		if r.Source.Environment == "" {
			return expr.Value{}, true
		}
		return expr.TextValue(r.Source.Environment), true
	case "target":
		return expr.TextValue(r.target()), !r.IsDefined("target")
	case "$testId":
		return expr.TextValue(r.testID), true
	}
	return expr.Value{}, false
}

func (r *reader) builtin(n *node, src, name string, args []string) func(*expr.Scope) expr.Value {
	switch name {
	case "$randomNumber":
		low, high, err := randomRange(args)
		if err != nil {
			panic(n.Invalid("{{ %s }}: %v", src, err))
		}
		return func(s *expr.Scope) expr.Value {
			v := expr.NumberValue(low + s.RNG.Int64N(high-low+1))
			v.JSON = `"` + v.JSON + `"` // a text, also where it stands alone
			return v
		}
	case "$randomString":
		size := int64(10)
		if len(args) > 0 {
			var err error
			if size, err = strconv.ParseInt(args[0], 10, 64); err != nil || size < 0 || size > 1<<16 || len(args) > 1 {
				panic(n.Invalid("{{ %s }}: takes one length from 0 to 65536", src))
			}
		}
		letters := []rune(expr.Letters)
		return func(s *expr.Scope) expr.Value { return expr.TextValue(expr.RandomString(s.RNG, letters, int(size))) }
	}
	panic(n.Invalid("{{ %s }} is not supported: known are %s", src, builtinNames))
}

// known is variable for a place that has nothing to add to its error.
func (r *reader) known(n *node, src string) func(*expr.Scope) expr.Value {
	v, err := r.variable(n, src)
	whittle.Check(err)
	return v
}

// variable compiles a name, or a path into what it holds: user.name, rows[0].
func (r *reader) variable(n *node, src string) (func(*expr.Scope) expr.Value, error) {
	name, rest := src, ""
	if i := strings.IndexAny(src, ".["); i >= 0 {
		name, rest = src[:i], src[i:]
	}
	if !isVariable(name) || strings.ContainsAny(rest, "(){}|&+*/ <>=!") {
		return nil, n.Invalid("{{ %s }} is not supported: an expression is a variable's name, a path into it, or one of %s", src, builtinNames)
	}
	if _, known := r.Slot(name); r.frozen && !known {
		return func(s *expr.Scope) expr.Value { return r.valueNow(s, src) }, nil
	}
	slot := r.Use(name, n.Position)
	if rest == "" {
		return func(s *expr.Scope) expr.Value { return s.Values[slot] }, nil
	}
	path := expr.SplitPath(rest)
	return func(s *expr.Scope) expr.Value { return within(s.Values[slot], path) }, nil
}

// isVariable reports whether a variable can have this name: with spaces in it, too.
func isVariable(name string) bool {
	return strings.TrimSpace(name) != "" && variablePattern.MatchString("{{"+name+"}}")
}

// randomRange reads the arguments of $randomNumber as lodash does: none are 0 and 1, one is
// the greatest, and the greater may come first.
func randomRange(args []string) (low, high int64, err error) {
	switch len(args) {
	case 0:
		return 0, 1, nil
	case 1:
		args = []string{"0", args[0]}
	case 2:
	default:
		return 0, 0, fmt.Errorf("takes two whole numbers")
	}
	a, err1 := strconv.ParseInt(args[0], 10, 64)
	b, err2 := strconv.ParseInt(args[1], 10, 64)
	low, high = min(a, b), max(a, b)
	if err1 != nil || err2 != nil || low < -expr.MaxRandom || high > expr.MaxRandom {
		return 0, 0, fmt.Errorf("takes two whole numbers, the lower one first, within ±2^53")
	}
	return low, high, nil
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

// condition reads an expression over variables, or the name of a function of the
// processor. As by Artillery, one that its language does not have holds always, and the
// report says so.
func (r *reader) condition(n *node, what string) expr.Condition {
	if n.kind != expr.KindString && n.kind != expr.KindBool && n.kind != expr.KindNumber {
		panic(n.Invalid("%s is an expression, not %s", what, n.kind))
	}
	text := n.text
	if r.processor != nil && expr.IsName(text) {
		if r.processor.module.Function(text) != nil {
			panic(n.Errorf(whittle.Unsupported, "%s: a function is not supported: have one before set a variable, and name that", what))
		}
	}
	if what == "ifTrue" && foreign.MatchString(quotedText.ReplaceAllString(text, "x")) {
		return r.alwaysHolds(n, text)
	}
	c, err := expr.CompileCondition(text, func(name string) (func(*expr.Evaluation) expr.Datum, error) {
		v, err := r.variable(n, name)
		return func(e *expr.Evaluation) expr.Datum { return expr.DatumOf(v(e.Scope)) }, err
	})
	switch {
	case err != nil && what == "ifTrue" && !rareLanguage.MatchString(quotedText.ReplaceAllString(text, "x")):
		return r.alwaysHolds(n, text)
	case err != nil:
		panic(n.Invalid("%s: %q: %v", what, n.text, err))
	}
	return c
}

// rareLanguage finds what Artillery's language has and is not supported: functions, a choice,
// powers.
var rareLanguage = regexp.MustCompile(`\w\s*\(|\?|\^|\bmod\b`)

func (r *reader) alwaysHolds(n *node, text string) expr.Condition {
	r.note(n, "the condition %.100q holds always, as by Artillery, whose language it is not: that has and, or, not and ==", text)
	return func(*expr.Evaluation) expr.Datum { return expr.BoolDatum(true) }
}

var (
	quotedText = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	// foreign finds operators of JavaScript that filtrex does not have.
	foreign = regexp.MustCompile(`&&|\|\||===|!==|{{|!([^=]|$)`)
)
