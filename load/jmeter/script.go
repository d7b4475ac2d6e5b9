package jmeter

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"whittle"
	"whittle/load/expr"
	"whittle/load/java"
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

// language is one that scripts are written in.
type language int

const (
	javascript language = iota
	groovy
	beanshell
)

var languages = map[string]language{
	"javascript": javascript, "js": javascript, "ecmascript": javascript, "rhino": javascript, "nashorn": javascript, "graal.js": javascript,
	"": groovy, "groovy": groovy, "beanshell": beanshell, "bsh": beanshell, "java": beanshell,
}

// A program is a script of the plan: JavaScript as it is, or Groovy and BeanShell as
// JavaScript. JMeter writes references into a script's text before it reads it, and so
// does this: a text that varies is compiled for each text that it comes to.
type program struct {
	*reader
	title    string
	at       plan.Position // where its text begins
	language language
	// source is the text with its references.
	source expr.Template
	// first says that the text which a user's first run has is that of all its runs, as
	// JMeter's cache has it; keeps that its variables stay for the next run.
	first, keeps bool
	parameters   expr.Template
	label        string
	where        stands

	texts  byText[compiled]
	failed atomic.Int64 // runs
}

// compiled is what a script's text comes to, or why it cannot be.
type compiled struct {
	program *script.Program
	err     error
}

// stands is where a script stands.
type stands struct {
	// sampler is the name of the sampler that it stands at; nil: it is one itself, or none
	// is known.
	sampler func(*expr.Scope) string
	kind    java.Binding
	asks    *asked // of an HTTP sampler
	// binds are the variables that JMeter binds there. Nil: all.
	binds map[string]bool
}

// stands is where an element's script stands: at a sampler of that name, which asks that.
func (e *element) stands(name func(*expr.Scope) string, asks *asked) stands {
	s := stands{sampler: name, kind: java.OtherSampler, asks: asks, binds: bindings(e.name)}
	if asks != nil {
		s.kind = java.HTTPSampler
	}
	return s
}

// program compiles an element's script, or refuses it with its line.
func (j *reader) program(e *element, where stands) *program {
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
		src := j.openFile(file.at, path)
		p = j.compileScript(plan.Position{File: path, Line: 1, Col: 1}, e.title(), name, expr.Template(nil).Literal(string(src)), string(src), where)
	} else {
		p = j.compileScript(source.at, e.title(), name, j.compile(source.at, source.text, expr.AsText), source.text, where)
	}
	_, parameters := first("parameters", "BeanShellSampler.parameters", "BeanShellAssertion.parameters")
	p.parameters = j.compile(parameters.at, parameters.text, expr.AsText)
	p.label = e.label
	if e.value("script") != "" && setsProperty.MatchString(e.value("script")) {
		j.prepared = append(j.prepared, p.source)
	}
	p.first = p.language != beanshell && j.fixed(e.tag, "cacheKey") != "false"
	_, reset := first("resetInterpreter", "BeanShellSampler.resetInterpreter", "BeanShellAssertion.resetInterpreter")
	p.keeps = strings.HasPrefix(e.name, "BeanShell") && strings.TrimSpace(reset.text) != "true"
	return p
}

// compileScript compiles a script of a language, as far as its text is known before the
// run: a reference stands for a number then.
func (j *reader) compileScript(at plan.Position, title, name string, source expr.Template, written string, where stands) *program {
	if _, ok := languages[name]; !ok {
		panic(at.Errorf(whittle.Unsupported, "%s is not supported: it is a script of the language %s", title, name))
	}
	if name != "javascript" && changesSampler.MatchString(written) {
		panic(at.Errorf(whittle.Unsupported, "%s is not supported: it is a script that sets a property of a sampler", title))
	}
	if name != "javascript" && shiftsProperties.MatchString(written) {
		panic(at.Errorf(whittle.Unsupported, "%s is not supported: it is a script that sets properties by <<; props.put is done", title))
	}
	if name != "javascript" && seededRandom.MatchString(written) {
		j.note(fmt.Sprintf("line %d: %s: the numbers that it draws by a seed are others than Java's", at.Line, title))
	}
	p := j.scriptOf(at, title, name, source)
	p.where = where
	text, fixed := source.Constant()
	if !fixed {
		text = j.standIn(written, p.language == groovy)
	}
	err := p.texts.of(text, p.compile).err
	if unknown, ok := err.(*java.Unknown); ok { //nolint:errorlint // it is made here
		if unknown.Broken {
			if strings.Contains(unknown.What, "library") && changes.MatchString(written) {
				panic(at.Errorf(whittle.Unsupported, "%s is not supported: what it fills comes by %s", title, unknown.What))
			}
			j.Plan.Notes = append(j.Plan.Notes, fmt.Sprintf("%s fails each time, as in JMeter as it comes: line %d has %s", title, unknown.Line, unknown.What))
			return p
		}
		here := at
		if unknown.Line > 1 {
			here.Line, here.Col = at.Line+unknown.Line-1, 1
		}
		panic(here.Errorf(whittle.Unsupported, "%s is not supported: it is a script of which not all is: %s", title, unknown.What))
	}
	if err != nil {
		panic(at.Errorf(whittle.Unsupported, "%s is not supported: it is a script of which not all is: %v", title, err))
	}
	if p.language != javascript && writes.MatchString(text) {
		j.Plan.Notes = append(j.Plan.Notes, title+": what it writes to files is left out")
	}
	j.engine()
	return p
}

