package snippet_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/load/expr"
	"whittle/load/script"
	"whittle/load/snippet"
)

// evaluator runs snippets as load/jmeter does, with a host and variables of its own.
type evaluator struct{ runtime *script.Runtime }

func newEvaluator(t *testing.T) *evaluator {
	t.Helper()
	e := &evaluator{script.New(script.Options{})}
	library, err := script.Compile("library", snippet.Library)
	if err == nil {
		_, err = e.runtime.Run(t.Context(), library, nil)
	}
	fatal.If(t, err)
	return e
}

var dialects = map[string]snippet.Dialect{"groovy": snippet.Groovy, "beanshell": snippet.BeanShell, "jexl": snippet.JEXL, "jexl2": snippet.JEXL2}

// value is what a snippet comes to. refused says that it was not run.
func (e *evaluator) value(t *testing.T, language, text string, vars map[string]string) (is string, refused bool, err error) {
	t.Helper()
	d := dialects[language]
	rewrite := func() (string, error) { return snippet.Rewrite(text, d, func(string) bool { return true }) }
	if d >= snippet.JEXL {
		rewrite = func() (string, error) { js, _, err := snippet.Expression(text, d); return js, err }
	}
	js, err := rewrite()
	if err != nil {
		return "", true, err
	}
	p, err := script.Compile("s", "("+js+")($given)")
	if err != nil {
		t.Fatalf("%s: %v in\n%s", text, err, js)
	}
	host := map[string]any{
		"random": func() float64 { return 0.25 }, "print": func(string) {}, "now": func() int64 { return 5 }, "sleep": func(float64) {}, "env": func(string) any { return nil },
		"uuid": func() string { return "00000000-0000-0000-0000-000000000000" },
		"matches": func(text, pattern string) (bool, error) {
			rx, err := expr.CompileAnyPattern(`^(?:`+pattern+`)$`, "")
			return err == nil && rx.MatchString(text), err
		},
	}
	given := map[string]any{
		"vars": map[string]any{
			"get": func(name string) any {
				if v, ok := vars[name]; ok {
					return v
				}
				return nil
			},
			"put":    func(name string, v any) { vars[name] = fmt.Sprint(v) },
			"remove": func(name string) { delete(vars, name) },
		},
		"prev": map[string]any{
			"getResponseDataAsString": func() string { return vars["body"] }, "getResponseCode": func() string { return "200" },
			"getTime": func() int64 { return 7 }, "isSuccessful": func() bool { return true },
		},
		"log": map[string]any{"info": func(string) {}, "error": func(string) {}}, "args": []string{"one", "two"},
	}
	v, err := e.runtime.Run(t.Context(), p, map[string]any{"$host": host, "$given": given})
	return fmt.Sprint(v), false, err
}

// What snippets come to is what Groovy 3.0.20 and BeanShell 2.0b6 gave for the same text, or
// they are refused; ERR is an exception of theirs. None comes to something else.
func TestSnippetsComeToWhatTheirLanguageGives(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/evaluated.jsonl")
	fatal.If(t, err)
	defer func() { _ = f.Close() }()
	e := newEvaluator(t)
	right, all := 0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); all++ {
		var c struct{ Language, Script, Is string }
		fatal.If(t, json.Unmarshal(lines.Bytes(), &c))
		got, refused, err := e.value(t, c.Language, c.Script, map[string]string{})
		switch {
		case refused:
			var r *snippet.Refused
			if !errors.As(err, &r) || r.Line < 1 {
				t.Errorf("%s: %s: %v", c.Language, c.Script, err)
			}
		case err == nil && got == c.Is, err != nil && c.Is == "ERR", err != nil && strings.Contains(err.Error(), "whittle"):
			right++
		default:
			t.Errorf("%s: %s\n\tis %q (%v), and there %q", c.Language, c.Script, got, err, c.Is)
		}
	}
	if right < 168 || all < 500 {
		t.Errorf("%d of %d come to what they should", right, all)
	}
}

