package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/whittletest"
)

// files makes a plan's folder of names and sources in turn.
func files(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

func newRuntime(t *testing.T, o Options) *Runtime {
	t.Helper()
	o.CallTime = cmp.Or(o.CallTime, time.Hour) // a busy machine is slow; what is about time sets a bound
	r := New(o)
	t.Cleanup(r.Rest)
	return r
}

// call loads p.js and calls its function f.
func call(t *testing.T, r *Runtime, args ...any) (any, error) {
	t.Helper()
	m, err := r.Load(t.Context(), "p.js")
	if err != nil {
		return nil, err
	}
	f := m.Function("f")
	if f == nil {
		t.Fatal("p.js exports no f")
	}
	return called(t, r, f, args...)
}

// called calls a function of a runtime, and waits for what it returns.
func called(t *testing.T, r *Runtime, f *Function, args ...any) (any, error) {
	t.Helper()
	p, err := Compile(BuiltinPrefix+"call", "f(...args)")
	fatal.If(t, err)
	return r.Run(context.WithoutCancel(t.Context()), p, map[string]any{"f": f.Value(), "args": args})
}

// TestExpressionsAreNodes: testdata/expressions.txt holds expressions over the language
// and Node's modules, each with what Node 22 makes of it.
func TestExpressionsAreNodes(t *testing.T) {
	for line := range strings.Lines(fatal.Read(t, "testdata/expressions.txt")) {
		expression, want, _ := strings.Cut(strings.TrimSpace(line), " ⇒ ")
		r := newRuntime(t, Options{Files: files("p.js", "exports.f = () => JSON.stringify("+expression+")")})
		got, err := call(t, r)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v, want %s", expression, got, err, want)
		}
	}
}