// scriptOf is a script that is compiled when it runs.
func (j *reader) scriptOf(at plan.Position, title, language string, source expr.Template) *program {
	if j.Plan.Console == nil {
		j.Plan.Console, j.Plan.Failures = &plan.Console{}, &script.Failures{}
	}
	return &program{reader: j, title: title, at: at, language: languages[language], source: source}
}

var (
	shiftsProperties = regexp.MustCompile(`\bprops\s*<<`)
	seededRandom     = regexp.MustCompile(`\bnew\s+(java\.util\.)?Random\(\s*\d`)
)

// setsProperty finds a call that sets a property when a text is evaluated.
var setsProperty = regexp.MustCompile(`\$\{__setProperty\(`)

// prepare evaluates texts once, when a user begins: JMeter evaluates those of JSR223 and
// BeanShell elements when a thread begins, so that the properties they set are set before
// the first script runs.
func prepare(texts []expr.Template) plan.Action {
	key := &texts
	return does(func(u plan.User) bool {
		if began := userState[bool](u, key); !*began {
			*began = true
			for _, t := range texts {
				t.Render(nil, u.Scope())
			}
		}
		return true
	})
}

// changesSampler finds how a script changes what its sampler sends.
var changesSampler = regexp.MustCompile(`\b(sampler|getCurrentSampler\(\)|currentSampler)\s*\.\s*setProperty\b`)

// changes finds how a script changes what is sent after it.
var changes = regexp.MustCompile(`\b(vars|props)\s*\.\s*(put|putObject|remove|setProperty)\b|\b(sampler|getCurrentSampler)\b`)

// writes finds how a script writes to files.
var writes = regexp.MustCompile(`\bnew\s+(File|Print|Buffered)(Writer|OutputStream|Stream)\b|\bnew File\b[^\n]*(<<|\.append|\.write|\.text\s*=)`)

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
	objects := java.ObjectsWith(p.where.kind)
	if p.language == javascript {
		if c.program, c.err = script.Compile(p.title, text); c.err == nil {
			if line, what := lacking(text, objects); what != "" {
				c.err = &java.Unknown{Line: line, What: what}
			}
		}
		return c
	}
	dialect := java.Groovy
	if p.language == beanshell {
		dialect = java.BeanShell
	}
	out, err := java.Translate(text, dialect, objects)
	if err != nil {
		return compiled{nil, err}
	}
	c.program, c.err = script.Compile(p.title, "(function(){var s=$j.begin(whittleGiven,whittleKept,"+strconv.FormatBool(p.language == groovy)+");whittleKeep(s);var v;try{v="+out+"(s)}catch(e){whittleAt($j.line);throw e}whittleEnd(s.Failure===true,s.ResponseCode,s.ResponseMessage,s.IsSuccess);return $j.result(v)})()")
	return c
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
func (p *program) of(s *expr.Scope) (*script.Program, error) {
	var text string
	if p.first && s.User != nil {
		kept := userState[string](s.User, textKey{p})
		if *kept == "" {
			*kept = p.source.Text(s)
		}
		text = *kept
	} else {
		text = p.source.Text(s)
	}
	c := p.texts.of(text, p.compile)
	return c.program, c.err
}

// library is what translated scripts call.
var library = sync.OnceValue(func() *script.Program {
	p, err := script.Compile("library", java.Library)
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
		if text := libraryPlace.ReplaceAllString(err.Error(), ""); text != err.Error() {
			err = whittle.Errorf(whittle.CodeOf(err), "%s", text)
		}
		said := p.failed.Add(1)
		p.Plan.Failures.Add(p.failure(l, err))
		if said <= maxSaid {
			p.Plan.Console.Print(fmt.Sprintf("%s: %s: %v", p.Plan.Name, p.title, err))
		}
	}
	return v, err
}

