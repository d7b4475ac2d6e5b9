package jmeter

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/load/expr"
	"whittle/load/plan"
)

// scripted makes a program of a script, with two variables of the plan.
func scripted(t *testing.T, language, text string) (j *reader, p *program, err error) {
	t.Helper()
	defer func() {
		if e, ok := recover().(error); ok {
			err = e
		}
	}()
	j = &reader{Builder: plan.NewBuilder(plan.Source{}, "p"), constants: map[string]string{}, runtime: map[string]bool{}, listed: map[string]bool{}, scripted: true}
	j.Define("n")
	j.Define("out")
	at := plan.Position{File: "p.jmx", Line: 7, Col: 3}
	p = j.compileScript(at, "s", language, j.compile(at, text, expr.AsText), text, placement{})
	return j, p, nil
}

// A script is compiled once, however long it is: a run of it calls for the compiled one.
func TestALongScriptIsCompiledOnce(t *testing.T) {
	t.Parallel()
	_, p, err := scripted(t, "groovy", "vars.put('out', '"+strings.Repeat("x", 50<<10)+"')")
	fatal.If(t, err)
	s := &expr.Scope{RNG: rand.New(rand.NewPCG(1, 1)), Values: make([]expr.Value, 8), User: &onlyUser{}}
	a := p.of(s)
	if b := p.of(s); a.err != nil || a.program != b.program {
		t.Errorf("compiled again: %v", b.err)
	}
}

// Scripts of each language run with the plan's variables and properties.
func TestEverydayScriptsRun(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"groovy", `vars.put("out", "a" + vars.get("n"))`, "a5"},
		{"groovy", "def who = 'x'\nlog.info(\"hello $who\")\nvars.put('out', \"${who}-${n}\")", "x-5"},
		{"groovy", "props.put('p', 'v'); vars.put('out', props.get('p'))", "v"},
		{"beanshell", `String y = vars.get("n"); vars.put("out", y + "2");`, "52"},
		{"javascript", `vars.put("out", "" + (${n} + 1));`, "6"},
		{"javascript", `var t = "${n}"; vars.put("out", t.length + [1, 2].map(x => x * 2).join());`, "12,4"},
	} {
		j, p, err := scripted(t, c[0], c[1])
		if err != nil {
			t.Errorf("%s: %v", c[1], err)
			continue
		}
		s := &expr.Scope{RNG: rand.New(rand.NewPCG(1, 1)), Values: make([]expr.Value, 8), User: &onlyUser{}}
		j.assign(s, "n", "5")
		if _, err := p.run(s, &scriptRun{}); err != nil {
			t.Errorf("%s: %v", c[1], err)
		}
		if got, _ := j.value(s, "out"); got != c[2] {
			t.Errorf("%s: %q, want %q", c[1], got, c[2])
		}
	}
}

// Every response is kept only where a script asks for the last one.
func TestWhoAsksForTheLastResponse(t *testing.T) {
	for _, c := range []struct {
		element, text string
		want          bool
	}{
		{"HTTPSamplerProxy", "/preview/${__groovy(1 + 1)}", false},
		{"HTTPSamplerProxy", "/prev", false},
		{"HTTPSamplerProxy", "/a/${__groovy(prev.getTime())}", true},
		{"JSR223PreProcessor", "vars.put('to', '/preview')", false},
		{"JSR223PreProcessor", "vars.put('t', '' + prev?.time)", true},
		{"JSR223PreProcessor", "def p = ctx.previousResult", true},
		{"BeanShellPreProcessor", "r = ctx.getPreviousResult();", true},
	} {
		var j reader
		if j.findUses(&element{tag: &tag{name: c.element}}, &tag{text: c.text}); j.asksLast != c.want {
			t.Errorf("%s of %s: %t", c.text, c.element, j.asksLast)
		}
	}
}

