package jexl_test

import (
	"errors"
	"strings"
	"testing"

	"whittle/load/jexl"
)

// TestExpressions holds values to what JMeter 5.6.3 gave for them. Empty: JEXL fails.
func TestExpressions(t *testing.T) {
	t.Parallel()
	get := func(name string) (string, bool) {
		if name == "long" {
			return strings.Repeat("9", 5000), true
		}
		return "OK", name == "ok"
	}
	for src, want := range map[string]string{
		`${n}<3`: "", `OK == "OK"`: "", `"OK" == "OK"`: "true", `5 == "5"`: "true", `"5" < "10"`: "false", `"5" < 10`: "true",
		`true == "true"`: "true", `== ""`: "", `"1.0" == 1`: "", `1 == 1.0`: "true", `007+1`: "8", `08`: "", `7/2`: "3", `7.0/2`: "3.5",
		`1+"1"`: "11", `"3"+4`: "34", `"x" * 2`: "", `"7" * "3"`: "21", `1/0`: "", `10000000000*10000000000`: "100000000000000000000",
		`1<2<3`: "", `null < 3`: "false", `null == null`: "true", `0 == ""`: "true", `!"false"`: "true", `true && "x"`: "true", `1e3`: "1000.0",
		`vars.get("ok") == "OK"`: "true", `vars.get("no") == null`: "true", `vars.get("no").length()`: "", `"OK".length()`: "2", `5.equals("5")`: "false",
		`"OK" =~ "O."`: "true", `"OK" =~ ["KO","OK"]`: "true", `"OK" =^ "O"`: "true", `empty ""`: "true", `size("OK")`: "2", `no ?: "x"`: "x", `no || true`: "",
		`true || no`: "true", `"a\tb"`: "a\tb", `1 ? "a" : "b"`: "a", `6 | 1`: "7", `"abc".substring(1)`: "bc", `"abc".substring(9)`: "", `-"5"`: "",
		`"a\nb" =~ "a.b"`: "false", `"foobar" =~ "(?!bar).*"`: "true", `"aa" =~ "(a)\\1"`: "true", `"foo\n" =~ "foo"`: "false",
		`1e308 * 10.0 | 1`: "", `("NaN" * 1.5) & 1`: "", `vars.get("long") * 1`: "",
	} {
		got := ""
		if e, err := jexl.Parse(src, false); err == nil {
			got, _ = e.Eval(get)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
	for src, want := range map[string]string{`"3"+4`: "7", `"a"+1`: "a1", `"OK" =^ "O"`: ""} {
		got := ""
		if e, err := jexl.Parse(src, true); err == nil {
			got, _ = e.Eval(get)
		}
		if got != want {
			t.Errorf("JEXL 2: %s: %q, want %q", src, got, want)
		}
	}
}

// TestUnsupported holds that what JEXL runs and this does not is an error of its own.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	for _, src := range []string{`new("java.util.Date")`, `x = 5`, `f(1)`, `"a".split(",")`, `ctx.getThreadNum()`, `1; 2`, `"a".length`} {
		_, err := jexl.Parse(src, false)
		var not *jexl.Unsupported
		if !errors.As(err, &not) {
			t.Errorf("%s: %v", src, err)
		}
	}
}

func FuzzExpression(f *testing.F) {
	for _, src := range []string{`1+2*3 == 7`, `"a" =~ ["b"] ? 1 : x`, `!(-1.5e3 >= vars.get('a').length())`, `((((`, `"\u00e4"`} {
		f.Add(src)
	}
	f.Fuzz(func(_ *testing.T, src string) {
		for _, old := range []bool{false, true} {
			if e, err := jexl.Parse(src, old); err == nil {
				e.Eval(func(string) (string, bool) { return src, true })
			}
		}
	})
}
