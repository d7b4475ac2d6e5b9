package collect

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"whittle/internal/fatal"
	"whittle/internal/rawtest"
	"whittle/profile"
)

// generated is a script of six lines, whose line 4 is line 2 of its source, where price
// begins; line 5 is line 3, and line 2 nobody's.
const generated = "'use strict';\nvar glue = 1;\n\nfunction price(items) {\n  return items.length;\n}\n"

// The mappings of it: line 4 → 2, 5 → 3, 6 → 4.
const mappings = ";;;AACA;AACA;AACA"

func mapOf(sources ...any) map[string]any {
	return map[string]any{"version": 3, "sources": sources, "names": []string{}, "mappings": mappings}
}

// Where a function is reported, for the ways in which bundlers write maps.
func TestWhatAScriptWasGeneratedFrom(t *testing.T) {
	type files map[string]any // a text, or a map
	named := generated + "//# sourceMappingURL=app.js.map\n"
	for name, c := range map[string]struct {
		files files
		at    string // of price, from the folder on
		line  int
		owner profile.Owner
	}{
		"a map of its own":          {files{"dist/app.js": named, "dist/app.js.map": mapOf("../src/price.ts")}, "src/price.ts", 3, profile.Own},
		"a name that a URL escapes": {files{"dist/app.js": named, "dist/app.js.map": mapOf("../src/%5Bid%5D.ts")}, "src/[id].ts", 3, profile.Own},
		"inline":                    {files{"dist/app.js": inline(mapOf("../src/price.ts"))}, "src/price.ts", 3, profile.Own},
		"hidden":                    {files{"dist/app.js": generated, "dist/app.js.map": mapOf("../src/price.ts")}, "src/price.ts", 3, profile.Own},
		"gone":                      {files{"dist/app.js": named}, "dist/app.js", 5, profile.Own},
		"broken":                    {files{"dist/app.js": named, "dist/app.js.map": `{"version":3,"sources":["a`}, "dist/app.js", 5, profile.Own},
		"a directory":               {files{"dist/app.js": named, "dist/app.js.map/x": ""}, "dist/app.js", 5, profile.Own},
		"of another version":        {files{"dist/app.js": named, "dist/app.js.map": map[string]any{"version": 2}}, "dist/app.js", 5, profile.Own},
		"a source of no name":       {files{"dist/app.js": named, "dist/app.js.map": mapOf(nil)}, "dist/app.js", 5, profile.Own},
		"of a library":              {files{"dist/app.js": named, "dist/app.js.map": mapOf("../node_modules/money/index.js")}, "node_modules/money/index.js", 3, profile.Library},
		"by webpack": {files{
			"dist/app.js": named, "dist/app.js.map": mapOf("webpack://shop/./src/price.ts"), "src/price.ts": "\nfunction price(items) {\n  return items.length;\n}\n",
		}, "src/price.ts", 3, profile.Own},
		"twice":        {files{"dist/app.js": named, "dist/app.js.map": mapOf("../out/price.js"), "out/price.js": "\n\n\n" + named, "out/price.js.map": ""}, "out/price.js", 3, profile.Own},
		"below a root": {files{"dist/app.js": named, "dist/app.js.map": with(mapOf("src/price.ts"), "sourceRoot", "../")}, "src/price.ts", 3, profile.Own},
		"of sections": {files{
			"dist/app.js": named, "dist/app.js.map": map[string]any{"version": 3, "sections": []any{section(1, ";;AACA;AACA;AACA", "../src/price.ts")}},
		}, "src/price.ts", 3, profile.Own},
	} {
		folder := t.TempDir()
		for at, text := range c.files {
			write(t, filepath.Join(folder, at), text)
		}
		p := &profile.Profile{
			Kind: profile.CPU, Runtime: profile.Node,
			Functions: []profile.Function{{Name: "price", File: filepath.Join(folder, "dist/app.js"), Line: 4, Column: 15}},
			Samples:   []profile.Sample{{Stack: []profile.Frame{{Line: 5}}, Value: 1}},
		}
		readLines(t.Context(), nil, p)
		f := p.Functions[0]
		at := strings.TrimPrefix(f.File, folder+"/")
		if at != c.at || int(p.Samples[0].Stack[0].Line) != c.line || f.Owner != c.owner {
			t.Errorf("%s: %s:%d of %d, want %s:%d of %d", name, at, p.Samples[0].Stack[0].Line, f.Owner, c.at, c.line, c.owner)
		}
	}
}