// What is not known is refused with its line and what to do instead, whatever other object
// has it and however the script comes by the object.
func TestWhatScriptsAskBeyondTheEverydayIsRefused(t *testing.T) {
	t.Parallel()
	const groovy, beanshell, javascript = "groovy", "beanshell", "javascript"
	for _, c := range [][3]string{
		{groovy, "vars.put('a', '1')\nclass X { }", "p.jmx:8:1: s is not supported: it is a script of which not all is: class; a script in JavaScript runs as it is"},
		{groovy, "@Grab('a:b:1')\nimport a.B", "which not all is: @"},
		{groovy, "new Socket('x', 5)", "Socket: leave it out"},
		{groovy, "new Date().format('yyyy')", "date.format"},
		{groovy, "def f = new java.text.SimpleDateFormat('yyyy')", "SimpleDateFormat: read ${__time(PATTERN)}"},
		{groovy, "foo(1)", "the call of foo"},
		{groovy, "vars.put('a', 'b')\nvars.getPath()", "p.jmx:8:1: s is not supported"},
		{groovy, "vars.put('a', 5)", "the call of vars.put(text, int)"},
		{groovy, "vars.put('a', (7 / 2).toString())", "a quotient of whole numbers"},
		{groovy, "def s = ctx.getCurrentSampler()\ns.getFile()", "p.jmx:8:1"},
		{groovy, "prev?.getKey()", "the call of sample.getKey()"},
		{groovy, "sampler.path = '/x'", "the call of sampler.setPath(text)"},
		{groovy, "vars.putObject('a', [1])", "keep a text, by put and get"},
		{beanshell, "if (vars.get(\"a\") == \"b\") { }", "== between texts, by which Java compares objects: use equals"},
		{beanshell, "r = prev; r.getPath();", "the call of sample.getPath()"},
		{javascript, "var a = 1;\nsampler.getFile()", "p.jmx:8:1: s is not supported: it is a script of which not all is: getFile of sampler"},
		{javascript, "var s = ctx.getCurrentSampler(); s.path", "path of sampler"},
		{javascript, "function f() { return prev.responseCode }", "responseCode of sample"},
		{javascript, "vars.putAll({})", "putAll of vars"},
		{"jython", "x", "the language jython"},
	} {
		_, _, err := scripted(t, c[0], c[1])
		if err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v, want %s", c[1], err, c[2])
		}
	}
	for _, text := range []string{"function f(prev) { return prev.own } var s = 'a', vars2 = vars; s.length; vars2.get('a')", "ctx.getVariables().put('a', ctx.getThreadGroup().getName())"} {
		if _, _, err := scripted(t, javascript, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Whatever a script is, it is translated or refused, and what is made of it is compiled
// or refused.
func FuzzScript(f *testing.F) {
	for _, text := range []string{"def a = \"${b} $c\"\nvars.put('x', a)", "if (x) { y } else z", "'''a''' \"\"\"b\"\"\"", "a = [1,2][0] as int", "/* */ // \n${x}", "import a.b\n`"} {
		f.Add(text, 1)
		f.Add(text, 0)
	}
	f.Fuzz(func(t *testing.T, text string, language int) {
		if len(text) < 2000 {
			_, _, _ = scripted(t, []string{"javascript", "groovy", "beanshell"}[uint(language)%3], text)
		}
	})
}

// testdata/references.json has texts, each with what JMeter 5.6.3 makes of it where x is X1
// and a is A1, as its ValueReplacer and a FunctionProperty gave it; a text without that is
// one that JMeter starts no test with.
func TestReferencesAreReadAsJMeterReadsThem(t *testing.T) {
	all := fatal.JSON[[][]string](t, "testdata/references.json")
	for _, c := range all {
		got, err := sentBody(c[0])
		switch {
		case len(c) == 1 && err == nil:
			t.Errorf("%q is %q, and JMeter refuses it", c[0], got)
		case len(c) == 2 && (err != nil || got != c[1]):
			t.Errorf("%q is %q (%v), want %q", c[0], got, err, c[1])
		}
	}
	if len(all) < 200 {
		t.Errorf("%d texts", len(all))
	}
}

// sentBody is what a request sends whose raw body is a text.
func sentBody(text string) (string, error) {
	variable := func(name, value string) string {
		return `<elementProp name="` + name + `" elementType="Argument"><stringProp name="Argument.name">` + name + `</stringProp><stringProp name="Argument.value">` + value + `</stringProp></elementProp>`
	}
	var escaped bytes.Buffer
	if err := xml.EscapeText(&escaped, []byte(text)); err != nil {
		return "", err
	}
	p, err := Parse("p.jmx", []byte(testPlan(`<Arguments><collectionProp name="Arguments.arguments">`+variable("x", "X1")+variable("a", "A1")+`</collectionProp></Arguments><hashTree/>`+
		threadGroup(1, 1, `<HTTPSamplerProxy testname="s"><boolProp name="HTTPSampler.postBodyRaw">true</boolProp>`+
			`<stringProp name="HTTPSampler.path">/</stringProp><stringProp name="HTTPSampler.method">POST</stringProp>
<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments"><elementProp name="" elementType="HTTPArgument">`+
			`<stringProp name="Argument.value">`+escaped.String()+
			`</stringProp></elementProp></collectionProp></elementProp></HTTPSamplerProxy><hashTree/>`))), plan.Source{})
	if err != nil {
		return "", err
	}
	return string(p.Requests()[0].Body.Render(nil, &expr.Scope{Values: make([]expr.Value, 10)})), nil
}

// The plugin's own runs gave the times: when each user's first and last request came.
func TestUsersOfASteppingGroupComeAndGoAsByThePlugin(t *testing.T) {
	type users struct {
		n           int
		delay, hold time.Duration
	}
	const s = time.Second
	for _, c := range []struct {
		total, first, step, every, ramp, flight, out, off int
		want                                              []users
	}{
		{total: 2, first: 1, step: 1, every: 1, flight: 2, out: 2, off: 1, want: []users{{1, 0, 3 * s}, {1, s, 2 * s}}},
		{total: 2, first: 1, step: 1, every: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, s}, {1, s, s}}},
		{total: 3, step: 2, every: 1, ramp: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, 5 * s / 2}, {1, s / 2, 3 * s}, {1, 2 * s, 5 * s / 2}}},
		{total: 4, step: 4, every: 1, flight: 0, out: 1, off: 1, want: []users{{1, 0, s}, {1, 0, 2 * s}, {1, 0, 3 * s}}}, // the first goes before it has come
		{total: 5, first: 2, step: 2, every: 1, ramp: 1, flight: 1, out: 2, off: 1, want: []users{{2, 0, 11 * s / 2}, {2, 2 * s, 9 * s / 2}, {1, 4 * s, 7 * s / 2}}},
	} {
		var properties []string
		for name, n := range map[string]int{
			"ThreadGroup.num_threads": c.total, "Start users count burst": c.first, "Start users count": c.step, "Start users period": c.every,
			"rampUp": c.ramp, "flighttime": c.flight, "Stop users count": c.out, "Stop users period": c.off,
		} {
			properties = append(properties, name, fmt.Sprint(n))
		}
		group := strings.Replace(configured(steppingGroup, properties...), "<hashTree/>", "<hashTree>"+sampler("/", "")+"</hashTree>", 1)
		p, err := Parse("p.jmx", []byte(testPlan(group)), plan.Source{})
		fatal.If(t, err)
		var got []users
		for _, g := range p.Groups {
			got = append(got, users{g.Users, g.Delay, g.Duration})
			if !g.Fresh {
				t.Error("its users keep their connections from loop to loop")
			}
		}
		fatal.Same(t, got, c.want, "%+v", c)
	}
}
