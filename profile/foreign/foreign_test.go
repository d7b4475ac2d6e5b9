package foreign

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"whittle"
	"whittle/profile"
)

// top gives the runtime, and the own line that asks for most.
func top(t *testing.T, text []byte) (*profile.Profile, string, int) {
	t.Helper()
	p, err := Read(text, "")
	if err != nil {
		t.Fatal(err)
	}
	sites := p.Sites(1)
	if len(sites) == 0 {
		t.Fatal("no own code")
	}
	return p, p.Functions[sites[0].Function].Name, int(sites[0].Line)
}

// Files that the real tools wrote: py-spy 0.4.3 of a small service, with files by their
// whole paths and without, and async-profiler 3.0 of a program with one hot loop.
func TestRealTools(t *testing.T) {
	for name, want := range map[string]struct {
		runtime  profile.Runtime
		function string
		line     int
	}{
		"pyspy.txt":             {profile.Python, "discount", 7},
		"pyspy-short.txt":       {profile.Python, "discount", 7},
		"pyspy.speedscope.json": {profile.Python, "discount", 7},
		"async-profiler.txt":    {profile.Java, "com.example.Shop.discount", 0},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		p, function, line := top(t, text)
		if p.Runtime != want.runtime || function != want.function || line != want.line {
			t.Errorf("%s: %s %s at line %d, want %+v", name, p.Runtime, function, line, want)
		}
	}
}

// perfText is in the form of perf 6's script, with the period and lines of the sources.
const perfText = `# captured on: Mon
shop 4711/4712 [001] 100.000000:   10101010 cpu-clock:u:
	    55d0c0de1139 weigh+0x9 (inlined)
	    55d0c0de1139 total+0x9 (/srv/shop)
  total.c:12
	    55d0c0de1188 main+0x18 (/srv/shop)
  main.c:30
	    7f00c0de29d9 __libc_start_main+0xe9 (/usr/lib/x86_64-linux-gnu/libc.so.6)

shop 4711/4712 [001] 100.010101:   10101010 cpu-clock:u:
	ffffffff81a6b0e4 copy_user_generic (const void *)+0x14 ([kernel.kallsyms])
	    55d0c0de1188 main+0x18 (/srv/shop)
  main.c:31

swapper 0 [000] 100.020202:   10101010 cpu-clock:u:

`

func TestPerf(t *testing.T) {
	p, function, line := top(t, []byte(perfText))
	if p.Runtime != profile.Native || p.Service != "shop" || len(p.Samples) != 2 || p.Estimated || p.Total() != 2*10101010 {
		t.Errorf("%+v", p)
	}
	if owner := p.Functions[p.Samples[0].Stack[0].Function].Owner; owner != profile.Own || function == "" || line == 0 {
		t.Errorf("what was inlined into own code is owner %d; %s at %d", owner, function, line)
	}
	if c := p.CategoryOf(&p.Samples[1]); c != profile.Syscall {
		t.Errorf("the kernel's work is %q", c)
	}
	// Frames at the margin, a head without period and time, and V8's names.
	p, function, _ = top(t, []byte("node 31912 cycles: \n 13a80b608e0a LazyCompile:*price /srv/app.js:39 (/tmp/perf-31912.map)\nc6d7895aac9 node::Start(int, char**) (/usr/bin/node)\n\n"))
	if p.Runtime != profile.Node || function != "price" || !p.Estimated {
		t.Errorf("%s %s", p.Runtime, function)
	}
	if _, err := Read([]byte("x 1 [000] 1.000000: cycles:\n\n"), ""); err == nil {
		t.Error("no stack, and no error")
	}
}

func TestPerfCyclesCountForWhatIsUsual(t *testing.T) {
	var b strings.Builder
	for i := range 20 {
		b.WriteString("x 1 [000] 1.0" + string(rune('0'+i/10)) + string(rune('0'+i%10)) + "000: cycles:\n\t  401000 work+0x1 (/srv/x)\n\n")
	}
	p, _, _ := top(t, []byte(b.String()))
	if each := p.Samples[3].Value; each < 900_000 || each > 1_100_000 || !p.Estimated {
		t.Errorf("a sample counts for %d ns, want a millisecond", each)
	}
}

