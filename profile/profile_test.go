package profile

import (
	"bytes"
	"compress/gzip"
	"context"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/whittletest"
)

// build makes a profile of stacks given leaf first, "name:owner" each.
type build struct {
	p  Profile
	at map[string]int32
}

func newBuild(rt Runtime) *build {
	return &build{p: Profile{Kind: CPU, Runtime: rt, Duration: time.Second}, at: map[string]int32{}}
}

func (b *build) add(value int64, endpoint string, stack ...string) *build {
	s := Sample{Value: value, Endpoint: endpoint, At: -1}
	for _, name := range stack {
		name, line, _ := strings.Cut(name, "@")
		i, ok := b.at[name]
		if !ok {
			i = int32(len(b.p.Functions))
			b.at[name] = i
			f := Function{Name: name, File: PackageOf(name) + ".go", Owner: goOwner(PackageOf(name), ""), Category: goRules.of(name)}
			b.p.Functions = append(b.p.Functions, f)
		}
		s.Stack = append(s.Stack, Frame{Function: i, Line: int32(len(line))})
	}
	b.p.Samples = append(b.p.Samples, s)
	return b
}

func (b *build) name(i int32) string { return b.p.Functions[i].Name }

func TestHotCountsRecursionOnce(t *testing.T) {
	b := newBuild(Go).
		add(5, "", "own.walk", "own.walk", "own.main").
		add(3, "", "fmt.Println", "own.walk", "own.main").
		add(2, "", "runtime.mallocgc", "fmt.Println", "own.main")
	want := map[string][2]int64{"own.walk": {5, 8}, "own.main": {0, 10}, "fmt.Println": {3, 5}, "runtime.mallocgc": {2, 2}}
	hot := b.p.Hot(BySelf)
	if len(hot) != len(want) || b.name(hot[0].Function) != "own.walk" {
		t.Fatalf("hot %+v", hot)
	}
	for _, c := range hot {
		fatal.Same(t, want[b.name(c.Function)], [2]int64{c.Self, c.Total}, "%s", b.name(c.Function))
	}
	if first := b.p.Hot(ByTotal)[0]; b.name(first.Function) != "own.main" {
		t.Errorf("by total: %s comes first", b.name(first.Function))
	}
}

func TestSitesNameTheOwnLineThatAskedForTheCost(t *testing.T) {
	b := newBuild(Go).
		add(60, "", "reflect.Value.Field", "fmt.Fprintln", "fmt.Println", "shop/cache.(*C).Get@1234567", "shop/api.handle@12", "net/http.serve").
		add(10, "", "fmt.Fprintln", "fmt.Println", "shop/cache.(*C).Get@1234567", "shop/api.handle@12", "net/http.serve").
		add(20, "", "syscall.write", "net/http.write", "shop/api.handle@123", "net/http.serve").
		add(10, "", "runtime.gcDrain", "runtime.gcBgMarkWorker")
	sites := b.p.Sites(10)
	if len(sites) != 2 {
		t.Fatalf("sites %+v", sites)
	}
	first := sites[0]
	if b.name(first.Function) != "shop/cache.(*C).Get" || first.Line != 7 || first.Value != 70 || first.Share != 0.7 {
		t.Errorf("first site %+v", first)
	}
	var chain []string
	for _, f := range first.Chain {
		chain = append(chain, b.name(f.Function))
	}
	want := []string{"shop/api.handle", "shop/cache.(*C).Get", "fmt.Println", "fmt.Fprintln", "reflect.Value.Field"}
	fatal.Same(t, chain, want, "chain")
	if got := b.p.Sites(1); len(got) != 1 {
		t.Errorf("%d sites of at most 1", len(got))
	}
}