func TestModulesAreFoundAsByNode(t *testing.T) {
	r := newRuntime(t, Options{Files: files(
		"p.js", `const a = require('./lib/a'), b = require('./lib'), d = require('./data.json');
exports.f = () => [a.name, b(), d.x, require('pkg'), require('pkg/part'), require('@s/q').v, require('./lib/a') === a, __dirname, module.id].join()`,
		"lib/a.js", "exports.name = 'a'; exports.up = require('../lib/index.js')",
		"lib/index.js", "module.exports = () => require('pkg') + '!'",
		"data.json", `{"x": 7}`,
		"node_modules/pkg/package.json", `{"main": "./dist/main", "name": "pkg"}`,
		"node_modules/pkg/dist/main.js", "module.exports = 'pkg'",
		"node_modules/pkg/part.js", "module.exports = 'part'",
		"node_modules/@s/q/package.json", `{"exports": {".": {"import": "./no.mjs", "require": {"default": "./yes.cjs"}}}}`,
		"node_modules/@s/q/yes.cjs", "exports.v = 'q'",
	)})
	got, err := call(t, r)
	if err != nil || got != "a,pkg!,7,pkg,part,q,true,/,p.js" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestMistakesNameTheirPlace holds what a person sees.
func TestMistakesNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"syntax", "exports.f = () => {\n  let = ;\n}", "p.js:2:"},
		{"thrown", "exports.f = () => {\n  throw new Error('no');\n}", "p.js:2:9: Error: no"},
		{"thrown text", "exports.f = () => {\n  throw 'plain';\n}", "p.js:2:3: plain"},
		{"type", "exports.f = () => {\n  null.x;\n}", "p.js:2:8: TypeError: Cannot read property 'x'"},
		{"rejected", "exports.f = async () => {\n  throw new Error('later');\n}", "p.js:2:9: Error: later"},
		{"no module", "require('left-pad')", "npm install left-pad"},
		{"no file", "require('./nothing')", "nothing is not in the plan's folder"},
		{"outside", "require('../secret')", "outside of the plan's folder"},
		{"outside by root", "require('/etc/x.js')", "outside of the plan's folder"},
		{"reads outside", "exports.f = () => require('fs').readFileSync('../../etc/passwd')", "outside of the plan's folder"},
		{"reads nothing", "exports.f = () => require('fs').readFileSync('nothing.txt')", "ENOENT"},
		{"renames", "exports.f = () => require('fs').renameSync('x', 'y')", "fs.renameSync is not supported"},
		{"removes", "exports.f = () => require('fs').unlinkSync('p.js')", "files that scripts have not written"},
		{"writes too much", "exports.f = () => { const fs = require('fs'); fs.writeFileSync('x', 'y'.repeat(17 << 20)); fs.readFileSync('x') }", "bytes are kept, and this is beyond"},
		{"http", "exports.f = () => require('http').request('x')", "http.request is not supported in whittle"},
		{"fetch", "exports.f = () => fetch('x')", "fetch is not supported in whittle"},
		{"cipher", "exports.f = () => require('crypto').createCipheriv('aes')", "crypto.createCipheriv is not supported"},
		{"a date in a language", "exports.f = () => new Date().toLocaleDateString('de')", "toLocaleDateString is not supported in whittle"},
		{"a number in a language", "exports.f = () => 1234.5.toLocaleString()", "toLocaleString is not supported in whittle"},
		{"exit", "exports.f = () => process.exit(1)", "process.exit is not supported"},
		{"TypeScript", "require('./lib')", "lib.ts is TypeScript: compile it, and name what that makes: npx esbuild lib.ts --bundle"},
		{"an ES module", "import x from 'y'; export const f = 1", "p.js:1:62: SyntaxError: import not supported in script"},
		{"an ES module's list", "const f = 1;\nexport { f }", "--outfile=p.cjs"},
		{"a named group", "exports.f = () =>\n  /(?<y>a)-(b)/.exec('a-b')[1]", "p.js:2: (?<y> in a regular expression is newer than ES2017"},
		{"a built named group", "exports.f = () => new RegExp('(?<y>' + 'a)')", "named groups"},
		{"a class of letters", `exports.f = () => /\p{Lu}/u.test('É')`, `p.js:1: \p{Lu in a regular expression`},
		{"an asynchronous generator", "exports.f = async () => { for await (const v of []) {} }", "are compiled before: npx esbuild p.js"},
		{"brackets", strings.Repeat("[", 3<<20), "nested deeper than 10000"},
		{"deep", "const g = n => g(n + 1) + 1; exports.f = () => g(0)", "nested deeper than"},
		{"a long text", "exports.f = () => 'x'.repeat(1e9)", "RangeError"},
		{"an endless list", "exports.f = () => { const a = []; a.length = 4e9; a.fill(0) }", "RangeError"},
		{"a huge buffer", "exports.f = () => Buffer.alloc(1e10)", "RangeError"},
		{"many timers", "exports.f = () => { for (;;) setTimeout(() => {}, 1e6) }", "timers are set at once"},
	} {
		_, err := call(t, newRuntime(t, Options{Files: files("p.js", c.src, "lib.ts", "export const f = 1")}))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestWhatHasNoEndIsEnded: a loop, a promise that nobody settles, memory that grows, and
// after each of them the runtime goes on.
func TestWhatHasNoEndIsEnded(t *testing.T) {
	const src = `let kept = [];
exports.f = what => {
  if (what === 'loop') for (;;) {}
  if (what === 'promise') return new Promise(() => {});
  if (what === 'memory') for (;;) kept.push(('x' + kept.length).repeat(1e5));
  if (what === 'microtasks') { const again = () => Promise.resolve().then(again); again(); }
  if (what === 'forget') kept = [];
  return 'ok';
}`
	r := newRuntime(t, Options{Files: files("p.js", src)})
	// Only what has no end has a near bound: anything else takes as long as it takes.
	within := func(bound time.Duration) {
		r.guard.mu.Lock()
		defer r.guard.mu.Unlock()
		r.guard.limits.CallTime, r.options.WaitTime = bound, bound
	}
	within(time.Hour)
	if v, err := call(t, r, "fine"); v != "ok" || err != nil {
		t.Fatal(v, err)
	}
	for _, what := range []string{"loop", "promise", "microtasks"} {
		within(50 * time.Millisecond)
		if v, err := call(t, r, what); err == nil {
			t.Errorf("%s: %v", what, v)
		}
		within(time.Hour)
		if v, err := call(t, r, "fine"); v != "ok" || err != nil {
			t.Errorf("after %s: %v, %v", what, v, err)
		}
	}
	small := newRuntime(t, Options{Files: files("p.js", src), MaxHeap: 32 << 20, CallTime: time.Hour})
	_, err := call(t, small, "memory")
	whittletest.Refused(t, err, whittle.ResourceExhausted, "memory", "MiB")
}

// TestWaitingBlocksNobody: calls that wait for timers and promises wait together.
func TestWaitingBlocksNobody(t *testing.T) {
	r := newRuntime(t, Options{Files: files("p.js", `let open;
exports.f = async what => {
  if (what === 'open') { open(); return 'opened'; }
  await new Promise(done => { open = done; });
  await require('timers/promises').setTimeout(1);
  return await require('util').promisify((v, done) => setImmediate(() => done(null, v)))('waited');
}`)})
	m, err := r.Load(t.Context(), "p.js")
	fatal.If(t, err)
	f := m.Function("f")
	results, begun := make(chan any), make(chan struct{})
	go func() {
		close(begun)
		v, err := called(t, r, f, "wait")
		if err != nil {
			v = err
		}
		results <- v
	}()
	<-begun
	// It may come before the other has begun to wait: then there is nothing to open yet.
	for v := any(nil); v != "opened"; {
		v, _ = called(t, r, f, "open")
	}
	fatal.Same(t, <-results, "waited", "")
}

func TestConsoleIsBounded(t *testing.T) {
	var lines []string
	r := newRuntime(t, Options{
		Files:   files("p.js", "exports.f = () => { console.log('%s', {a: 1}, [2]); console.error('x'.repeat(9999)); for (let i = 0; i < 10001; i++) console.log(i) }"),
		Console: func(line string) { lines = append(lines, line) },
	})
	if _, err := call(t, r); err != nil {
		t.Fatal(err)
	}
	if lines[0] != "{ a: 1 } [ 2 ]" || len(lines[1]) > maxLine+4 || len(lines) != maxLines || !strings.Contains(lines[len(lines)-1], "left out") {
		t.Errorf("%q, %d bytes, %d lines, the last %q", lines[0], len(lines[1]), len(lines), lines[len(lines)-1])
	}
}

// TestProgramsHaveTheirGlobals is what a sampler of a JMeter plan does.
func TestProgramsHaveTheirGlobals(t *testing.T) {
	p, err := Compile("sampler.js", "var n = 4;\nvars.put('a', vars.get('a') + n); log('hi'); ({a: [1, 'x'], b: typeof require, c: null})")
	fatal.If(t, err)
	r := newRuntime(t, Options{})
	vars, said := map[string]string{"a": "v"}, ""
	for range 2 {
		got, err := r.Run(t.Context(), p, map[string]any{
			"vars": map[string]any{
				"get": func(k string) string { return vars[k] },
				"put": func(k, v string) { vars[k] = v },
			},
			"log": func(s string) { said += s },
		})
		if text, _ := json.Marshal(got); err != nil || string(text) != `{"a":[1,"x"],"b":"undefined","c":null}` {
			t.Errorf("%s, %v", text, err)
		}
	}
	if vars["a"] != "v44" || said != "hihi" {
		t.Errorf("%v, %s", vars, said)
	}
	if _, err := r.Run(t.Context(), p, nil); err == nil || !strings.Contains(err.Error(), "sampler.js:2:1: ReferenceError: vars is not defined") {
		t.Errorf("without them: %v", err)
	}
	if _, err := Compile("s.js", "x ="); err == nil || !strings.Contains(err.Error(), "s.js:1:4") {
		t.Errorf("%v", err)
	}
}

// TestAnUnusedRuntimeHasNoEngine: a plan without scripts pays nothing.
func TestAnUnusedRuntimeHasNoEngine(t *testing.T) {
	r := New(Options{})
	r.Rest()
	if r.vm != nil {
		t.Error("it has made an engine")
	}
}

// TestNoTimerFiresOnceItRests: what scripts go on with by themselves ends with the run,
// and a further run of the same plan finds the engine as it was.
func TestNoTimerFiresOnceItRests(t *testing.T) {
	var lines atomic.Int64
	fired := make(chan struct{}, 100)
	r := New(Options{Files: files("p.js", "setInterval(() => console.log('again'), 1); exports.f = () => 7"), Console: func(string) {
		lines.Add(1)
		select {
		case fired <- struct{}{}:
		default:
		}
	}})
	defer r.Rest()
	m, err := r.Load(t.Context(), "p.js")
	fatal.If(t, err)
	<-fired
	r.Rest()
	before := lines.Load()
	if v, err := called(t, r, m.Function("f")); err != nil || v != int64(7) {
		t.Errorf("%v, %v", v, err)
	}
	if len(r.timers) != 0 || lines.Load() != before {
		t.Errorf("%d timers are left, %d lines more", len(r.timers), lines.Load()-before)
	}
}

func TestLinksOutOfTheFolderAreNotFollowed(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for path, src := range map[string]string{dir + "/p.js": "exports.f = () => require('./linked')", outside + "/x.js": "module.exports = 1"} {
		fatal.Write(t, path, src)
	}
	fatal.If(t, os.Symlink(outside+"/x.js", dir+"/linked.js"))
	folder, err := FolderFS(dir)
	fatal.If(t, err)
	if v, err := call(t, newRuntime(t, Options{Files: folder})); err == nil {
		t.Errorf("it was: %v", v)
	}
}

// TestACallThatSettlesAgainMeanwhile: what takes the result may run script, which may call
// back once more.
func TestACallThatSettlesAgainMeanwhile(t *testing.T) {
	r := newRuntime(t, Options{})
	var again func(error)
	_, err := r.Invoke(t.Context(), func(_ *VM, done func(error)) error {
		again = done
		done(nil)
		return nil
	}, func(*VM) error {
		again(errors.New("too late"))
		return nil
	})
	fatal.If(t, err)
}