func TestSpeedscopeForms(t *testing.T) {
	const frames = `"shared":{"frames":[{"name":"main","file":"/srv/a.py","line":3},{"name":"sum (/srv/b.py:9)"}]}`
	for name, c := range map[string]struct {
		profiles, fails string
		total           int64
	}{
		"sampled":          {`{"type":"sampled","unit":"milliseconds","endValue":3,"samples":[[0],[0,1]],"weights":[1,2]}`, "", 3e6},
		"evented":          {`{"type":"evented","unit":"microseconds","endValue":5,"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":2},{"type":"C","frame":1,"at":4},{"type":"C","frame":0,"at":5}]}`, "", 5e3},
		"counts":           {`{"type":"sampled","unit":"none","samples":[[0]],"weights":[3]}`, "", 3e7},
		"bytes":            {`{"type":"sampled","unit":"bytes","samples":[[0]],"weights":[4096]}`, "", 4096},
		"a frame too far":  {`{"type":"sampled","unit":"none","samples":[[7]],"weights":[3]}`, "names frame 7 of 2", 0},
		"no weights":       {`{"type":"sampled","unit":"none","samples":[[0]]}`, "neither sampled", 0},
		"not nested":       {`{"type":"evented","unit":"none","events":[{"type":"C","frame":1,"at":4}]}`, "do not nest", 0},
		"a negative time":  {`{"type":"evented","unit":"seconds","events":[{"type":"O","frame":0,"at":4},{"type":"C","frame":0,"at":1}]}`, "weight of -3", 0},
		"an unknown unit":  {`{"type":"sampled","unit":"parsecs","samples":[[0]],"weights":[3]}`, "parsecs", 0},
		"nothing was seen": {`{"type":"sampled","unit":"seconds","samples":[],"weights":[]}`, "no samples", 0},
	} {
		p, err := Read([]byte(`{`+frames+`,"profiles":[`+c.profiles+`]}`), "")
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case p.Total() != c.total || p.Runtime != profile.Python:
			t.Errorf("%s: total %d of %s, want %d", name, p.Total(), p.Runtime, c.total)
		}
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "the file is empty",
		"hello\n":                       `line 1 is not "outer;inner COUNT"`,
		"a;b -3\n":                      "line 1",
		"a;b 99999999999999999999999\n": "line 1",
		"a;b 1\nc\n":                    "line 2",
		"#only\n":                       "no samples",
		"# austin: 3.5.0\na.py:f:1 9\n": "what Austin writes",
		"# callgrind format\nfn=f\n":    "Callgrind's counts",
		"JAVA PROFILE 1.0.2\x00":        "a dump of Java's heap",
		`{"meta":{"interval":1}}`:       "a profile of Firefox's",
		`{"libs":[],"meta":{}}`:         "a profile of Firefox's",
		`{"head":{"hitCount":0},"timestamps":[1]}`:                             "an older form of .cpuprofile",
		`{"shared":{"frames":[{"name":"UNMANAGED_CODE_TIME"}]},"profiles":[]}`: "of .NET's threads",
		"<!doctype html><p>404</p>":                                            "a page or a picture",
		"\n<svg version=\"1.1\"":                                               "a page or a picture",
		"PERFILE2\x68\x00":                                                     "the recording of perf",
		"FLR\x00\x00\x02":                                                      "Java Flight Recorder",
		`{"snapshot":{"meta":{}}}`:                                             "a snapshot of V8's heap",
		`{"traceEvents":[]}`:                                                   "a trace",
		`{"metadata":{}}`:                                                      "a trace",
		`[{"ph":"X","ts":1}]`:                                                  "a trace",
		"heap profile: 1: 2 [3: 4] @":                                          "the text of pprof",
		"goroutine profile: total 6\n":                                         "the text of pprof",
		"--- mutex:\ncycles/second=1\n":                                        "the text of pprof",
		"goroutine 1 [running]:\n":                                             "the stacks of goroutines",
		"\x7fELF\x02":                                                          "a program",
		"PK\x03\x04":                                                           "a zip archive",
		"\x1f\x8b\x08\x00":                                                     "gzipped is cut off",
		"\x00\x01\x02":                                                         "read pprof profile",
		"{}":                                                                   "not a .heapprofile",
	} {
		_, err := Read([]byte(text), "")
		if coded, ok := errors.AsType[*whittle.Error](err); !ok || !strings.Contains(err.Error(), want) || coded.Hint == "" {
			t.Errorf("%q: %v, want %q and a hint", text, err, want)
		}
	}
	if _, err := Read(bytes.Repeat([]byte{'a'}, profile.MaxBytes+1), ""); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("too large: %v", err)
	}
}