// failure is what the report says of a run that failed.
func (p *program) failure(l *scriptRun, err error) script.Failure {
	line := l.line
	if m := scriptPlace.FindStringSubmatch(strings.TrimPrefix(err.Error(), p.title)); p.language == javascript && m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	f := script.Failure{Element: p.title, File: p.at.File, Line: p.at.Line, Count: 1, Sample: err.Error()}
	if line > 0 {
		f.Line += line - 1
	}
	return f
}

// libraryPlace finds where in the library an error of a translated script was made.
var libraryPlace = regexp.MustCompile(`^library:\d+:\d+: Error: `)

// scriptPlace finds the place that an error of the engine begins with.
var scriptPlace = regexp.MustCompile(`^:(\d+):\d+`)

func (p *program) runQuietly(s *expr.Scope, l *scriptRun) (any, error) {
	compiled, err := p.of(s)
	if err != nil {
		return nil, err
	}
	r := p.engine()
	if p.language != javascript {
		if _, err := r.Run(context.Background(), library(), map[string]any{}); err != nil {
			return nil, err
		}
	}
	return r.Run(context.Background(), compiled, p.globals(s, l))
}

// nameOf gives the name of the sampler that makes a request.
func (j *reader) nameOf(q *plan.Request) func(*expr.Scope) string {
	return func(s *expr.Scope) string { return j.labels[q].Text(s) }
}

// scriptAction is a script before a sampler. The flow goes on where it fails, as in JMeter.
func (j *reader) scriptAction(e, sampler *element) plan.Action {
	name := j.compile(sampler.at, sampler.label, expr.AsText)
	p := j.program(e, e.stands(func(s *expr.Scope) string { return name.Text(s) }, j.asked[sampler]))
	return &action{act: func(ctx context.Context, u plan.User) bool {
		l := &scriptRun{previous: lastOf(u)}
		_, _ = p.run(u.Scope(), l)
		if asks := p.where.asks; l.loop && asks != nil {
			// JMeter looks at that behind the sample.
			(&scriptRun{loop: true}).leave(u, asks.of)
			l.loop = false
		}
		return l.obey(ctx, u)
	}}
}

// scriptCapture is a script after a sampler.
func (j *reader) scriptCapture(e *element, q *plan.Request) {
	p := j.program(e, e.stands(j.nameOf(q), j.asked[q]))
	takes(q, true, func(a *expr.Response) {
		l := &scriptRun{response: a}
		_, _ = p.run(a.Scope, l)
		l.leave(a.Scope.User, q)
	})
}

// scriptAssertion is a script that judges a response; one that fails judges it as failed.
// It runs whatever other assertions say, as in JMeter.
func (j *reader) scriptAssertion(e *element, q *plan.Request) {
	p := j.program(e, e.stands(j.nameOf(q), j.asked[q]))
	takes(q, true, func(a *expr.Response) {
		l := &scriptRun{response: a, judges: true}
		if _, err := p.run(a.Scope, l); err != nil || l.failure {
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
	language := map[string]string{"groovy": "groovy", "BeanShell": "beanshell", "javaScript": "javascript"}[c.name]
	text := args[0]
	if !strings.Contains(text, "${") {
		text = argumentEscape.ReplaceAllString(text, "$1") // as c.args has it
	}
	p := j.compileScript(c.at, "__"+c.name, language, c.args[0], text, stands{binds: bindings("__" + c.name)})
	if fixed, ok := p.source.Constant(); ok && name == "" && strings.Contains(fixed, "FileServer") && !usesVars.MatchString(fixed) {
		// The plan's folder, which is known before the run.
		if v, err := p.runQuietly(&expr.Scope{}, &scriptRun{}); err == nil && v != nil {
			return fixedText(fmt.Sprint(v))
		}
	}
	return expr.Expression{Eval: j.storeResult(name, func(s *expr.Scope) expr.Value {
		v, err := p.run(s, &scriptRun{previous: lastOf(s.User)})
		if err != nil || v == nil {
			return expr.TextValue("")
		}
		return expr.TextValue(fmt.Sprint(v))
	})}
}

// argumentEscape finds a backslash that JMeter takes away from an argument without references.
var argumentEscape = regexp.MustCompile(`\\([\\,$])`)

// lacking says what a script in JavaScript asks of an object that has no such method, and
// in which line; empty: nothing.
func lacking(text string, objects java.Objects) (line int, what string) {
	object, m := script.Missing(text, func(name string) string { return string(objects.Variable(name)) }, func(object, name string) (string, bool) {
		gives, ok := objects.Method(java.Binding(object), name)
		if object == "url" {
			ok = name == "toString" // it is a text here
		}
		return string(gives), ok
	})
	if object == "" {
		return 0, ""
	}
	return m.Line, java.Binding(object).Lacks(m.Name)
}