func inline(m map[string]any) string {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return generated + "//# sourceMappingURL=data:application/json;base64," + base64.StdEncoding.EncodeToString(b) + "\n"
}

func with(m map[string]any, key string, value any) map[string]any {
	m[key] = value
	return m
}

func section(line int, mappings, source string) map[string]any {
	return map[string]any{"offset": map[string]int{"line": line, "column": 0}, "map": map[string]any{"version": 3, "sources": []string{source}, "mappings": mappings}}
}

func write(t *testing.T, file string, text any) {
	t.Helper()
	fatal.If(t, os.MkdirAll(filepath.Dir(file), 0o755))
	b, ok := text.(string)
	if !ok {
		encoded, err := json.Marshal(text)
		fatal.If(t, err)
		b = string(encoded)
	}
	fatal.Write(t, file, b)
}

func TestAnOldMapIsAnotherBuilds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "app.js")
	write(t, file, generated)
	write(t, file+".map", mapOf("price.ts"))
	if readMap(file, strings.Split(generated, "\n")) == nil {
		t.Error("a new one was not read")
	}
	made, err := os.Stat(file)
	fatal.If(t, err)
	old := made.ModTime().Add(-time.Hour)
	fatal.If(t, os.Chtimes(file+".map", old, old))
	if readMap(file, strings.Split(generated, "\n")) != nil {
		t.Error("an old one was read")
	}
}

// A line of a minified script that holds a whole function is of the source's line that
// runs, where there is but one; else the function is known alone.
func TestALineThatHoldsAFunction(t *testing.T) {
	const head = "\nfunction price(items): number[] {\n"
	for name, c := range map[string]struct {
		source, mappings string // of the head, what runs, and the end
		line             int32
	}{
		"one line runs":   {head + "  return items.length;\n}\n", "AACA,iBACA,QACA", 3},
		"two lines run":   {head + "  log(items);\n  return items.length;\n}\n", "AACA,iBACA,IACA,QACA", 0},
		"it is one line":  {"\nfunction price(items) { return items.length; }\n", "AACA,iBAAA", 2},
		"others are near": {head + "  return items.length;\n}\nfunction other() {\n  a();\n}\n", "AACA,iBACA,QACA,CACA,CACA,CACA", 3},
	} {
		folder := t.TempDir()
		write(t, filepath.Join(folder, "dist/app.js"), "function price(n){return n.length}\n//# sourceMappingURL=app.js.map\n")
		write(t, filepath.Join(folder, "dist/app.js.map"), with(with(mapOf("../src/price.ts"), "sourcesContent", []string{c.source}), "mappings", c.mappings))
		p := &profile.Profile{
			Kind: profile.CPU, Runtime: profile.Node,
			Functions: []profile.Function{{Name: "price", File: filepath.Join(folder, "dist/app.js"), Line: 1, Column: 15}},
			Samples:   []profile.Sample{{Stack: []profile.Frame{{Line: 1}}, Value: 1}},
		}
		readLines(t.Context(), nil, p)
		if f := p.Functions[0]; f.File != filepath.Join(folder, "src/price.ts") || p.Samples[0].Stack[0].Line != c.line || f.Ends == 0 {
			t.Errorf("%s: %s:%d to %d, line %d, want %d", name, f.File, f.Line, f.Ends, p.Samples[0].Stack[0].Line, c.line)
		}
	}
}