func TestParts(t *testing.T) {
	b := newBuild(Go).
		add(40, "", "runtime.memmove", "encoding/json.Marshal", "shop.handle").
		add(30, "", "runtime.memmove", "shop.copy", "encoding/json.Marshal", "shop.handle"). // own code that json calls is work
		add(20, "", "runtime.memmove", "runtime.gcAssistAlloc", "runtime.mallocgc", "shop.handle").
		add(10, "", "syscall.write", "shop.handle")
	want := []Part{{Encoding, 40, 0.4}, {Work, 30, 0.3}, {Collecting, 20, 0.2}, {Syscall, 10, 0.1}}
	fatal.Same(t, b.p.Parts(), want, "parts")
}

func TestByEndpoint(t *testing.T) {
	b := newBuild(Go).
		add(90, "GET /a", "own.a").add(8, "GET /b", "own.b").add(2, "", "runtime.gcBgMarkWorker")
	b.p.Requests = map[string]int64{"GET /a": 9, "GET /c": 5}
	want := []EndpointCost{
		{"GET /a", 90, 0.9, 9, 1, 10}, {"GET /b", 8, 0.08, 0, 1, 0}, {"", 2, 0.02, 0, 1, 0}, {"GET /c", 0, 0, 5, 0, 0},
	}
	fatal.Same(t, b.p.ByEndpoint(), want, "by endpoint")
	b.p.LabelEndpoints(func(f *Function) string { return map[string]string{"own.b": "other"}[f.Name] }, nil)
	fatal.Same(t, b.p.ByEndpoint()[1].Endpoint, "GET /b", "a label that stays")
}

func TestDiffIsPerRequest(t *testing.T) {
	before := newBuild(Go).add(1000, "GET /a", "fmt.Println", "own.get").add(100, "GET /a", "syscall.write", "own.get").p
	after := newBuild(Go).add(200, "GET /a", "syscall.write", "own.get").add(20, "GET /a", "own.get").p
	before.Requests, after.Requests = map[string]int64{"GET /a": 10}, map[string]int64{"GET /a": 20}
	d := Diff(&before, &after, nil)
	if !d.PerRequest || d.Total.Before != 110 || d.Total.After != 11 || d.Total.Delta() != -99 {
		t.Errorf("total %+v", d.Total)
	}
	type row struct {
		name          string
		before, after float64
	}
	var got []row
	for _, c := range d.Functions {
		got = append(got, row{c.Name, c.Before, c.After})
	}
	want := []row{{"fmt.Println", 100, 0}, {"own.get", 0, 1}, {"syscall.write", 10, 10}}
	fatal.Same(t, got, want, "functions")
	if len(d.Endpoints) != 1 || d.Endpoints[0].Before != 110 {
		t.Errorf("endpoints %v", d.Endpoints)
	}
	after.Requests = nil
	if d := Diff(&before, &after, nil); d.PerRequest || d.Total.Before != 1100 {
		t.Errorf("without requests: %+v", d.Total)
	}
}

