//go:build linux

// Package profile runs the built whittle's profile, diff, guard and find against
// real processes: the Node monolith, the count service as it was published, and
// emojify.
package profile

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/profile/guard"
	"whittle/profile/report"
)

// built is where the commands are.
var built string

func TestMain(m *testing.M) {
	process.Main(m, func() (err error) {
		if err := process.NeedMonolith(); err != nil {
			return err
		}
		built, err = process.Build("./cmd/whittle", "./cmd/demo", "./systems/count/cmd/...", "./systems/emojify/cmd/...")
		return err
	})
}

// counter starts one of the count services, as it is or as it was published.
func counter(t testing.TB, name string, flags ...string) *process.Process {
	t.Helper()
	argv := []string{filepath.Join(built, name), "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-env-file", ""}
	return process.Start(t, append(argv, flags...)...)
}

// pid is a process's id as whittle profile takes it.
func pid(p *process.Process) string { return strconv.Itoa(p.Pid()) }

// program runs a built program in the repository's root.
func program(t *testing.T, name string, args ...string) (said string, status int) {
	t.Helper()
	status, said = process.Run(t, process.Repository, append([]string{filepath.Join(built, name)}, args...)...)
	t.Logf("%s %s: exit status %d\n%s", name, strings.Join(args, " "), status, said)
	return said, status
}

// must runs whittle where it has to succeed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	return process.MustRun(t, process.Repository, 0, append([]string{filepath.Join(built, "whittle")}, args...)...)
}

// enough is how many samples a report names a line from.
const enough = 100

// counted profiles a server while it counts, at a rate a second, and returns what is printed
// and the report saved in a folder. A busy machine gives the server little of a core: the load
// then goes on for longer, until the samples suffice.
func counted(t *testing.T, target, server, path, folder string, rate int) (out string, r report.Report) {
	t.Helper()
	for seconds := 4; ; seconds *= 2 {
		plan := fatal.Write(t, filepath.Join(folder, "plan.yml"), fmt.Sprintf(`
config:
  target: "http://127.0.0.1:1"
  phases:
    - {duration: %d, arrivalRate: %d}
scenarios:
  - flow:
      - post: {url: %q, json: {times: 1000000}}
`, seconds, 2*rate, path))
		file := filepath.Join(folder, "report.json")
		out = must(t, "profile", target, "--during", plan, "--target", "http://"+server, "--save", folder, "--json", file)
		if r = fatal.JSON[report.Report](t, file); r.Samples >= enough || seconds > 60 {
			return out, r
		}
	}
}

// ranking is the part of find's JSON that is looked at.
type ranking struct {
	Advice    string `json:"advice"`
	Endpoints []struct {
		Endpoint string  `json:"endpoint"`
		Share    float64 `json:"cpu_share"`
		Cost     float64 `json:"cpu_ms_per_request"`
		Requests int64   `json:"requests"`
		P99      float64 `json:"p99_ms"`
		Longest  float64 `json:"event_loop_blocked_ms"`
	} `json:"endpoints"`
}

// TestFindSaysWhatToCarveFirst ranks the Node monolith's endpoints.
func TestFindSaysWhatToCarveFirst(t *testing.T) {
	first, second := process.Monolith(t, "--inspect-port=0"), process.Monolith(t, "--inspect-port=0")
	config := fatal.Write(t, filepath.Join(t.TempDir(), "whittle.yaml"), "listen: 127.0.0.1:0\nadmin: off\nmonolith: http://"+first.Public+"\n")
	list := []string{"--endpoint", `POST /Count {"times": 8000000}`, "--endpoint", "GET /", "--rate", "5", "--duration", "2s"}
	for name, target := range map[string][]string{
		"a config":          {"-c", config},
		"a process":         {pid(first), "--target", "http://" + first.Public},
		"several processes": {pid(first), pid(second), "--target", "http://" + first.Public},
	} {
		t.Run(name, func(t *testing.T) {
			kept := filepath.Join(t.TempDir(), "find.json")
			out := must(t, append(append(append([]string{"find"}, target...), list...), "--json", kept)...)
			r := fatal.JSON[ranking](t, kept)
			if len(r.Endpoints) == 0 || r.Endpoints[0].Endpoint != "POST /Count" {
				t.Fatalf("ranking %+v", r)
			}
			top := r.Endpoints[0]
			if want := fmt.Sprintf("Carve POST /Count first: %.0f %% of CPU.", 100*top.Share); r.Advice != want || !strings.Contains(out, want) {
				t.Errorf("advice %q, want %q", r.Advice, want)
			}
			if top.Share < 0.5 || top.Cost <= 0 || top.Requests == 0 || top.P99 <= 0 {
				t.Errorf("%+v", top)
			}
			if top.Longest < 50 {
				t.Errorf("eight million draws did not keep the event loop: %+v", top)
			}
		})
	}
}