// TestLinesOfASourceOnce: the text of a source that a map holds is split into its lines once, however
// many functions are of it.
func TestLinesOfASourceOnce(t *testing.T) {
	const functions, lines = 200, 20_000
	script := filepath.Join(t.TempDir(), "app.js")
	m := mapOf("price.ts")
	m["sourcesContent"] = []string{"\nfunction price(items) {\n  return items.length;\n}\n" + strings.Repeat("1;\n", lines)}
	write(t, script, generated+"//# sourceMappingURL=app.js.map\n")
	write(t, script+".map", m)
	read := func(n int) uint64 {
		p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node}
		for range n {
			p.Functions = append(p.Functions, profile.Function{Name: "price", File: script, Line: 4, Column: 15})
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		readLines(t.Context(), nil, p)
		runtime.ReadMemStats(&after)
		if f := p.Functions[n-1]; filepath.Base(f.File) != "price.ts" || f.Line != 2 || f.Ends != 4 {
			t.Fatalf("%+v", f)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	const all = 16 * lines // a text has a pointer and a length
	if one, many := read(1), read(functions); many > one+10*all {
		t.Errorf("%d functions of one source took %d bytes, and one took %d", functions, many, one)
	}
}

// heard passes the connection at an address on to another, and collects what comes back.
func heard(t *testing.T, to string) (at string, said func() string) {
	t.Helper()
	var all bytes.Buffer
	over := make(chan struct{})
	url := rawtest.Serve(t, func(client net.Conn, _ int) {
		defer close(over)
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer server.Close()
		go func() {
			io.Copy(server, client)
			server.Close()
		}()
		io.Copy(client, io.TeeReader(server, &all))
	})
	return strings.TrimPrefix(url, "http://"), func() string { <-over; return all.String() }
}

// A process that is asked for its scripts pauses at no debugger statement of its own.
func TestNothingPausesAtADebuggerStatement(t *testing.T) {
	pid := script(t, "console.log(); const again = () => { debugger; setImmediate(again) }; again()")
	s := attached(t, pid)
	u, err := url.Parse(s.Address())
	fatal.If(t, err)
	at, said := heard(t, u.Host)
	u.Host = at
	i, err := dialInspector(t.Context(), u.String(), false)
	fatal.If(t, err)
	of := &sources{ctx: t.Context(), i: i, r: newRoutes()}
	of.fetch([]*profile.Function{{Script: "1"}, {Script: "2"}, {Script: "3"}})
	fatal.If(t, i.Close(t.Context()))
	if all := said(); !strings.Contains(all, "Debugger.scriptParsed") || strings.Contains(all, "Debugger.paused") {
		t.Errorf("it was not asked, or paused: %.300s", all)
	}
}

// pprof's pages may be another runtime's, as of Rust's pprof-rs: they are refused, since
// their functions are not Go's.
func TestPprofOfAnotherRuntime(t *testing.T) {
	own := &pprof.Function{ID: 1, Name: "shop::price", Filename: "/srv/shop/src/main.rs"}
	library := &pprof.Function{ID: 2, Name: "<hyper::Conn as core::future::Future>::poll", Filename: "/root/.cargo/registry/src/hyper-1/src/conn.rs"}
	p := &pprof.Profile{
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, Function: []*pprof.Function{own, library},
		Location: []*pprof.Location{{ID: 1, Line: []pprof.Line{{Function: own, Line: 7}}}, {ID: 2, Line: []pprof.Line{{Function: library}}}}, DurationNanos: 1e9,
	}
	p.Sample = []*pprof.Sample{{Location: p.Location, Value: []int64{100, 1e9}}}
	var raw bytes.Buffer
	fatal.If(t, p.Write(&raw))
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/cmdline", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "/usr/bin/shop") })
	mux.HandleFunc("/debug/pprof/profile", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(raw.Bytes()) })
	source, err := Open(t.Context(), serves(t, mux.ServeHTTP))
	fatal.If(t, err)
	if _, err := source.Take(t.Context(), profile.CPU, time.Second); err == nil || !strings.Contains(err.Error(), "not a Go program's") {
		t.Errorf("%v", err)
	}
}
