package expr

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

var conditionVariables = map[string]Value{
	"n": NumberValue(7), "zero": NumberValue(0), "s": TextValue("seven"), "digits": TextValue("07"), "empty": TextValue(""),
	"yes": {Text: "true", JSON: "true"}, "no": {Text: "false", JSON: "false"}, "none": {Text: "null", JSON: "null"},
	"list": {Text: "[1]", JSON: "[1]"}, "a.b": NumberValue(3), "unset": {},
}

func resolveForTest(name string) (func(*Evaluation) Datum, error) {
	v, ok := conditionVariables[name]
	if !ok {
		return nil, fmt.Errorf("no %s", name)
	}
	// As a plan's reader does it, which looks into the user's scope.
	return func(e *Evaluation) Datum { return DatumOf(append(e.Scope.Values, v)[len(e.Scope.Values)]) }, nil
}

func TestConditions(t *testing.T) {
	for src, want := range map[string]bool{
		"n == 7": true, "n != 7": false, "n === 7": true, "n !== 7": false, "n < 7.5 and n > 6": true, "n >= 8 or n <= 7": true,
		"n == 7 && s == \"seven\"": true, "n == 8 || zero": false, "not zero": true, "!n": false, "not (n == 7)": false,
		"digits == 7": true, "digits == \"7\"": false, "s < \"six\"": true, "s > 3": false, "s == n": false,
		"yes": true, "no": false, "no == false": true, "yes == 1": true, "none": false, "unset": false, "empty": false, "list": true,
		"unset == unset": true, "unset == 0": false, "unset < 1": false, "unset != 1": true,
		"'a.b' == 3": true, "a.b == 3": true,
		"1 + 2 * 3 == n": true, "(1 + 2) * 3 == 9": true, "7 % 4 == 3": true, "10 / 4 == 2.5": true,
		"-n == 0 - 7": true, "1e3 == 1000": true, ".5 == 0.5": true, "1 / 0 > 5": true, "0 / 0": false,
		"n in (1, 7, 9)": true, "n in ()": false, "n not in (1, 9)": true, "s in (\"six\", \"seven\")": true,
		"s ~= \"^se\"": true, "s ~= \"x\"": false, "n ~= \"^7$\"": true,
		"\"a\" + \"b\" == \"ab\"": true, "\"a\" + 1 == \"a1\"": true,
		"true": true, "false": false, "3 - 2 - 1 == 0": true,
		// A text is the number that JavaScript makes of it.
		"empty == 0": true, "\" 5 \" == 5": true, "\"0x10\" == 16": true, "\"inf\" > 1": false, "\"1_0\" == 10": false, "\"Infinity\" > 1": true,
		"true == n > 1": true, "7 == n < 8": false, "n in (7, 8) >= 1": true, "n not in (7) < 1 == true": true,
	} {
		c, err := CompileCondition(src, resolveForTest)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := c(&Evaluation{Scope: &Scope{RNG: rand.New(rand.NewPCG(1, 1))}}).Truth(); got != want {
			t.Errorf("%s is %v", src, got)
		}
	}
	for _, bad := range []string{
		"", "n ==", "== n", "n = 7", "(n", "n)", "n n", "unknown", "n in 7", "n not 7", "s ~= n", "s ~= \"(\"", "\"open", "max()", "abs(1,2)",
		"nofunc(1)", "max(1, n)", "n ? 1 : 2", "n ? 1", "2 ^ 3", "7 mod 4", "1 + ", "@", "n # 7", strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100), strings.Repeat("!", 100) + "1",
		strings.Repeat("1+", MaxConditionBytes) + "1", "s ~= \"(?=x)\"",
		"s ~= s + \"x\"", "s ~= (\"x\" + \"y\")",
	} {
		if _, err := CompileCondition(bad, resolveForTest); err == nil {
			t.Errorf("%.40q was understood", bad)
		}
	}
}

func TestPatternsAreJavaScriptsAsFarAsTheyGo(t *testing.T) {
	for _, c := range []struct {
		src, flags, text string
		want             bool
	}{
		{"^b$", "m", "a\nb", true}, {"^b$", "", "a\nb", false}, {"A.B", "is", "a\nb", true}, {`(?<year>\d{4})`, "g", "in 2024", true},
	} {
		rx, err := CompilePattern(c.src, c.flags)
		if err != nil || rx.MatchString(c.text) != c.want {
			t.Errorf("/%s/%s on %q: %v", c.src, c.flags, c.text, err)
		}
	}
	for src, flags := range map[string]string{"(?=a)": "", `(a)\1`: "", "a": "y", strings.Repeat("a", 5000): ""} {
		if _, err := CompilePattern(src, flags); err == nil {
			t.Errorf("/%.20s/%s was understood", src, flags)
		}
	}
}

// FuzzCondition checks that no expression makes the reader or the evaluation
// crash, and that one without chance in it is the same each time.
func FuzzCondition(f *testing.F) {
	f.Add("n == 7 && (s ~= \"a\" or not zero) or -'a.b' in (1, true)")
	f.Add("@.a[0]['x'] == 'y'")
	f.Fuzz(func(t *testing.T, src string) {
		for _, d := range []dialect{dialectPlan, dialectPath} {
			c, err := compileIn(d, src, resolveForTest)
			if err != nil {
				continue
			}
			if a, b := c(&Evaluation{Scope: &Scope{}}).Truth(), c(&Evaluation{Scope: &Scope{}}).Truth(); a != b {
				t.Fatalf("%q is %v and %v", src, a, b)
			}
		}
	})
}
