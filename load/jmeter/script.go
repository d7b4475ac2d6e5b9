package jmeter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/load/script"
	"whittle/load/snippet"
)

// isScript reports whether an element is a script.
func isScript(name string) bool {
	for _, kind := range []string{"JSR223", "BeanShell"} {
		if strings.HasPrefix(name, kind) && !strings.HasSuffix(name, "Listener") {
			return true
		}
	}
	return false
}

// javascript stands for the language that runs as it is.
const javascript snippet.Dialect = -1

var languages = map[string]snippet.Dialect{
	"javascript": javascript, "js": javascript, "ecmascript": javascript, "rhino": javascript, "nashorn": javascript, "graal.js": javascript,
	"": snippet.Groovy, "groovy": snippet.Groovy, "beanshell": snippet.BeanShell, "bsh": snippet.BeanShell, "java": snippet.BeanShell,
	"jexl3": snippet.JEXL, "jexl2": snippet.JEXL2,
}

// A program is a script of the plan: JavaScript as it is, or what load/snippet rewrites. JMeter
// writes references into a script's text before it reads it, and so does this: a text that
// varies is compiled for each text that it comes to.
type program struct {
	*reader
	title    string
	at       plan.Position // where its text begins
	language snippet.Dialect
	// source is the text with its references.
	source expr.Template
	// first says that the text which a user's first run has is that of all its runs, as
	// JMeter's cache has it.
	first      bool
	parameters expr.Template
	label      string
	where      placement

	texts  byText[compiled]
	failed atomic.Int64 // runs
}

// compiled is what a script's text comes to, or why it cannot be.
type compiled struct {
	program *script.Program
	unknown []string // words of an expression of JEXL that are no variables
	err     error
}

// placement is where a script stands.
type placement struct {
	// sampler is the name of the sampler that it stands at; nil: it is one itself, or none
	// is known.
	sampler func(*expr.Scope) string
	// binds are the variables that JMeter binds there. Nil: all.
	binds map[string]bool
}

func (s placement) bound(name string) bool { return s.binds == nil || s.binds[name] }

// placement is where an element's script stands: at a sampler of that name.
func (e *element) placement(name func(*expr.Scope) string) placement {
	return placement{sampler: name, binds: bindings(e.name)}
}

// program compiles an element's script, or refuses it with its line.
func (j *reader) program(e *element, where placement) *program {
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
	name := strings.ToLower(j.fixed(e.tag, "scriptLanguage"))
	if strings.HasPrefix(e.name, "BeanShell") {
		name = "beanshell"
	}
	var p *program
	if property, file := first("filename", "BeanShellSampler.filename", "BeanShellAssertion.filename"); strings.TrimSpace(file.text) != "" {
		path := j.fixed(e.tag, property)
		src := j.OpenFile(file.at, path)
		p = j.compileScript(plan.Position{File: path, Line: 1, Col: 1}, e.title(), name, expr.Template(nil).Literal(string(src)), string(src), where)
	} else {
		p = j.compileScript(source.at, e.title(), name, j.compile(source.at, source.text, expr.AsText), source.text, where)
	}
	_, parameters := first("parameters", "BeanShellSampler.parameters", "BeanShellAssertion.parameters")
	p.parameters = j.compile(parameters.at, parameters.text, expr.AsText)
	p.label = e.label
	p.first = p.language != snippet.BeanShell && j.fixed(e.tag, "cacheKey") != "false"
	if strings.Contains(source.text, "${__setProperty(") {
		panic(source.at.Errorf(whittle.Unsupported, "%s is not supported: its text sets a property before it runs; set it by props.put in the script", e.title()))
	}
	return p
}

