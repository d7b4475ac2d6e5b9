package jscode

import (
	"runtime/debug"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

func TestWhereAFunctionEnds(t *testing.T) {
	for name, c := range map[string]struct {
		text string // | is where it begins
		end  int
	}{
		"a function":             {"function f|(a) {\n  return a;\n}\nf();", 3},
		"by its keyword":         {"|async function f(a) {\n}\n", 2},
		"a method":               {"class A {\n  f|(a) {\n    if (a) {\n    }\n  }\n  g() {}\n}", 5},
		"an arrow":               {"x.map(|a => a\n  .b)\nc", 2},
		"an arrow with a body":   {"get('/', |(req, res) => {\n  res.send('}');\n});\n", 3},
		"an arrow of one line":   {"const f = |(a, b) => a + b;\nconst g = 1;", 1},
		"without a semicolon":    {"const f = |a => a * 2\nconst g = 1", 1},
		"goes on":                {"const f = |a =>\n  a +\n  2\nconst g = 1", 3},
		"a text with brackets":   {"f|() {\n  return \"{\" + '{' + `{${ {a: 1}.a }{`;\n}\n", 3},
		"comments with brackets": {"f|() { // {\n  /* { */\n}\n", 3},
		"a regular expression":   {"f|() {\n  return /[/{]\\/{/.test(a) / 2;\n}\n", 3},
		"a division":             {"f|() {\n  return a / 2; // }\n}\n}", 3},
		"a type":                 {"rate|(id: string): Promise<Quote> {\n  return x;\n}\n", 3},
		"an array's type":        {"book|(id: string): Level[] {\n  return x;\n}\n", 3},
		"a tuple's type":         {"book|(): readonly [Level, {a: 1}] {\n  return x;\n}\n", 3},
		"an object's type":       {"book|(): { price: number; at: {} } {\n  return x;\n}\n", 3},
		"a type of several":      {"book|(): string | { a: 1 } | undefined {\n  return x;\n}\n", 3},
		"a type of types":        {"book|(): Promise<Map<string, () => { a: 1 }[]>> {\n  return x;\n}\n", 3},
		"a guard":                {"is|(a: A): a is { b: 1 } {\n  return x;\n}\n", 3},
		"an arrow of a type":     {"const f = |async (a: A): Promise<{ b: 1 }[]> =>\n  g(a, {\n    b: 1,\n  });\nc()", 4},
		"a function's type":      {"const f = |(a): (b: B) => void => {\n};\n", 0},
		"a text as a type":       {"kind|(): 'a' | \"b\" {\n  return x;\n}\n", 3},
		"a declaration alone":    {"book|(): Level[];\nbook(a) {\n}", 0},
		"a type cut off":         {"book|(): Map<", 0},
		"default values":         {"f|(a = {b: 1}, [c] = []) {\n}\n", 2},
		"an object":              {"const f = |() => ({\n  a: 1,\n});\n", 3},
		"cut off":                {"f|() {\n  (", 0},
		"no function":            {"|a = 1;\nb() {}", 0},
		"nothing":                {"|", 0},
	} {
		before, _, _ := strings.Cut(c.text, "|")
		line := strings.Count(before, "\n") + 1
		column := len(before) - strings.LastIndexByte(before, '\n')
		fatal.Same(t, End(strings.Split(strings.Replace(c.text, "|", "", 1), "\n"), line, column), c.end, "%s: ends at line", name)
	}
	for _, at := range [][2]int{{0, 1}, {1, 0}, {2, 1}, {1, 99}} {
		fatal.Same(t, End([]string{"f() {}"}, at[0], at[1]), 0, "%v", at)
	}
}

// Of a long function as much is looked at as it takes, also what goes on behind many
// empty lines.
func TestWhereALongFunctionEnds(t *testing.T) {
	for n := range 300 {
		text := "const f = a =>\n" + strings.Repeat("  b +\n", n) + "  c\n" + strings.Repeat("\n", 70) + "  .d\n" + strings.Repeat("\n", 70) + "const g = 1"
		if got, want := End(strings.Split(text, "\n"), 1, 11), n+73; got != want {
			t.Fatalf("%d lines: ends at line %d, want %d", n, got, want)
		}
		text = "f() {\n" + strings.Repeat("  a();\n", n) + "}\ng()"
		if got, want := End(strings.Split(text, "\n"), 1, 1), n+2; got != want {
			t.Fatalf("%d lines: ends at line %d, want %d", n, got, want)
		}
	}
}

// A source map may hold any text. Each template within another one took some of the
// stack, of which no program may have more than 1 GiB.
func TestTemplatesWithinEachOther(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 20))
	for _, end := range []string{"", strings.Repeat("}`", 1<<20)} {
		fatal.Same(t, End([]string{"f() {" + strings.Repeat("`${", 1<<20) + end + "}"}, 1, 1), 0, "ends at line")
	}
	fatal.Same(t, End([]string{"f() {" + strings.Repeat("`${", 999) + strings.Repeat("}`", 999) + "}"}, 1, 1), 1, "ends at line")
}

func TestTheLineThatCalls(t *testing.T) {
	lines := strings.Split("function price(n) {\n  const h = crypto.createHash('a');\n  // update(\n  h.update(n); h.update(n);\n  a.b(1);\n  b (2);\n  return price(n);\n}\nupdate();", "\n")
	for name, want := range map[string]int{"createHash": 2, "Hash.update": 4, "b": 0, "none": 0, "price": 7, "(anonymous)": 0, "": 0} {
		fatal.Same(t, CallLine(lines, 1, 8, name), want, "%q is called on line", name)
	}
	fatal.Same(t, CallLine([]string{strings.Repeat("a();", 400)}, 1, 1, "a"), 0, "a line of a bundle")
}

func FuzzEnd(f *testing.F) {
	f.Add("f(a) {\n`${ {} }`\n}", 1, 2)
	f.Fuzz(func(t *testing.T, text string, line, column int) {
		lines := strings.Split(text, "\n")
		if end := End(lines, line, column); end != 0 && (end < line || end > len(lines)) {
			t.Errorf("a function of %d lines from %d ends at %d", len(lines), line, end)
		}
	})
}

// One of several names is as good as another; two lines that call are no one's.
func TestTheLineThatCallsOneOfSeveral(t *testing.T) {
	lines := []string{"function handle() {", "  const packed = zlib.gzipSync(text);", "  console.error('x');", "  zlib.gunzipSync(packed);", "}"}
	for want, names := range map[int][]string{
		2: {"syncBufferWrapper", "gzipSync", "deflateSync"},
		3: {"consoleCall", "log", "error"},
		0: {"syncBufferWrapper", "gzipSync", "gunzipSync"},
	} {
		fatal.Same(t, CallLine(lines, 1, 5, names...), want, "%q: line", names)
	}
}