// TestExpressionsOfJEXL holds values to what JMeter 5.6.3 gave for them. Empty: JEXL fails.
func TestExpressionsOfJEXL(t *testing.T) {
	t.Parallel()
	e := newEvaluator(t)
	vars := map[string]string{"ok": "OK", "long": strings.Repeat("9", 5000)}
	for language, all := range map[string]map[string]string{"jexl": {
		`${n}<3`: "", `OK == "OK"`: "", `"OK" == "OK"`: "true", `5 == "5"`: "true", `"5" < "10"`: "false", `"5" < 10`: "true",
		`true == "true"`: "true", `== ""`: "", `"1.0" == 1`: "", `1 == 1.0`: "true", `007+1`: "8", `08`: "", `7/2`: "3", `7.0/2`: "3.5",
		`1+"1"`: "11", `"3"+4`: "34", `"x" * 2`: "", `"7" * "3"`: "21", `1/0`: "", `10000000000*10000000000`: "100000000000000000000",
		`1<2<3`: "", `null < 3`: "false", `null == null`: "true", `0 == ""`: "true", `!"false"`: "true", `true && "x"`: "true", `1e3`: "1000.0",
		`vars.get("ok") == "OK"`: "true", `vars.get("no") == null`: "true", `vars.get("no").length()`: "", `"OK".length()`: "2", `5.equals("5")`: "false",
		`"OK" =~ "O."`: "true", `"OK" =~ ["KO","OK"]`: "true", `"OK" =^ "O"`: "true", `empty ""`: "true", `size("OK")`: "2", `no ?: "x"`: "x", `no || true`: "",
		`true || no`: "true", `"a\tb"`: "a\tb", `1 ? "a" : "b"`: "a", `6 | 1`: "7", `"abc".substring(1)`: "bc", `"abc".substring(9)`: "", `-"5"`: "",
		`"a\nb" =~ "a.b"`: "false", `"foobar" =~ "(?!bar).*"`: "true", `"aa" =~ "(a)\\1"`: "true", `"foo\n" =~ "foo"`: "false",
		`1e308 * 10.0 | 1`: "", `("NaN" * 1.5) & 1`: "", `vars.get("long") * 1`: "",
	}, "jexl2": {`"3"+4`: "7", `"a"+1`: "a1", `"OK" =^ "O"`: ""}} {
		for src, want := range all {
			got, refused, err := e.value(t, language, src, vars)
			if refused {
				r, ok := errors.AsType[*snippet.Refused](err)
				if got = ""; !ok || !r.Broken {
					t.Logf("%s is refused: %v", src, err)
					continue
				}
			}
			if err != nil || got == "<nil>" {
				got = ""
			}
			fatal.Same(t, got, want, "%s: %v", src, err)
		}
	}
	for _, src := range []string{`new("java.util.Date")`, `x = 5`, `f(1)`, `"a".split(",")`, `ctx.getThreadNum()`, `1; 2`, `"a".length`, `0x10`, `10L`} {
		_, refused, err := e.value(t, "jexl", src, vars)
		if r, ok := errors.AsType[*snippet.Refused](err); !refused || !ok || r.Broken {
			t.Errorf("%s: %v", src, err)
		}
	}
}