// compileScript compiles a script of a language, as far as its text is known before the
// run: a reference stands for a number then.
func (j *reader) compileScript(at plan.Position, title, name string, source expr.Template, written string, where placement) *program {
	language, ok := languages[name]
	if !ok {
		panic(at.Errorf(whittle.Unsupported, "%s is not supported: it is a script of the language %s", title, name))
	}
	j.counts()
	p := &program{reader: j, title: title, at: at, language: language, source: source, where: where}
	j.engine()
	text, fixed := source.Constant()
	if !fixed {
		text = j.standIn(written, p.language == snippet.Groovy)
	}
	err := p.texts.of(text, p.compile).err
	if err != nil && !fixed {
		// What could be the script's own in a text of Groovy may be a variable of JMeter's.
		if p.texts.of(j.standIn(written, false), p.compile).err == nil {
			return p
		}
	}
	if err == nil {
		return p
	}
	refused, ok := errors.AsType[*snippet.Refused](err)
	switch {
	case !ok:
		panic(at.Errorf(whittle.Unsupported, "%s is not supported: it is a script of which not all is: %v", title, err))
	case !refused.Broken:
		if refused.Line > 1 {
			at.Line, at.Col = at.Line+refused.Line-1, 1
		}
		panic(at.Errorf(whittle.Unsupported, "%s is not supported: it is a script of which not all is: %s; a script in JavaScript runs as it is", title, refused.What))
	}
	return p
}

// counts makes the plan count failures of scripts and functions.
func (j *reader) counts() {
	if j.Plan.Console == nil {
		j.Plan.Console, j.Plan.Failures = &plan.Console{}, &report.ScriptFailures{}
	}
}

// standIn is a script's text with 1 in place of each reference.
func (j *reader) standIn(text string, groovy bool) string {
	return replaced(text, len(text), func(inner, reference string) string {
		_, constant := j.constants[inner]
		if groovy && !constant && !j.named(inner) && !strings.HasPrefix(inner, "__") {
			return reference // the script's own
		}
		return "1"
	})
}

// compile compiles a text.
func (p *program) compile(text string) (c compiled) {
	var js string
	switch {
	case p.language == javascript:
		if c.program, c.err = script.Compile(p.title, text); c.err == nil {
			if line, what := lacking(text, p.where.bound); what != "" {
				c.err = &snippet.Refused{Line: line, What: what}
			}
		}
		return c
	case p.language >= snippet.JEXL:
		js, c.unknown, c.err = snippet.Expression(text, p.language)
	default:
		js, c.err = snippet.Rewrite(text, p.language, p.where.bound)
	}
	if c.err == nil {
		c.program, c.err = script.Compile(p.title, js+"($given)")
	}
	return c
}

// lacking says what a script in JavaScript asks of an object that has no such method, and
// in which line; empty: nothing.
func lacking(text string, bound func(string) bool) (line int, what string) {
	object, m := script.Missing(text, func(name string) string {
		if !bound(name) {
			return ""
		}
		return snippet.Object(name)
	}, snippet.Method)
	if object == "" {
		return 0, ""
	}
	return m.Line, m.Name + " of " + object
}

// textKey is where the text is that a user's first run had.
type textKey struct{ of *program }

// byText keeps what texts come to, of the first maxTexts that have no more than maxKept bytes
// together. Nobody waits while another user's text is compiled.
type byText[T any] struct {
	mu sync.Mutex
	// The following is guarded by mu.
	known map[string]T
	bytes int // of the texts
}

const (
	maxTexts = 1000
	maxKept  = 64 << 20
)

// of gives what a text comes to.
func (b *byText[T]) of(text string, compile func(string) T) T {
	b.mu.Lock()
	v, ok := b.known[text]
	b.mu.Unlock()
	if ok {
		return v
	}
	v = compile(text)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = map[string]T{}
	}
	if _, ok = b.known[text]; !ok && len(b.known) < maxTexts && b.bytes+len(text) <= maxKept {
		b.known[text] = v
		b.bytes += len(text)
	}
	return v
}

