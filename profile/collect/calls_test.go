package collect

import (
	"os"
	"path/filepath"
	"testing"

	"whittle/internal/fatal"
	"whittle/profile"
)

func TestCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.js")
	for text, want := range map[string]bool{
		"sum += Math.round(Math.random() * 100);":  false,
		"for (let i = 0; i < times; i++) sum += i": false,
		"i++ // as draw(i) does":                   true,
		"const b = JSON.parse(body)":               false,
		"while (x[i] < y) { i++ }":                 false,
		"sum += a * b":                             false,
		"return draw(times)":                       true,
		"res.end('Counted to ' + draw(300000))":    true,
		"all.push({ i })":                          true,
		"handlers[i](req)":                         true,
		"make()(req)":                              true,
		"mathMath.round(x)":                        true,
		"if (ready (x)) y = 1":                     true,
		"x = f\t(1)":                               true,
	} {
		fatal.If(t, os.WriteFile(file, []byte("'use strict'\n"+text+"\n"), 0o600))
		f := &profile.Function{File: file, Line: 1, Owner: profile.Own}
		if got := newRoutes().calls(f, 2); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
		if r := newRoutes(); !r.calls(f, 0) || !r.calls(f, 9) || !r.calls(&profile.Function{File: "app.js"}, 2) {
			t.Error("a line that cannot be read may call")
		}
	}
}

// A line outside of its function is that of one that V8 has inlined, whatever it holds: so
// handlers keep the name of the function that they call, and V8 is asked for it.
func TestALineOfAnotherFunctionIsCalled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.js")
	text := "function cart(n) {\n  let sum = 0;\n  for (let i = 0; i < n; i++) sum += i;\n  return sum;\n}\nserve(req => {\n  const n = 1;\n});\nlet last = 1;\n"
	fatal.If(t, os.WriteFile(file, []byte(text), 0o600))
	handler := &profile.Function{File: file, Line: 6, Column: 7, Owner: profile.Own}
	for line, want := range map[int32]bool{3: true, 7: false, 9: true} {
		if got := newRoutes().calls(handler, line); got != want {
			t.Errorf("line %d: %t, want %t", line, got, want)
		}
	}
}

// Node's own functions are called by other names than V8 shows.
func TestCallsOfNodesOwnFunctions(t *testing.T) {
	lines := []string{
		"function handle(req, res) {",
		"  const packed = zlib.brotliCompressSync(text);",
		"  console.warn('packed', packed.length);",
		"  https.get(upstream, (response) => response.pipe(res));",
		"  return crypto.publicEncrypt(key, packed);",
		"}",
	}
	f := &profile.Function{Name: "handle", File: "/srv/app.js", Line: 1, Ends: 6}
	for want, callee := range map[int]profile.Function{
		2: {Name: "syncBufferWrapper", File: "node:zlib"},
		3: {Name: "consoleCall"},
		4: {Name: "request", File: "node:https"},
		5: {Name: profile.Anonymous, File: "node:internal/crypto/cipher"},
		0: {Name: profile.Anonymous, File: "node:internal/util"},
	} {
		if got := callLine(f, &callee, lines); got != want {
			t.Errorf("%s of %s: line %d, want %d", callee.Name, callee.File, got, want)
		}
	}
}