// Everyday scripts as public plans have them, with what they leave in the variables.
func TestEverydayScriptsMeanTheSame(t *testing.T) {
	t.Parallel()
	e := newEvaluator(t)
	for _, c := range []struct{ language, script, want string }{
		{"groovy", `vars.put("out", "a" + vars.get("n"))`, "a5"},
		{"groovy", "int i = vars.get('n') as Integer\ni++\nvars.put('out', i.toString())", "6"},
		{"groovy", `vars.put("out", (vars.get("n").toInteger() + 1).toString())`, "6"},
		{"groovy", "def n = Integer.parseInt(vars.get('n'))\nif (n % 2 == 0) {\n  vars.put('out', 'even')\n} else if (n > 3) {\n  vars.put('out', 'odd')\n}", "odd"},
		{"groovy", "import groovy.json.JsonSlurper\ndef json = new JsonSlurper().parseText(prev.getResponseDataAsString())\n" +
			"vars.put('out', '' + json.data.items[1].name + json.data.items.size() + json.data.items[0].id)", "b27"},
		{"groovy", `vars.put("out", new groovy.json.JsonSlurper().parseText(vars.get("body")).data["x y"].toString())`, "null"},
		{"groovy", "def r = new Random()\nvars.put('out', (r.nextInt(10) + 1).toString())", "3"},
		{"groovy", "def list = ['a', 'b', 'c', 'd']\nvars.put('out', list[new Random().nextInt(list.size())])", "b"},
		{"groovy", `vars.put("out", UUID.randomUUID().toString())`, "00000000-0000-0000-0000-000000000000"},
		{"groovy", `vars.put("out", org.apache.commons.lang3.RandomStringUtils.randomNumeric(3))`, "222"},
		{"groovy", "def s = vars.get('none') ?: 'dflt'\nvars.put('out', s)", "dflt"},
		{"groovy", "String a = vars.get('csv').split(',')[1].trim().toUpperCase()\nvars['out'] == null\nvars.put('out', a.replace('$1', '$2').replaceAll('[A-C]+', 'x'))", "x"},
		{"groovy", "def sum = 0\nfor (int i = 0; i < 4; i++) { sum += i }\nfor (x in [1, 2]) { sum += x }\nvars.put('out', \"sum=${sum}\")", "sum=9"},
		{"groovy", "def sum = 0L\nfor (i in [1, 2, 3]) { sum += i * 3000000000L }\nvars.put('out', sum.toString())", "18000000000"},
		{"groovy", "try {\n  vars.put('out', vars.get('none').length().toString())\n} catch (Exception e) {\n  log.error('failed: ' + e.getMessage())\n  vars.put('out', 'none')\n}", "none"},
		{"groovy", "if (prev.getResponseCode() == '200' && prev.getResponseDataAsString().contains('items')) vars.put('out', 'ok')", "ok"},
		{"groovy", "if (prev.responseCode != '200' || !prev.successful) { vars.put('out', 'bad') } else { vars.put('out', 'good' + prev.time) }", "good7"},
		{"groovy", "def n = vars.get('n').toInteger()\nvars.put('out', n > 4 ? 'big' : 'small')", "big"},
		{"groovy", "vars.put('out', String.valueOf(2147483647 + 1) + (int) 3.9d + 46341 * 46341)", "-21474836483-2147479015"},
		{"groovy", "vars.put('out', ((int) (Math.random() * 100)).toString() + Math.round(2.5d) + 1.5d * 2)", "2533.0"},
		{"groovy", "def sb = new StringBuilder()\nsb.append('a').append(1).append(true)\nvars.put('out', sb.toString())", "a1true"},
		{"groovy", `vars.put("out", (System.currentTimeMillis() - 5).toString() + vars.get("csv").substring(0, 2).equals("a,"))`, "0true"},
		{"groovy", "vars.put('out', vars.get('none').toString() + vars.get('none').equals('x') + 'x'.equals(vars.get('none')))", "nullfalsefalse"},
		{"beanshell", `vars.put("out", vars.get("n") + "x");`, "5x"},
		{"beanshell", "int c = Integer.parseInt(vars.get(\"n\"));\nc = c / 2;\nvars.put(\"out\", Integer.toString(c));", "2"},
		{"beanshell", "import java.util.Random;\nRandom r = new Random();\nString[] a = vars.get(\"csv\").split(\",\");\nvars.put(\"out\", a[r.nextInt(a.length)]);", "a"},
		{"beanshell", "String s = vars.get(\"csv\");\nif (s != null && s.indexOf(\"b\") >= 0 && s.equals(\"a,b,c\")) { vars.put(\"out\", s.substring(2)); }", "b,c"},
		{"beanshell", "x = vars.get(\"n\");\nfor (int i = 0; i < 2; i++) { x = x + i; }\nvars.put(\"out\", x);\nlog.info(\"x is \" + x);", "501"},
		{"beanshell", "long t = System.currentTimeMillis() + 1000L * 60;\nvars.put(\"out\", String.valueOf(t));", "60005"},
	} {
		vars := map[string]string{"n": "5", "csv": "a,b,c", "body": `{"data": {"items": [{"id": 7, "name": "a"}, {"id": 8, "name": "b"}], "price": 1.50}}`}
		_, _, err := e.value(t, c.language, c.script, vars)
		if err != nil || vars["out"] != c.want {
			t.Errorf("%s\n\tleaves %q (%v), want %q", c.script, vars["out"], err, c.want)
		}
	}
	// What would come to something else is refused, or fails and says so where only the run
	// shows it; no catch of the script's hides that.
	for _, c := range [][3]string{
		{"groovy", "vars.put('out', vars.get('n'))\nvars.put('x', 7 / 2 + '')", "line 2: a quotient of whole numbers"},
		{"groovy", "vars.put('out', 0.1 + 0.2 + '')", "a BigDecimal"},
		{"groovy", "try { vars.put('out', new groovy.json.JsonSlurper().parseText(vars.get('body')).data.price.toString()) } catch (Exception e) { }", "whittle does not write a number with a fraction"},
		{"groovy", "if (vars.get('n') > 3) { }", "> between text and int"},
		{"groovy", `def s = "a${1}"` + "\nif (s.equals('a1')) { }", "equals of a text with expressions"},
		{"groovy", "for (i in 1..3) { }", "line 1"},
		{"groovy", "vars.put('out', ['a'][1])", "within its bounds"},
		{"groovy", "[1, 2].each { vars.put('out', it.toString()) }", "each"},
		{"groovy", "def m = [a: 1]", "line 1"},
		{"groovy", "def x = 1\nx = 'a'", "line 2: text where int is wanted"},
		{"groovy", "vars.put('out', vars.get('csv').replaceAll('(a)', '$1'))", "whittle replaces by no text with $"},
		{"groovy", "vars.put('out', 'a'.replaceAll('a$', ''))", "the pattern a$"},
		{"beanshell", `if (vars.get("n") == "5") { }`, "use equals"},
		{"beanshell", "Integer a = new Integer(\"1\"); Integer b = new Integer(\"1\"); if (a == b) { }", "numbers that may be objects"},
		{"beanshell", "if (true) { z = 1; }\nvars.put(\"out\", z + \"\");", "line 1: z, which is of its block alone"},
		{"beanshell", "x = 1", ""},
		{"beanshell", "x = 1\ny = 2;", "line 2"},
	} {
		_, _, err := e.value(t, c[0], c[1], map[string]string{"n": "5", "csv": "a,b", "body": `{"data": {"price": 1.50}}`})
		if (err == nil) != (c[2] == "") || err != nil && !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v, want %s", c[1], err, c[2])
		}
	}
}

