package java_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"whittle/load/java"
	"whittle/load/script"
)

// evaluator runs scripts as load/jmeter does, with a host of its own.
type evaluator struct {
	t       *testing.T
	runtime *script.Runtime
}

func newEvaluator(t *testing.T) *evaluator {
	t.Helper()
	e := &evaluator{t, script.New(script.Options{})}
	library, err := script.Compile("library", java.Library)
	if err == nil {
		_, err = e.runtime.Run(t.Context(), library, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// value is what a script comes to, as a text.
func (e *evaluator) value(language, text string) (string, error) {
	dialect := java.Groovy
	if language == "beanshell" {
		dialect = java.BeanShell
	}
	out, err := java.Translate(text, dialect, java.ObjectsWith(java.HTTPSampler))
	if err != nil {
		return "", err
	}
	p, err := script.Compile("s", fmt.Sprintf("var s=$j.begin({},null,%t);$j.result(%s(s))", dialect == java.Groovy, out))
	if err != nil {
		return "", fmt.Errorf("%w in\n%s", err, out)
	}
	host := map[string]any{"random": func() float64 { return 0.25 }, "log": func(string) {}, "env": func(string) any { return nil }, "now": func() int64 { return 5 }}
	v, err := e.runtime.Run(e.t.Context(), p, map[string]any{"$host": host})
	return fmt.Sprint(v), err
}

// What scripts come to is what Groovy 3.0.20 and BeanShell 2.0b6 gave for the same text;
// ERR is an exception of theirs.
func TestScriptsComeToWhatTheirLanguageGives(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/evaluated.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	e := newEvaluator(t)
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var c struct{ Language, Script, Is string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		got, err := e.value(c.Language, c.Script)
		if err != nil && c.Is == "ERR" && !strings.Contains(err.Error(), "whittle") {
			continue
		}
		if err != nil || got != c.Is {
			t.Errorf("%s: %s\n\tis %q (%v), and there %q", c.Language, c.Script, got, err, c.Is)
		}
	}
	if n < 400 {
		t.Errorf("%d scripts", n)
	}
}

// What is not known is refused with its line, before anything runs; what the language
// itself cannot read is told apart.
func TestWhatIsNotKnownIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect java.Dialect
		script  string
		line    int
		what    string
		broken  bool
	}{
		{java.Groovy, "vars.put('a', '1')\nclass X { }", 2, "a class of its own", false},
		{java.Groovy, "@Grab('a:b:1')\nimport a.B", 1, "an annotation", false},
		{java.Groovy, "import com.acme.Thing", 1, "the library com.acme.Thing", true},
		{java.Groovy, "def x = 1\n\nx.explode()", 3, "the call of explode", false},
		{java.Groovy, "new Socket('a', 1)", 1, "the class Socket", false},
		{java.Groovy, "foo(1)", 1, "the call of foo", false},
		{java.Groovy, "f(a: 1)", 1, "the call of f", false},
		{java.Groovy, "'abc", 1, "a text without its end", true},
		{java.Groovy, "x = 1\ny = \".*$\"", 2, "a bare $", true},
		{java.Groovy, `x = "a$1 b"`, 1, "a bare $", true},
		{java.Groovy, `x = """b$"""`, 1, "a bare $", true},
		{java.Groovy, strings.Repeat("(", 1000), 1, "nested", false},
		{java.BeanShell, "int i = 1;\nList<String> l = null;", 2, "generics", true},
		{java.BeanShell, "Runtime.getRuntime().exec(\"ls\");", 1, "Runtime", false},
		{java.BeanShell, "x = \"a\" ==~ \"b\";", 1, "==~", false},
		{java.BeanShell, "try (Reader r = x) { }", 1, "try with resources", false},
		{java.BeanShell, "\xff", 1, "UTF-8", false},
		{java.BeanShell, "outer: for (;;) { break outer; }", 1, "label", false},
	} {
		_, err := java.Translate(c.script, c.dialect, java.ObjectsWith(java.HTTPSampler))
		var unknown *java.Unknown
		if !errors.As(err, &unknown) || unknown.Line != c.line || !strings.Contains(unknown.What, c.what) || unknown.Broken != c.broken {
			t.Errorf("%.60q: %+v, want line %d: %s, %t", c.script, err, c.line, c.what, c.broken)
		}
	}
}

// Scripts that nest are read in one pass: each of these takes 2^40 steps, or 10^11, where
// what is in brackets is read twice, or up to its end from each place in it.
func TestNestedScriptsAreReadOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect      java.Dialect
		script, says string
	}{
		{java.Groovy, strings.Repeat("[(", 40) + "1" + strings.Repeat(")]", 40), ""},
		{java.Groovy, "[('a'): 1, (2): 3, (4) + 5, (6)]", ""},
		{java.BeanShell, strings.Repeat("f(", 400_000), "the call of f"},
	} {
		_, err := java.Translate(c.script, c.dialect, java.ObjectsWith(java.HTTPSampler))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%.40q: %v, want %q", c.script, err, c.says)
		}
	}
}

// A long by base 16 is its 64 bits, as in Java.
func TestLongsByBase16AreTheirBits(t *testing.T) {
	t.Parallel()
	e := newEvaluator(t)
	for script, want := range map[string]string{"0xFFFFFFFFFFFFFFFFL": "-1", "-0xFFL": "-255", "0x10L + 1": "17"} {
		if got, err := e.value("groovy", script); got != want {
			t.Errorf("%s: %s (%v), want %s", script, got, err, want)
		}
	}
}

// FuzzTranslate holds that any text is translated or refused, and that JavaScript can
// read what comes out.
func FuzzTranslate(f *testing.F) {
	for _, text := range []string{
		"def a = \"${b} $c\"\nvars.put('x', a)", "if (x) { y } else z", "'''a''' \"\"\"b\"\"\"", "a = [1,2][0] as int", "/* */ // \n${x}", "import a.b\n`",
		"for (int i = 0; i < 3; i++) { s += i }", "switch (a) { case 1: b; default: c }", "try { a } catch (E e) { b } finally { c }", "def f(a, b = 2) { a + b }\nf(1)",
		"[1, 2].collect { it * 2 }.each { k, v -> println k }", "x = a ? b : c ?: d", "m = [a: 1, 'b': [2]]", "String s = (String) x; s++", "do { a-- } while (a > 0)",
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, groovy bool) {
		dialect := java.BeanShell
		if groovy {
			dialect = java.Groovy
		}
		if len(text) > 2000 {
			return
		}
		out, err := java.Translate(text, dialect, java.ObjectsWith(java.HTTPSampler))
		if err != nil {
			return
		}
		if _, err := script.Compile("s", out); err != nil {
			t.Errorf("%q: %v in %s", text, err, out)
		}
	})
}
