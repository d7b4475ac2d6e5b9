package jmeter

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/script"
)

// isScript reports whether an element is a script.
func isScript(name string) bool {
	for _, kind := range []string{"JSR223", "BeanShell", "BSF"} {
		if strings.HasPrefix(name, kind) && !strings.HasSuffix(name, "Listener") {
			return true
		}
	}
	return false
}

// A program is a script of the plan: JavaScript as it is, or the everyday part of Groovy
// and BeanShell as JavaScript.
type program struct {
	*reader
	compiled *script.Program
	// texts are the ${references} within it, which JMeter writes into its text.
	texts      []expr.Template
	parameters expr.Template
	label      string
}

// program compiles an element's script, or refuses it with its line.
func (j *reader) program(e *element) *program {
	j.refuseOthers(e, "cacheKey", "filename", "parameters", "script", "scriptLanguage", "resetInterpreter", "BeanShellSampler.query",
		"BeanShellSampler.filename", "BeanShellSampler.parameters", "BeanShellSampler.resetInterpreter", "BeanShellAssertion.query",
		"BeanShellAssertion.filename", "BeanShellAssertion.parameters", "BeanShellAssertion.resetInterpreter", "Assertion.scope")
	first := func(names ...string) (string, *tag) {
		for _, name := range names {
			if p := e.prop(name); p != nil && strings.TrimSpace(p.text) != "" {
				return name, p
			}
		}
		return names[0], &tag{at: e.at}
	}
	_, source := first("script", "BeanShellSampler.query", "BeanShellAssertion.query")
	text, at := source.text, source.at
	if name, file := first("filename", "BeanShellSampler.filename", "BeanShellAssertion.filename"); strings.TrimSpace(file.text) != "" {
		if j.Source.Open == nil {
			panic(file.at.Errorf(whittle.NotFound, "%s cannot be opened: the plan is not a file", file.text))
		}
		src, err := j.Source.Open(j.fixed(e.tag, name))
		if err != nil {
			panic(file.at.Errorf(whittle.CodeOf(err), "%v", err))
		}
		text, at = string(src), file.at
	}
	language := strings.ToLower(j.fixed(e.tag, "scriptLanguage"))
	if strings.HasPrefix(e.name, "BeanShell") {
		language = "beanshell"
	}
	_, parameters := first("parameters", "BeanShellSampler.parameters", "BeanShellAssertion.parameters")
	p := j.compileScript(at, e.title(), language, text)
	p.parameters = j.compile(parameters.at, parameters.text, expr.AsText)
	p.label = e.label
	return p
}

// compileScript compiles a script of a language.
func (j *reader) compileScript(at plan.Position, title, language, text string) *program {
	p := &program{reader: j}
	refused := func(line int, why string) {
		here := at
		if line > 1 {
			here.Line, here.Col = at.Line+line-1, 1
		}
		panic(here.Errorf(whittle.Unsupported, "%s is not supported: it is a script of which not all is: %s", title, why))
	}
	reference := func(inner string) int {
		p.texts = append(p.texts, j.compile(at, "${"+inner+"}", expr.AsText))
		return len(p.texts) - 1
	}
	var out string
	var why string
	var line int
	switch language {
	case "javascript", "js", "ecmascript", "rhino", "nashorn", "graal.js":
		out, line, why = translate(text, javascript, reference)
	case "", "groovy":
		out, line, why = translate(text, groovy, reference)
	case "beanshell", "bsh", "java":
		out, line, why = translate(text, beanshell, reference)
	default:
		refused(1, "the language "+language)
	}
	if why != "" {
		refused(line, why)
	}
	compiled, err := script.Compile(title, out)
	if err != nil {
		refused(1, err.Error())
	}
	p.compiled = compiled
	j.engine()
	return p
}

// engine is the one that all scripts of the plan share, made when the first is read.
func (j *reader) engine() *script.Runtime {
	if j.runtimeOf == nil {
		j.runtimeOf = script.New(script.Options{})
		j.Plan.Rest = j.runtimeOf.Rest
	}
	return j.runtimeOf
}

// run runs the script for a user. a is nil where there is no response; more are further
// globals.
func (p *program) run(s *expr.Scope, a *expr.Response, more map[string]any) (any, error) {
	globals := p.globals(s, a)
	for name, v := range more {
		globals[name] = v
	}
	return p.engine().Run(context.Background(), p.compiled, globals)
}

func optional(text string, ok bool) any {
	if !ok {
		return nil
	}
	return text
}