// of gives the program for what a user's text comes to.
func (p *program) of(s *expr.Scope) compiled {
	if !p.first || s.User == nil {
		return p.texts.of(p.source.Text(s), p.compile)
	}
	kept := userState[string](s.User, textKey{p})
	if *kept == "" {
		*kept = p.source.Text(s)
	}
	return p.texts.of(*kept, p.compile)
}

// library is what rewritten scripts call. Its name keeps it out of the places that errors have.
var library = sync.OnceValue(func() *script.Program {
	p, err := script.Compile(script.BuiltinPrefix+"snippet", snippet.Library)
	if err != nil {
		panic(err)
	}
	return p
})

// engine is the one that all scripts of the plan share, made when the first is read.
func (j *reader) engine() *script.Runtime {
	if j.runtimeOf == nil {
		j.runtimeOf = script.New(script.Options{Console: j.Plan.Console.Print})
		j.Plan.Rest = j.runtimeOf.Rest
	}
	return j.runtimeOf
}

// maxSaid bounds how often one script's failure is printed.
const maxSaid = 3

// run runs the script for a user. A failure is counted for the report, printed the first
// maxSaid times, and returned.
func (p *program) run(s *expr.Scope, l *scriptRun) (any, error) {
	v, err := p.runQuietly(s, l)
	if err != nil {
		p.fails(err)
	}
	return v, err
}

// scriptPlace finds the place that an error of the engine begins with.
var scriptPlace = regexp.MustCompile(`^:(\d+):\d+`)

// fails counts a failure and prints the first.
func (p *program) fails(err error) {
	line := 0
	if m := scriptPlace.FindStringSubmatch(strings.TrimPrefix(err.Error(), p.title)); m != nil {
		line, _ = strconv.Atoi(m[1])
	} else if refused, ok := errors.AsType[*snippet.Refused](err); ok {
		line = refused.Line
	}
	f := report.ScriptFailure{Element: p.title, File: p.at.File, Line: p.at.Line, Count: 1, Sample: err.Error()}
	if line > 0 {
		f.Line += line - 1
	}
	p.Plan.Failures.Add(f)
	if p.failed.Add(1) <= maxSaid {
		p.Plan.Console.Print(fmt.Sprintf("%s: %s: %v", p.Plan.Name, p.title, err))
	}
}

func (p *program) runQuietly(s *expr.Scope, l *scriptRun) (any, error) {
	c := p.of(s)
	if c.err != nil {
		return nil, c.err
	}
	r, given := p.engine(), p.given(s, l)
	if p.language == javascript {
		given["println"], given["print"] = p.say, p.say
		return r.Run(context.Background(), c.program, given)
	}
	if _, err := r.Run(context.Background(), library(), nil); err != nil {
		return nil, err
	}
	v, err := r.Run(context.Background(), c.program, map[string]any{"$given": given, "$host": p.host(s, l)})
	if p.language == snippet.BeanShell && err == nil {
		l.failure = l.failure || given["Failure"] == true
		if l.sample != nil {
			l.sample.code, l.sample.message, l.sample.ok = fmt.Sprint(given["ResponseCode"]), fmt.Sprint(given["ResponseMessage"]), given["IsSuccess"] == true
		}
	}
	return v, err
}

// nameOf gives the name of the sampler that makes a request.
func (j *reader) nameOf(q *plan.Request) func(*expr.Scope) string {
	return func(s *expr.Scope) string { return j.labels[q].Text(s) }
}

// scriptAction is a script before a sampler. The flow goes on where it fails, as in JMeter.
func (j *reader) scriptAction(e, sampler *element) plan.Action {
	name := j.compile(sampler.at, sampler.label, expr.AsText)
	p := j.program(e, e.placement(func(s *expr.Scope) string { return name.Text(s) }))
	return &action{act: func(ctx context.Context, u plan.User) bool {
		l := &scriptRun{previous: lastOf(u)}
		_, _ = p.run(u.Scope(), l)
		if q := j.sends[sampler]; l.loop && q != nil {
			// JMeter looks at that behind the sample.
			(&scriptRun{loop: true}).leave(u, q)
			l.loop = false
		}
		return l.obey(ctx, u)
	}}
}

