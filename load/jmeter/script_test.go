package jmeter

import (
	"math/rand/v2"
	"strings"
	"testing"

	"whittle/load/expr"
	"whittle/load/java"
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
	p = j.compileScript(at, "s", language, j.compile(at, text, expr.AsText), text, stands{kind: java.HTTPSampler})
	return j, p, nil
}

// A script is compiled once, however long it is: a run of it calls for the compiled one.
func TestALongScriptIsCompiledOnce(t *testing.T) {
	t.Parallel()
	_, p, err := scripted(t, "groovy", "vars.put('out', '"+strings.Repeat("x", 80<<10)+"')")
	if err != nil {
		t.Fatal(err)
	}
	s := &expr.Scope{RNG: rand.New(rand.NewPCG(1, 1)), Values: make([]expr.Value, 8), User: &onlyUser{}}
	a, err := p.of(s)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := p.of(s); a != b || err != nil {
		t.Errorf("compiled again: %v", err)
	}
}

// What the everyday scripts of plans do.
func TestEverydayScriptsRun(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"groovy", `vars.put("out", "a" + vars.get("n"))`, "a5"},
		{"groovy", "def n = vars.get('n') as Integer\nn = n + 1\nvars.put('out', n.toString())", "6"},
		{"groovy", "int i = Integer.parseInt(vars.get(\"n\"));\nif (i > 3) {\n  vars.put(\"out\", \"big\")\n} else {\n  vars.put(\"out\", \"small\")\n}", "big"},
		{"groovy", "def who = 'x'\nlog.info(\"hello $who\")\nvars.put('out', \"${who}-${n}\")", "x-5"},
		{"groovy", "import groovy.json.JsonSlurper\ndef d = new JsonSlurper().parseText('{\"a\": [{\"b\": 7}]}')\nvars.put('out', d.a[0].b.toString())", "7"},
		{"groovy", "import java.util.UUID\nvars.put('out', UUID.randomUUID().toString().length().toString())", "36"},
		{"groovy", "vars.put('out', (System.currentTimeMillis() > 5).toString())", "true"},
		{"groovy", "for (int i = 0; i < 3; i++) {\n  vars.put('out', String.valueOf(i))\n}", "2"},
		{"groovy", "def s = vars.get('missing') ?: 'none'\nvars.put('out', s)", "none"},
		{"groovy", "def a = 'x,y,z'.split(',')\nvars.put('out', a[1] + a.size())", "y3"},
		{"groovy", "vars.put('out', 'Abc'.toUpperCase().substring(1).contains('BC') ? 'yes' : 'no')", "yes"},
		{"groovy", "if (vars.get('n').equals('5') && !vars.get('n').isEmpty()) vars.put('out', 'eq')", "eq"},
		{"groovy", "props.put('p', 'v'); vars.put('out', props.get('p'))", "v"},
		{"beanshell", `String y = vars.get("n"); vars.put("out", y + "2");`, "52"},
		{"beanshell", "import java.util.*;\nint i = Integer.parseInt(vars.get(\"n\"));\ni++;\nvars.put(\"out\", String.valueOf(i));", "6"},
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

// What is not known is refused with its line.
func TestScriptsThatMeanSomethingElseAreRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"vars.put('a', '1')\nclass X { }":                          "p.jmx:8:1: s is not supported: it is a script of which not all is: a class of its own",
		"@Grab('a:b:1')\nimport a.B":                               "an annotation",
		"new Socket('x', 5)":                                       "the class Socket",
		"org.apache.jmeter.util.JMeterUtils.getJMeterProperties()": "the call of getJMeterProperties",
		"foo.bar()": "the call of bar",
		"foo(1)":    "the call of foo",
	} {
		_, _, err := scripted(t, "groovy", text)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", text, err, says)
		}
	}
	if _, _, err := scripted(t, "jython", "x"); err == nil || !strings.Contains(err.Error(), "the language jython") {
		t.Errorf("%v", err)
	}
}

// What an object of the run has not is refused, whatever other class has it, and however
// the script comes by the object.
func TestWhatObjectsOfARunHaveNotIsRefused(t *testing.T) {
	t.Parallel()
	const groovy, beanshell, javascript = "groovy", "beanshell", "javascript"
	for _, c := range [][3]string{
		{groovy, "vars.put('a', 'b')\nvars.getPath()", "p.jmx:8:1: s is not supported: it is a script of which not all is: the call of getPath of vars"},
		{groovy, "vars.containsKey('a')", "the call of containsKey of vars"},
		{groovy, "def s = ctx.getCurrentSampler()\ns.getFile()", "the call of getFile of a sampler"},
		{groovy, "s = ctx.currentSampler\nif (true) { s.file }", "file of a sampler"},
		{groovy, "prev?.getKey()", "the call of getKey of a sample"},
		{groovy, "(ctx.getThread()).getPath()", "the call of getPath of a thread"},
		{groovy, "ctx.thread.threadGroup.size()", "the call of size of a group"},
		{groovy, "sampler.path = '/x'", "an assignment to path of a sampler"},
		{groovy, "log.getPath()", "the call of getPath of log"},
		{groovy, "OUT.append('x')", "the call of append of out"},
		{groovy, "props.getPath()", "the call of getPath of props"},
		{groovy, "sampler.getUrl().getTime()", "the call of getTime of a url"},
		{groovy, "prev.getURL().size()", "the call of size of a url"},
		{beanshell, "r = prev; r.getPath();", "the call of getPath of a sample"},
		{beanshell, "HTTPSamplerProxy s = ctx.getCurrentSampler(); s.getFile();", "the call of getFile of a sampler"},
		{javascript, "var a = 1;\nsampler.getFile()", "p.jmx:8:1: s is not supported: it is a script of which not all is: getFile of a sampler"},
		{javascript, "var s = ctx.getCurrentSampler(); s.path", "path of a sampler"},
		{javascript, "function f() { return prev.responseCode }", "responseCode of a sample"},
		{javascript, "vars.putAll({})", "putAll of vars"},
	} {
		_, _, err := scripted(t, c[0], c[1])
		if err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v, want %s", c[1], err, c[2])
		}
	}
	for _, c := range [][2]string{
		{groovy, "def s = sampler\ns = 'text'\ns.size()"},
		{groovy, "[1].each { s -> s.intValue() }\ndef s = sampler"},
		{groovy, "props.x = 'y'; vars.get('a').equals(prev); vars.b"},
		{javascript, "function f(prev) { return prev.own } var s = 'a', vars2 = vars; s.length; vars2.get('a')"},
		{javascript, "ctx.getVariables().put('a', ctx.getThreadGroup().getName())"},
	} {
		if _, _, err := scripted(t, c[0], c[1]); err != nil {
			t.Errorf("%s: %v", c[1], err)
		}
	}
}

// What an object has not and is known only when the script runs ends it, and no catch of
// the script's hides it.
func TestWhatIsMissingIsNotCaught(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"try { [vars].each { it.getPath() } } catch (Exception e) { }",
		"try { [prev: sampler].prev.file } catch (e) { }",
	} {
		_, p, err := scripted(t, "groovy", text)
		if err != nil {
			t.Fatal(err)
		}
		s := &expr.Scope{RNG: rand.New(rand.NewPCG(1, 1)), Values: make([]expr.Value, 8), User: &onlyUser{}}
		if _, err := p.run(s, &scriptRun{}); err == nil || !strings.Contains(err.Error(), "here") {
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