func TestOwners(t *testing.T) {
	for _, c := range []struct {
		name, file string
		owner      Owner
		category   Category
	}{
		{"whittle/systems/count/sum.(*Pool).Draw", "whittle/systems/count/sum/pool.go", Own, Work},
		{"main.main", "/home/me/shop/main.go", Own, Work},
		{"shop/rpc.(*GetResponse).String", "shop/rpc/shop.pb.go", Library, Work},
		{"github.com/me/shop/api.Get[go.shape.struct { net/http.X }]", "/home/me/shop/api/get.go", Own, Work},
		{"google.golang.org/protobuf/proto.Marshal", "google.golang.org/protobuf@v1.36.12/proto/encode.go", Library, Encoding},
		{"github.com/a/b.F", "/home/me/go/pkg/mod/github.com/a/b@v1.2.3/f.go", Library, Work},
		{"github.com/a/b.F", "", Library, Work},
		{"net/http.(*conn).serve", "net/http/server.go", Standard, Work},
		{"fmt.Fprintln", "/usr/local/go/src/fmt/print.go", Standard, Formatting},
		{"github.com/me/shop/work.handle.(*Logger).Printf.func1", "log/log.go", Standard, Work}, // inlined
		{"main.handle.(*Logger).Printf.func1", "/usr/local/go/src/log/log.go", Standard, Work},
		{"main.main", "log.go", Own, Work},
		{"runtime.scanObject", "runtime/mgcmark.go", System, Collecting},
		{"internal/runtime/syscall/linux.Syscall6", "", System, Syscall},
		{"memcpy", "", System, Work},
	} {
		fatal.Same(t, goOwner(PackageOf(c.name), c.file), c.owner, "%s in %q: owner", c.name, c.file)
		fatal.Same(t, goRules.of(c.name), c.category, "%s: category", c.name)
	}
	for _, c := range []struct {
		name, url string
		owner     Owner
		category  Category
	}{
		{"handle", "file:///srv/shop/server.js", Own, Work},
		{"(anonymous)", "/srv/shop/server.js", Own, Work},
		{"next", "/srv/shop/node_modules/express/lib/router/index.js", Library, Work},
		{"inspect", "node:internal/util/inspect", Standard, Formatting},
		{"pbkdf2Sync", "node:internal/crypto/pbkdf2", Standard, Crypto},
		{"emit", "ext:deno_node/_events.mjs", Standard, Work},
		{"(garbage collector)", "", System, Collecting},
		{"(idle)", "", System, Idle},
		{"stringify", "", System, Encoding},
	} {
		if o, k := OwnerOfScript(c.url), nodeCategory(c.name, c.url); o != c.owner || k != c.category {
			t.Errorf("%s of %q: owner %d, category %q", c.name, c.url, o, k)
		}
	}
	for url, want := range map[string]string{
		"file:///srv/my%20shop/caf%C3%A9.mjs":  "/srv/my shop/café.mjs",
		"file:///srv/100%/a.mjs":               "/srv/100%/a.mjs",
		"/srv/my%20shop/a.js":                  "/srv/my%20shop/a.js",
		"webpack-internal:///./src/price.ts":   "src/price.ts",
		"webpack:///./src/price.ts?":           "src/price.ts",
		"webpack-internal:///./node_modules/a": "node_modules/a",
	} {
		fatal.Same(t, ShortFile(url), want, "%s", url)
	}
	fatal.Same(t, ShortFile("file:///srv/shop/node_modules/express/lib/router.js"), "node_modules/express/lib/router.js", "short file")
}

// burn spends processor time where a profile can find it.
func burn(r *rand.Rand, n int) (sum uint64) {
	for range n {
		sum += r.Uint64() % 101
	}
	return sum
}

// goProfile profiles burn under an endpoint's label.
func goProfile(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	fatal.If(t, pprof.StartCPUProfile(&b))
	pprof.Do(t.Context(), pprof.Labels(EndpointLabel, "POST /Count"), func(context.Context) {
		r := rand.New(rand.NewPCG(1, 2))
		// Enough work to be seen where others have the machine, and enough time.
		until := time.Now().Add(300 * time.Millisecond)
		for i := 0; i < 1000 || time.Now().Before(until); i++ {
			runtime.KeepAlive(burn(r, 100_000))
		}
	})
	pprof.StopCPUProfile()
	return b.Bytes()
}

func TestReadsWhatGoWrites(t *testing.T) {
	p, err := Read(goProfile(t), "")
	fatal.If(t, err)
	if p.Kind != CPU || p.Runtime != Go || p.Duration < 200*time.Millisecond || time.Since(p.Began) > time.Hour {
		t.Errorf("kind %s, runtime %s, duration %s, began %s", p.Kind, p.Runtime, p.Duration, p.Began)
	}
	top := p.ByEndpoint()[0]
	if top.Endpoint != "POST /Count" || top.Share < 0.8 {
		t.Errorf("endpoints: %+v", top)
	}
	site := p.Sites(1)[0]
	if f := p.Functions[site.Function]; f.Name != "whittle/profile.burn" || !strings.HasSuffix(f.File, "profile_test.go") || f.Owner != Own {
		t.Errorf("the dearest own line is in %+v", f)
	}
	if site.Line == 0 || site.Share < 0.1 {
		t.Errorf("site %+v", site)
	}
}