// A stack deeper than the bound keeps its leaf.
func TestDeepStacksKeepTheirLeaf(t *testing.T) {
	p, err := Read([]byte(strings.Repeat("f;", 5000)+"leaf 2\n"), "")
	if err != nil || len(p.Samples[0].Stack) != profile.MaxDepth || p.Functions[p.Samples[0].Stack[0].Function].Name != "leaf" {
		t.Errorf("%v %v", p, err)
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(text[:min(len(text), 2000)])
		}
	}
	f.Add([]byte(perfText))
	f.Add([]byte(`{"shared":{"frames":[{"name":"a"}]},"profiles":[{"type":"evented","unit":"none","events":[{"type":"O","frame":0,"at":1e300}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Read(text, "")
		if err != nil || !isText(text) || json.Valid(text) && !bytes.Contains(text, []byte("shared")) {
			return // what package profile reads is held there
		}
		if len(p.Samples) == 0 {
			t.Fatal("nothing was read, and no error")
		}
		sum := int64(0)
		for _, s := range p.Samples {
			if s.Value < 0 || len(s.Stack) == 0 || len(s.Stack) > profile.MaxDepth {
				t.Fatalf("sample %+v", s)
			}
			if sum += s.Value; sum < 0 {
				t.Fatal("the sum overflows")
			}
			for _, at := range s.Stack {
				if int(at.Function) >= len(p.Functions) || at.Line < 0 {
					t.Fatalf("frame %+v of %d functions", at, len(p.Functions))
				}
			}
		}
		p.Sites(3)
		p.Parts()
	})
}

// What is gzipped reads as it does otherwise, and a stack may begin as a page does not.
func TestGzippedFiles(t *testing.T) {
	for _, text := range []string{"<module> (app.py:1);work (app.py:3) 7\n", "main;work 7\n"} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		plain, err := Read([]byte(text), "")
		if err != nil {
			t.Fatal(err)
		}
		p, err := Read(packed.Bytes(), "")
		if err != nil || p.Total() != plain.Total() || len(p.Samples) != 1 {
			t.Errorf("%s: %v", text, err)
		}
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 65 {
		if _, err := z.Write(bytes.Repeat([]byte{'a'}, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(bomb.Bytes(), ""); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a bomb: %v", err)
	}
}

// What knows all of the time, and no samples of it, is no less sure for that.
func TestEventsAreWorthTheirTime(t *testing.T) {
	p, err := Read([]byte(`{"shared": {"frames": [{"name": "main"}, {"name": "price"}]}, "profiles": [{"type": "evented", "unit": "milliseconds", "startValue": 0, "endValue": 2000,
		"events": [{"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 100}, {"type": "C", "frame": 1, "at": 1900}, {"type": "C", "frame": 0, "at": 2000}]}]}`), "")
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, s := range p.Samples {
		n += s.Objects
	}
	if n != 200 {
		t.Errorf("two seconds are worth %d samples", n)
	}
}

// A pprof file that no Go program wrote is of its own runtime, and has own code.
func TestPprofOfOtherRuntimes(t *testing.T) {
	for of, frames := range map[profile.Runtime][][2]string{
		profile.Native: {{"std::f64::sin", "/rustc/abc/library/std/src/f64.rs"}, {"shop::total", "src/orders.rs"}, {"hyper::poll", "/root/.cargo/registry/src/x/hyper-1.0.0/src/lib.rs"}, {"main", ""}},
		profile.Python: {{"sin", "<built-in>"}, {"total", "/srv/shop/orders.py"}, {"dispatch", "/usr/lib/python3/site-packages/flask/app.py"}},
		profile.Java:   {{"java.lang.Math.sin", "Math.java"}, {"com.shop.Orders.total", "Orders.java"}, {"org.springframework.web.D.do", "D.java"}},
		profile.Go:     {{"math.Sin", "/usr/lib/go/src/math/sin.go"}, {"main.total", "/srv/shop/orders.go"}},
	} {
		p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}, DurationNanos: 1e9}
		one := &pprof.Sample{Value: []int64{1e9}}
		for i, f := range frames {
			fn := &pprof.Function{ID: uint64(i + 1), Name: f[0], Filename: f[1]}
			at := &pprof.Location{ID: uint64(i + 1), Line: []pprof.Line{{Function: fn, Line: 7}}}
			p.Function, p.Location, one.Location = append(p.Function, fn), append(p.Location, at), append(one.Location, at)
		}
		p.Sample = []*pprof.Sample{one}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		got, err := Read(b.Bytes(), "")
		if err != nil {
			t.Fatal(err)
		}
		if sites := got.Sites(1); got.Runtime != of || len(sites) == 0 || got.Functions[sites[0].Function].Name != frames[1][0] {
			t.Errorf("%s: read as %s, with own code %+v", of, got.Runtime, sites)
		}
	}
}
