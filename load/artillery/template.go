package artillery

import (
	"fmt"
	"strconv"
	"strings"

	"whittle"

	"whittle/load/expr"
)

// compileTemplate reads text with {{ expressions }}.
func (r *reader) compileTemplate(n *node, text string, enc expr.Encoding) expr.Template {
	if enc == expr.AsJSON {
		if inner, ok := soleExpression(text); ok {
			return expr.Template(nil).Expression(r.expression(n, inner), expr.AsJSON)
		}
		return expr.Template(nil).Literal(`"`).Join(r.compileTemplate(n, text, expr.InString)).Literal(`"`)
	}
	var t expr.Template
	for {
		open := strings.Index(text, "{{")
		if open < 0 {
			return t.Literal(enc.EncodeLiteral(text))
		}
		end := strings.Index(text[open:], "}}")
		if end < 0 {
			panic(n.Invalid("{{ without }}"))
		}
		begin, after := open+2, open+end+2
		// {{{ name }}} is the same.
		if strings.HasPrefix(text[begin:], "{") && strings.HasPrefix(text[after:], "}") {
			begin, after = begin+1, after+1
		}
		x := r.expression(n, text[begin:open+end])
		t = t.Literal(enc.EncodeLiteral(text[:open])).Expression(x, enc)
		text = text[after:]
	}
}

// soleExpression reports a text that is one expression and nothing else.
func soleExpression(s string) (inner string, ok bool) {
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

// expression compiles what stands between the braces.
func (r *reader) expression(n *node, src string) expr.Expression {
	src = strings.TrimSpace(src)
	if !strings.HasPrefix(src, "$") || r.IsDefined(src) || src == loopCountName || src == loopElementName || strings.HasPrefix(src, loopElementName+".") || strings.HasPrefix(src, loopElementName+"[") {
		return expr.Expression{Eval: r.known(n, src)}
	}
	name, args, err := call(src)
	if err != nil {
		panic(n.Invalid("{{ %s }}: %v", src, err))
	}
	if fixed, ok := r.fixedWord(name); ok && args == nil {
		return expr.Expression{Fixed: &fixed}
	}
	return expr.Expression{Eval: r.builtin(n, src, name, args)}
}

const builtinNames = "$randomNumber(a, b), $randomString(n), $uuid, $env.NAME, $environment, $testId, $loopCount, $loopElement"

// fixedWord returns the words that mean the same for every request of a run.
func (r *reader) fixedWord(name string) (expr.Value, bool) {
	for _, env := range []string{"$env.", "$processEnvironment."} {
		if v, ok := strings.CutPrefix(name, env); ok && expr.IsName(v) {
			return expr.TextValue(r.Source.Env(v)), true
		}
	}
	switch name {
	case "$environment":
		return expr.TextValue(r.Source.Environment), true
	case "$testId":
		return expr.TextValue(r.testID), true
	}
	return expr.Value{}, false
}

func (r *reader) builtin(n *node, src, name string, args []string) func(*expr.Scope) expr.Value {
	switch name {
	case "$randomNumber":
		low, high, err := expr.WholeRange(args)
		if err != nil {
			panic(n.Invalid("{{ %s }}: %v", src, err))
		}
		return func(s *expr.Scope) expr.Value { return expr.NumberValue(low + s.RNG.Int64N(high-low+1)) }
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
	case "$uuid":
		return func(s *expr.Scope) expr.Value { return expr.TextValue(expr.UUID(s.RNG)) }
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
	if !expr.IsName(strings.TrimPrefix(name, "$")) || strings.ContainsAny(rest, "(){}|&+*/ <>=!") {
		return nil, n.Invalid("{{ %s }} is not supported: an expression is a variable's name, a path into it, or one of %s", src, builtinNames)
	}
	slot := r.Use(name, n.Position)
	if rest == "" {
		return func(s *expr.Scope) expr.Value { return s.Values[slot] }, nil
	}
	path := expr.SplitPath(rest)
	return func(s *expr.Scope) expr.Value {
		v := s.Values[slot]
		if v.Doc == nil {
			return expr.Value{}
		}
		if d := v.Doc.Walk(path); d != nil {
			return d.Value()
		}
		return expr.Value{}
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

// condition reads an expression over variables. A name that is none of the
// plan's would be a function of its processor.
func (r *reader) condition(n *node, what string) expr.Condition {
	if n.kind != expr.KindString && n.kind != expr.KindBool && n.kind != expr.KindNumber {
		panic(n.Invalid("%s is an expression, not %s", what, n.kind))
	}
	text := n.text
	if inner, ok := soleExpression(text); ok {
		text = inner
	}
	c, err := expr.CompileCondition(text, func(name string) (func(*expr.Evaluation) expr.Datum, error) {
		v, err := r.variable(n, name)
		return func(e *expr.Evaluation) expr.Datum { return expr.DatumOf(v(e.Scope)) }, err
	})
	if err != nil {
		panic(n.Invalid("%s: %q: %v", what, n.text, err))
	}
	return c
}