// globals are what JMeter binds: vars, props, log, ctx, prev and the like.
func (p *program) globals(s *expr.Scope, a *expr.Response) map[string]any {
	quiet := func(...any) {}
	vars := map[string]any{
		"get":         func(name string) any { text, ok := p.value(s, name); return optional(text, ok) },
		"put":         func(name string, value any) { p.assign(s, name, fmt.Sprint(value)) },
		"remove":      func(name string) { p.remove(s, name) },
		"containsKey": func(name string) bool { _, ok := p.value(s, name); return ok },
	}
	vars["getObject"], vars["putObject"] = vars["get"], vars["put"]
	props := map[string]any{
		"get": func(name string) any { text, ok := p.propertyValue(s, name); return optional(text, ok) },
		"put": func(name string, value any) { p.setProperty(s, name, fmt.Sprint(value)) },
	}
	props["getProperty"], props["setProperty"] = props["get"], props["put"]
	number := 1
	if s.User != nil {
		number = s.User.Number() + 1
	}
	parameters := string(p.parameters.Render(nil, s))
	context := map[string]any{
		"getThreadNum": func() int { return number - 1 }, "getVariables": func() any { return vars }, "getProperties": func() any { return props },
	}
	globals := map[string]any{
		"vars": vars, "props": props, "ctx": context, "Label": p.label, "Parameters": parameters, "args": strings.Fields(parameters),
		"log": map[string]any{"info": quiet, "warn": quiet, "error": quiet, "debug": quiet, "trace": quiet},
		"OUT": map[string]any{"println": quiet, "print": quiet}, "println": quiet, "print": quiet,
		"whittleText":  func(i int) string { return string(p.texts[i].Render(nil, s)) },
		"whittleValue": func(i int) any { return looseValue(string(p.texts[i].Render(nil, s))) },
		"whittleUUID":  func() string { return expr.UUID(s.RNG) },
		"whittleNow":   func() int64 { return clock(s).UnixMilli() },
		"whittleDate": func(pattern string, ms int64) any {
			write, ok := Dated(pattern)
			if !ok {
				return nil
			}
			return write(timeOf(ms))
		},
	}
	if a != nil {
		prev := previous(s, a)
		globals["prev"], globals["data"] = prev, prev["responseDataAsString"]
		context["getPreviousResult"] = func() any { return prev }
	}
	return globals
}

// looseValue is what a text is where it stands in a script: a number, a word, or a text.
func looseValue(text string) any {
	switch d := looseDatum(text); d.Kind {
	case expr.KindNumber:
		return d.Num
	case expr.KindBool:
		return strings.EqualFold(strings.TrimSpace(text), "true")
	default:
		return text
	}
}

// previous is a response as scripts see it: prev.
func previous(s *expr.Scope, a *expr.Response) map[string]any {
	text, _ := a.BodyText()
	code := fmt.Sprint(a.Status)
	prev := map[string]any{
		"responseDataAsString": text, "responseCode": code, "responseMessage": http.StatusText(a.Status), "time": a.Elapsed.Milliseconds(),
		"successful": a.Status < http.StatusBadRequest, "responseHeaders": headText(a), "uRL": a.URL, "urlAsString": a.URL,
	}
	for name, v := range prev {
		get := "get"
		if name == "successful" {
			get = "is"
		}
		prev[get+strings.ToUpper(name[:1])+name[1:]] = func() any { return v }
	}
	prev["getResponseData"] = prev["getResponseDataAsString"]
	prev["setIgnore"] = func() {}
	return prev
}

// scriptAction is a script that stands in the flow, or before a sampler. One that fails
// is told in the log, and the flow goes on, as in JMeter.
func (j *reader) scriptAction(e *element) plan.Action {
	p := j.program(e)
	return does(func(u plan.User) bool {
		_, _ = p.run(u.Scope(), nil, scriptSample)
		return true
	})
}

// scriptSample is the sample that a script of its own makes, of which nothing is kept.
var scriptSample = map[string]any{"SampleResult": map[string]any{
	"setResponseData": func(...any) {}, "setResponseMessage": func(...any) {}, "setResponseCode": func(...any) {}, "setResponseCodeOK": func() {},
	"setResponseOK": func() {}, "setDataType": func(...any) {}, "setSampleLabel": func(...any) {}, "setIgnore": func() {},
}}

// scriptCapture is a script after a sampler.
func (j *reader) scriptCapture(e *element, q *plan.Request) {
	p := j.program(e)
	takes(q, true, func(a *expr.Response) { _, _ = p.run(a.Scope, a, nil) })
}

// scriptAssertion is a script that judges a response; one that fails judges it as failed.
func (j *reader) scriptAssertion(e *element) plan.Expectation {
	p := j.program(e)
	return plan.Expectation{Body: true, Check: func(a *expr.Response) bool {
		failed := false
		_, err := p.run(a.Scope, a, map[string]any{
			"AssertionResult": map[string]any{
				"setFailure": func(v bool) { failed = v }, "setError": func(v bool) { failed = failed || v }, "setFailureMessage": func(...any) {},
			},
			"FailureMessage": "", "Failure": false,
		})
		return err == nil && !failed
	}}
}

// scriptCall is __groovy or __javaScript: an expression.
func (j *reader) scriptCall(c *functionCall) expr.Expression {
	open := strings.IndexByte(c.raw, '(')
	if open < 0 {
		panic(c.at.Invalid("${__%s}: takes an expression", c.raw))
	}
	args := splitArguments(c.raw[open+1 : strings.LastIndexByte(c.raw, ')')])
	name := ""
	if len(args) > 1 {
		name = strings.TrimSpace(args[len(args)-1])
	}
	language := "javascript"
	if c.name == "groovy" {
		language = "groovy"
	}
	p := j.compileScript(c.at, "__"+c.name, language, strings.ReplaceAll(args[0], `\,`, ","))
	return expr.Expression{Eval: j.storeResult(name, func(s *expr.Scope) expr.Value {
		v, err := p.run(s, nil, nil)
		if err != nil || v == nil {
			return expr.TextValue("")
		}
		return expr.TextValue(fmt.Sprint(v))
	})}
}