// TestFindSeesAGoServiceWithoutLabels ranks a service that knows nothing of whittle:
// one of those of make bench-find, on net/http's mux.
func TestFindSeesAGoServiceWithoutLabels(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "shop")
	// Its own sources are found where they are; what it imports is compiled as for all
	// other tests, and so once. The prefix, which no path has, names this checkout: else
	// the build cache gives what another one has compiled, with the paths there.
	checkout, err := filepath.Abs(process.Repository)
	fatal.If(t, err)
	own := "-gcflags=./...=-trimpath=" + filepath.Join(checkout, "none")
	build := exec.Command("go", "build", "-trimpath", own, "-o", binary, "./http")
	build.Dir = filepath.Join(process.Repository, "e2e/frameworks/testdata/services/go")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	t.Setenv("PLANTED", "1")
	shop := process.Start(t, binary)
	kept := filepath.Join(t.TempDir(), "find.json")
	out := must(t, "find", "http://"+shop.Admin, "--target", "http://"+shop.Public, "--endpoint", `POST /orders/17/price {"n": 10}`,
		"--endpoint", "GET /orders/17", "--endpoint", "GET /health", "--rate", "60", "--duration", "3s", "--json", kept)
	r := fatal.JSON[ranking](t, kept)
	if len(r.Endpoints) == 0 || r.Endpoints[0].Endpoint != "POST /orders/{id}/price" || !strings.Contains(out, "Carve POST /orders/{id}/price first") {
		t.Fatalf("ranking %+v", r)
	}
	if top := r.Endpoints[0]; top.Share < 0.5 || top.Requests == 0 || top.Cost <= 0 {
		t.Errorf("%+v", top)
	}
}

// scene is a part of the demo's JSON.
type scene struct {
	Rate     float64        `json:"requests_per_second"`
	Failed   int64          `json:"failed"`
	APICPU   float64        `json:"api_cpu_ms_per_request"`
	CacheCPU float64        `json:"cache_cpu_ms_per_request"`
	Profile  *report.Report `json:"profile"`
}

// TestDemoEmojify runs the whole demo: the line is named, the CPU falls with
// it, and the guard sees it come back.
func TestDemoEmojify(t *testing.T) {
	out := t.TempDir()
	said, status := program(t, "demo", "emojify", "--short", "--out", out)
	if status != 0 {
		t.Fatalf("demo emojify: exit status %d", status)
	}
	figures := fatal.JSON[struct {
		Format  string         `json:"format"`
		With    scene          `json:"with_the_line"`
		Without scene          `json:"without_it"`
		Fall    float64        `json:"cpu_per_request_fell_by"`
		Target  float64        `json:"target"`
		Guard   *guard.Verdict `json:"guard_when_it_comes_back"`
	}](t, filepath.Join(out, "demo-emojify.json"))
	if figures.Format != "whittle.demo-emojify/1" || figures.With.Failed+figures.Without.Failed != 0 || figures.With.Rate == 0 {
		t.Errorf("the figures: %+v", figures)
	}
	// The line is named by file and line, as the dearest and as what it is.
	printed := line(t, "systems/emojify/api/pictures.go", `fmt.Println("err", d, err)`)
	if p := figures.With.Profile; len(p.Sites) == 0 || !strings.HasSuffix(p.Sites[0].Where(), printed) || !strings.Contains(said, printed) {
		t.Errorf("%s is not the dearest line: %q", printed, p.Words)
	}
	var named []string
	for _, s := range figures.With.Profile.Smells {
		if strings.HasSuffix(s.Where(), printed) {
			named = append(named, s.Name)
		}
	}
	if len(named) != 1 || named[0] != "printed-message" {
		t.Errorf("the line is named %q", named)
	}
	if len(figures.Without.Profile.Smells) > 0 {
		t.Errorf("the clean service smells: %+v", figures.Without.Profile.Smells)
	}
	if figures.With.APICPU <= figures.With.CacheCPU || figures.Without.APICPU >= figures.With.APICPU {
		t.Errorf("CPU a request: api %v and cache %v with the line, api %v without", figures.With.APICPU, figures.With.CacheCPU, figures.Without.APICPU)
	}
	if figures.Target != 0.90 || figures.Fall < figures.Target {
		t.Errorf("the CPU per request fell by %.3f, the target is %.2f", figures.Fall, figures.Target)
	}
	if v := figures.Guard; v == nil || v.Outcome != guard.Broken || len(v.Blame) == 0 || !strings.Contains(v.Blame[0].Function, "api/pictures.go") {
		t.Errorf("the guard when it comes back: %+v", v)
	}
}