// FuzzRewrite holds that any text is rewritten or refused, and that JavaScript can read what
// comes out.
func FuzzRewrite(f *testing.F) {
	for _, text := range []string{
		"def a = \"${b} $c\"\nvars.put('x', a)", "if (x) { y } else z", "'''a''' \"\"\"b\"\"\"", "a = [1,2][0] as int", "/* */ // \n${x}", "import a.b\n`",
		"for (int i = 0; i < 3; i++) { s += i }", "try { a } catch (E e) { b } finally { c }", "x = a ? b : c ?: d", "String s = (String) x; s++", "for (x in [1]) { }; [1].size()",
		`1+2*3 == 7`, `"a" =~ ["b"] ? 1 : x`, `!(-1.5e3 >= vars.get('a').length())`, "def s = 'a'.split(/[a-b]\\s/)[0]\ns", "int[] a = {1}; a[0]",
	} {
		for d := range 4 {
			f.Add(text, d)
		}
	}
	f.Fuzz(func(t *testing.T, text string, d int) {
		if len(text) > 2000 {
			return
		}
		dialect := snippet.Dialect(uint(d) % 4)
		js, err := snippet.Rewrite(text, dialect, func(string) bool { return true })
		if dialect >= snippet.JEXL {
			js, _, err = snippet.Expression(text, dialect)
		}
		if err != nil {
			return
		}
		if _, err := script.Compile("s", js); err != nil {
			t.Errorf("%q: %v in %s", text, err, js)
		}
	})
}