// scriptAfter is a script after a sampler, which may judge its response; one that fails
// judges it as failed. It runs whatever other assertions say, as in JMeter.
func (j *reader) scriptAfter(e *element, q *plan.Request, judges bool) {
	p := j.program(e, e.placement(j.nameOf(q)))
	onResponse(q, true, func(a *expr.Response) {
		l := &scriptRun{response: a, judges: judges}
		if _, err := p.run(a.Scope, l); judges && (err != nil || l.failure) {
			a.Verdict, a.Why = expr.Failed, cmp.Or(a.Why, p.title)
		}
		l.leave(a.Scope.User, q)
	})
}

// scriptCall is __groovy, __BeanShell or __javaScript: an expression.
func (j *reader) scriptCall(c *functionCall) expr.Expression {
	args, name := c.written(), ""
	if len(args) > 1 {
		name = strings.TrimSpace(args[len(args)-1])
	}
	text := args[0]
	if !strings.Contains(text, "${") {
		text = argumentEscape.ReplaceAllString(text, "$1") // as c.args has it
	}
	p := j.compileScript(c.at, "__"+c.name, strings.ToLower(c.name), c.args[0], text, placement{binds: bindings("__" + c.name)})
	return expr.Expression{Eval: j.storeResult(name, func(s *expr.Scope) expr.Value {
		v, err := p.run(s, &scriptRun{previous: lastOf(s.User)})
		if err != nil || v == nil {
			return expr.TextValue("")
		}
		return expr.TextValue(script.Text(v))
	})}
}

// argumentEscape finds a backslash that JMeter takes away from an argument without references.
var argumentEscape = regexp.MustCompile(`\\([\\,$])`)

// jexl compiles an expression of JEXL. JMeter writes references into its text before it is
// read, and so does this: one that JEXL cannot read then comes to nothing, and so does one
// that fails.
func (j *reader) jexl(c *functionCall) expr.Expression {
	written := argumentBackslash.ReplaceAllString(c.written()[0], "$1")
	source := j.compile(c.at, written, expr.AsText)
	p := j.compileScript(c.at, "${__"+c.raw+"}", c.name, source, written, placement{})
	text, fixed := source.Constant()
	if !fixed {
		text = j.standIn(written, false)
	}
	known := p.texts.of(text, p.compile)
	if known.err != nil && fixed {
		j.note(fmt.Sprintf("line %d: ${__%s} comes to nothing, as in JMeter: JEXL cannot read it", c.at.Line, c.raw))
	} else if len(known.unknown) > 0 {
		j.note(fmt.Sprintf("line %d: ${__%s} comes to nothing where it asks for %s, as in JMeter: JEXL knows no variable of that name", c.at.Line, c.raw, known.unknown[0]))
	}
	eval := func(s *expr.Scope) expr.Value {
		v, err := p.runQuietly(s, &scriptRun{})
		if refused, ok := errors.AsType[*snippet.Refused](err); ok && !refused.Broken || err != nil && whittle.CodeOf(err) == whittle.ResourceExhausted {
			p.fails(err)
		}
		if err != nil || v == nil {
			return expr.TextValue("")
		}
		out := script.Text(v)
		return expr.TextValue(out[:min(len(out), expr.MaxCaptured)])
	}
	name := c.fixed(1, "")
	if fixed && name == "" && !strings.Contains(text, "vars") {
		return fixedText(eval(&expr.Scope{}).Text)
	}
	return expr.Expression{Eval: j.storeResult(name, eval)}
}

// argumentBackslash finds a backslash that JMeter takes away from a function's argument.
var argumentBackslash = regexp.MustCompile(`\\([\\,])`)