// line gives file:line of the one line of a file that has some words in it.
func line(t *testing.T, file, words string) string {
	t.Helper()
	b := fatal.Read(t, filepath.Join(process.Repository, file))
	found := ""
	for i, l := range strings.Split(b, "\n") {
		if strings.Contains(l, words) {
			if found != "" {
				t.Fatalf("%s: two lines have %q", file, words)
			}
			found = fmt.Sprintf("%s:%d", file, i+1)
		}
	}
	if found == "" {
		t.Fatalf("%s: no line has %q", file, words)
	}
	return found
}

// TestTheCarveIsReported profiles the count in Node and in Go, and compares the two.
func TestTheCarveIsReported(t *testing.T) {
	before, after := t.TempDir(), t.TempDir()

	node := process.Monolith(t)
	inspectors := listeningOn(t, node.Pid())
	out, r := counted(t, pid(node), node.Public, "/Count", before, 5)
	random := line(t, "systems/count/monolith/app.js", "Math.random")
	if len(r.Sites) == 0 || r.Sites[0].Where() != random {
		t.Errorf("the random sum at %s is not the dearest line: %+v", random, r.Sites)
	}
	// How much of the handler V8 gives to the line, and how much to the function alone,
	// changes with when it compiled what; together they are what the sum costs.
	handler := 0.0
	for _, s := range r.Sites {
		if s.Function == "handler of POST /Count" {
			handler += s.Share
		}
	}
	if handler < 0.4 {
		t.Errorf("the random sum's handler has %.2f of the CPU: %+v", handler, r.Sites)
	}
	if r.Words == "" || !strings.Contains(out, r.Words) || !strings.Contains(r.Words, random+", in handler of POST /Count") || !strings.Contains(r.Words, "POST /Count costs") {
		t.Errorf("words: %q", r.Words)
	}
	if len(r.Endpoints) == 0 || r.Endpoints[0].Name != "POST /Count" || r.Endpoints[0].CPUPerRequest <= 0 || r.Endpoints[0].Requests == 0 {
		t.Errorf("endpoints: %+v", r.Endpoints)
	}
	process.Until(t, "the inspector is closed again", func() bool {
		return fmt.Sprint(listeningOn(t, node.Pid())) == fmt.Sprint(inspectors)
	})
	node.Kill()

	published := counter(t, "count-as-published")
	_, r = counted(t, "http://"+published.Admin, published.Public, "/twirp/twirp.carved.Carved/Count", after, 20)
	if len(r.Sites) == 0 || !strings.HasSuffix(r.Sites[0].Where(), line(t, "systems/count/published/published.go", "s += r.Int31n(100)")) {
		t.Errorf("the line that draws is not the dearest: %+v", r.Sites)
	} else if s := r.Sites[0]; s.Callee != "math/rand.(*Rand).Int31n" || s.CalleeShare < 0.4 || !strings.Contains(r.Words, "by what it calls, rand.(*Rand).Int31n") {
		t.Errorf("the generator's cost is not shown: %+v, %q", s, r.Words)
	}

	path := filepath.Join(t.TempDir(), "difference.json")
	out = must(t, "profile", "diff", filepath.Join(before, "cpu.cpuprofile"), filepath.Join(after, "cpu.pb.gz"), "--json", path)
	c := fatal.JSON[report.Comparison](t, path)
	const carved = "POST /Count → /twirp.carved.Carved/Count"
	if !c.PerRequest || len(c.Endpoints) == 0 || c.Endpoints[0].Name != carved {
		t.Fatalf("the endpoint is not one row: %+v", c.Endpoints)
	}
	row := c.Endpoints[0]
	if row.Before <= 0 || row.After <= 0 || row.Change >= 0 {
		t.Errorf("the row %+v", row)
	}
	if !strings.HasPrefix(c.Words, carved+": ") || !strings.Contains(c.Words, "before in Node.js") || !strings.Contains(c.Words, "after in Go") ||
		!strings.Contains(c.Before.Sentence, random) || !strings.Contains(c.After.Sentence, "rand.(*Rand).Int31n") || !strings.Contains(out, c.Words) {
		t.Errorf("the comparison:  %q; %q; %q", c.Words, c.Before.Sentence, c.After.Sentence)
	}
}

// TestAProfilingPortForAllIsPointedOut takes Node's inspector on every address.
func TestAProfilingPortForAllIsPointedOut(t *testing.T) {
	for host, open := range map[string]bool{"0.0.0.0": true, "127.0.0.1": false} {
		node := process.Monolith(t, "--inspect-port="+host+":0")
		count(t, node)
		if out := must(t, "profile", pid(node), "--duration", "1s"); strings.Contains(out, "can be reached from other machines") != open {
			t.Errorf("one on %s is pointed out: %v", host, !open)
		}
	}
}