func TestReadsOtherKindsOfGo(t *testing.T) {
	var b bytes.Buffer
	fatal.If(t, pprof.Lookup("heap").WriteTo(&b, 0))
	for _, kind := range []Kind{Allocations, ""} {
		if p, err := ReadPprof(b.Bytes(), kind); err != nil || p.Kind != Allocations {
			t.Errorf("%s: %v", kind, err)
		}
	}
	_, err := ReadPprof(b.Bytes(), CPU)
	whittletest.Refused(t, err, whittle.Invalid, "CPU of a heap profile")
	b.Reset()
	fatal.If(t, pprof.Lookup("goroutine").WriteTo(&b, 0))
	_, err = Read(b.Bytes(), "")
	whittletest.Refused(t, err, whittle.Invalid, "goroutines", "lock values, but goroutine")
}

func TestReadersRefuse(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	chunk := make([]byte, 1<<20)
	for range MaxBytes>>20 + 1 {
		z.Write(chunk)
	}
	z.Close()
	for name, b := range map[string]string{
		"nothing":        "",
		"other bytes":    "profile me",
		"a bomb":         bomb.String(),
		"cut gzip":       "\x1f\x8b\x08",
		"no nodes":       `{"nodes":[]}`,
		"a cycle":        `{"nodes":[{"id":1,"children":[2]},{"id":2,"children":[1]}],"samples":[1],"timeDeltas":[1],"endTime":2}`,
		"two parents":    `{"nodes":[{"id":1,"children":[3]},{"id":2,"children":[3]},{"id":3}],"samples":[3],"timeDeltas":[1],"endTime":2}`,
		"its own child":  `{"nodes":[{"id":1,"children":[1]}],"samples":[1],"timeDeltas":[1],"endTime":2}`,
		"an id twice":    `{"nodes":[{"id":1},{"id":1}],"samples":[1],"timeDeltas":[1],"endTime":2}`,
		"unknown sample": `{"nodes":[{"id":1}],"samples":[7],"timeDeltas":[1],"endTime":2}`,
		"uneven deltas":  `{"nodes":[{"id":1}],"samples":[1],"timeDeltas":[],"endTime":2}`,
		"no members":     `{}`,
	} {
		if _, err := Read([]byte(b), ""); err == nil {
			t.Errorf("%s: no error", name)
		} else if c := whittle.CodeOf(err); c != whittle.Invalid && c != whittle.ResourceExhausted {
			t.Errorf("%s: code %s: %v", name, c, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(goProfile(f))
	f.Add([]byte(`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},` +
		`{"id":2,"callFrame":{"functionName":"f","url":"/a.js","lineNumber":3},"positionTicks":[{"line":4,"ticks":1}]}],` +
		`"samples":[2,2],"timeDeltas":[10,20],"startTime":5,"endTime":90}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Read(b, "")
		if err != nil {
			return
		}
		for _, s := range p.Samples {
			if len(s.Stack) > MaxDepth+MaxDepth {
				t.Fatalf("a stack of %d frames", len(s.Stack))
			}
			for _, fr := range s.Stack {
				if int(fr.Function) >= len(p.Functions) || fr.Function < 0 {
					t.Fatalf("frame %+v of %d functions", fr, len(p.Functions))
				}
			}
		}
		p.Hot(BySelf)
		p.Sites(5)
		p.ByEndpoint()
		Diff(p, p, nil)
	})
}

func TestCapTotal(t *testing.T) {
	b := newBuild(Go).add(600, "", "own.walk").add(200, "", "own.sit")
	b.p.CapTotal(400)
	if b.p.Total() != 400 || b.p.Samples[0].Value != 300 {
		t.Errorf("samples %+v", b.p.Samples)
	}
	b.p.CapTotal(4000)
	fatal.Same(t, b.p.Total(), 400, "a total below the clock's")
}

// A thread that used a little more than was sampled was sampled by chance; one that used
// far more, in what V8 calls idle. What it waited for a core is nobody's.
func TestFitTotal(t *testing.T) {
	for name, c := range map[string]struct {
		working, idle int
		used          time.Duration
		each, left    time.Duration
	}{
		"as much":             {50, 50, 500, 10, 0},
		"more, by chance":     {50, 50, 600, 12, 0},
		"more, beyond chance": {50, 50, 750, 10, 250},
		"less: it waited":     {50, 50, 100, 2, 0},
		"never idle":          {100, 0, 1000, 10, 0},
		"nothing was seen":    {0, 100, 300, 0, 300},
		"it is not known":     {50, 50, 0, 7, 0},
	} {
		p := &Profile{Kind: CPU, Runtime: Node, Functions: []Function{{Name: "f"}, {Name: "(idle)", Owner: System, Category: Idle}}}
		p.Duration = time.Duration(10 * (c.working + c.idle))
		for i := range c.working + c.idle {
			s := Sample{Stack: []Frame{{}}, Value: 7}
			if i >= c.working {
				s.Stack[0].Function = 1
			}
			p.Samples = append(p.Samples, s)
		}
		p.FitTotal(c.used)
		if c.working > 0 && p.Samples[0].Value != int64(c.each) {
			t.Errorf("%s: each is %d, want %d", name, p.Samples[0].Value, c.each)
		}
		fatal.Same(t, p.Total()-int64(c.working)*int64(c.each), int64(c.left), "left of %s", name)
	}
}

// A worker's idle time is below its thread's function, and no part of any total.
func TestAnIdleWorkerCountsForNothing(t *testing.T) {
	p := Profile{Kind: CPU, Runtime: Node}
	work, idle := p.AddFunction("work", Work), p.AddFunction("(idle)", Idle)
	thread := p.AddFunction("worker: w.js", Work)
	p.Samples = []Sample{
		{Stack: []Frame{{Function: work}, {Function: thread}}, Value: 10, Thread: 1},
		{Stack: []Frame{{Function: idle}, {Function: thread}}, Value: 90, Thread: 1},
	}
	for _, c := range p.Hot(ByTotal) {
		if c.Total > p.Total() || c.Function == idle {
			t.Errorf("%s has %d of %d", p.Functions[c.Function].Name, c.Total, p.Total())
		}
	}
}

// TestReadsWhatNodeWrites reads a profile that node --cpu-prof has written.
func TestReadsWhatNodeWrites(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), needs.Node(t), "--cpu-prof", "--cpu-prof-dir", dir, "testdata/busy.js")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.cpuprofile"))
	if err != nil || len(found) != 1 {
		t.Fatalf("node wrote %v: %v", found, err)
	}
	p, err := Read([]byte(fatal.Read(t, found[0])), "")
	fatal.If(t, err)
	if p.Kind != CPU || p.Runtime != Node || p.Duration < 300*time.Millisecond {
		t.Errorf("kind %s, runtime %s, duration %s", p.Kind, p.Runtime, p.Duration)
	}
	site := p.Sites(1)[0]
	f := p.Functions[site.Function]
	if f.Name != "draw" || !strings.HasSuffix(f.File, "testdata/busy.js") || site.Share < 0.2 || site.Line < 4 || site.Line > 10 {
		t.Errorf("the dearest own line is %d in %+v, share %.2f", site.Line, f, site.Share)
	}
	first, last := p.Samples[0], p.Samples[len(p.Samples)-1]
	if first.At < 0 || last.At > p.Duration || first.At >= last.At {
		t.Errorf("samples from %s to %s of %s", first.At, last.At, p.Duration)
	}
}
