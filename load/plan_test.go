package load

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/wire"
	"whittle/whittletest"
)

const small = "scenarios: [{flow: [{get: {url: /}}]}]\n"

func TestReadPlanFindsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yml")
	_, err := ReadPlan(path)
	whittletest.Refused(t, err, whittle.NotFound, "no file")
	fatal.Write(t, path, small)
	if p, err := ReadPlan(path); err != nil || p.Name != path {
		t.Errorf("%v %v", p, err)
	}
	fatal.If(t, os.WriteFile(path, make([]byte, plan.MaxBytes+1), 0o600))
	_, err = ReadPlan(path)
	whittletest.Refused(t, err, whittle.ResourceExhausted, "a huge file")
}

// FuzzPlan checks that no text makes the readers crash, that errors have a kind and name the
// file, and that what is accepted of Artillery's can be prepared and rendered as one
// well-formed request.
func FuzzPlan(f *testing.F) {
	f.Add("config: {target: 'http://x', phases: [{duration: 1, arrivalRate: 2, rampTo: 3}], variables: {a: [1, b]}}\n" + small)
	f.Add("scenarios: [{weight: 2, flow: [{loop: [{post: {url: '/{{ $uuid }}', json: {a: '{{ $loopCount }}'}}}, {think: 1s}], count: 2}]}]")
	f.Add("a: &x {url: /, qs: {q: '{{ $randomString(3) }}'}}\nscenarios: [{flow: [{get: *x}]}]")
	for _, file := range []string{"shop.yml", "api.yml", "legacy.yml"} {
		f.Add(fatal.Read(f, "testdata/plans/"+file))
	}
	f.Add("config: {ensure: {conditions: [{expression: http.requests > 1 and max(1, 2) in (2)}]}}\nscenarios: [{flow: [{parallel: [{get: {url: '{{ a " +
		"}}', ifTrue: a.b ~= \"x\", cookie: {c: d}, auth: {user: u, pass: p}, formData: {f: '{{ a }}'}, capture: {regexp: '(x)', group: 1, as: a}}}], limit: 2}]}]")
	for _, inner := range []string{ // short ones: the fuzzer takes minutes to shorten a long one
		get("/a", `<ResponseAssertion/><hashTree/><RegexExtractor/><hashTree/>`),
		element("CSVDataSet", "filename", "x") + get("${x}", ""),
		`<IfController>` + prop("IfController.condition", `"${x}" == 1`) + `</IfController><hashTree>` + get("", "") + `</hashTree>`,
		`<LoopController>` + prop("LoopController.loops", "3") + `</LoopController><hashTree><ConstantTimer/><hashTree/>` + get("", "") + `</hashTree>`,
		get("/${__time(yyyy,x)}${__RandomString(3,ab,y)}${__jexl3(1+1)}", ""),
	} {
		f.Add(jmx(threads(1, 1, inner)))
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := Parse("p", []byte(src), plan.Source{Getenv: func(string) string { return "" }})
		switch {
		case err != nil && (whittle.CodeOf(err) == whittle.Internal || !strings.HasPrefix(err.Error(), "p:")):
			t.Fatalf("an error of no kind or place: %v", err)
		case err == nil && (len(p.Scenarios) == 0 || len(p.Names) == 0):
			t.Fatal("a plan without requests passed")
		case err != nil || p.Closed(): // JMeter's needs its users
			return
		}
		n, err := wire.NewNetwork(wire.Config{Plan: p, Target: "http://h", Now: time.Now})
		if err != nil {
			return
		}
		s := expr.Scope{RNG: rand.New(rand.NewPCG(1, 1)), Values: make([]expr.Value, p.Slots)}
		for _, v := range p.Variables {
			s.Values[v.Slot] = v.Choices[0]
		}
		for _, q := range p.Requests() {
			if q.Address != nil {
				continue // written when its URL is known
			}
			out, err := n.NewClient().Render(q, &s)
			fatal.If(t, err)
			head, _, ok := strings.Cut(string(out), "\r\n\r\n")
			if !ok {
				t.Fatalf("no end of the head: %q", out)
			}
			for i, line := range strings.Split(head, "\r\n") {
				if strings.ContainsAny(line, "\r\n\x00") || i == 0 && strings.Count(line, " ") != 2 {
					t.Fatalf("line %q", line)
				}
			}
		}
	})
}

// What the environment would lead through a proxy is refused, and NO_PROXY is that of curl
// and net/http.
func TestLoadGoesThroughNoProxy(t *testing.T) {
	for no, straight := range map[string]bool{"": false, ".test": true, "other.test, shop.test": true, "shop.test:81": false} {
		t.Setenv("HTTP_PROXY", "http://me:secret@127.0.0.1:1")
		t.Setenv("http_proxy", "")
		t.Setenv("NO_PROXY", no)
		t.Setenv("no_proxy", "")
		_, err := NewRunner(parsed(t, "scenarios: [{flow: [{get: {url: /}}]}]"), Options{Target: "http://shop.test"})
		if (err == nil) != straight || err != nil && (whittle.CodeOf(err) != whittle.Unsupported || strings.Contains(err.Error(), "secret")) {
			t.Errorf("NO_PROXY=%s: %v", no, err)
		}
	}
}

func TestWorkloadsAreReadOrRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := fatal.Write(t, filepath.Join(dir, name), text)
		return path
	}
	yml, body, jmx := file("p.yml", small), file("body", "hello"), file("p.jmx", "<jmeterTestPlan/>")
	const u = "http://h.example/x"
	for _, c := range []struct {
		name string
		w    Workload
		want string // empty: it is read
		code whittle.Code
	}{
		{"a plan", Workload{Plan: yml}, "", 0},
		{"a plan under a rate", Workload{Plan: yml, Rate: 2, Duration: time.Second}, "", 0},
		{"a plan by users", Workload{Plan: yml, Users: 2, Loops: 3}, "", 0},
		{"a URL", Workload{Plan: u}, "", 0},
		{"a URL with a file", Workload{Plan: u, Request: Request{BodyFile: body}}, "", 0},
		{"a rate without an end", Workload{Plan: yml, Rate: 2}, "--rate needs --duration", whittle.Invalid},
		{"a duration of nothing", Workload{Plan: yml, Duration: time.Second}, "go with --users or --rate", whittle.Invalid},
		{"two bodies", Workload{Plan: u, Request: Request{Body: "x", BodyFile: body}}, "either --body", whittle.Invalid},
		{"both models", Workload{Plan: u, Rate: 1, Duration: time.Second, Users: 1}, "either --rate", whittle.Invalid},
		{"a negative rate", Workload{Plan: u, Rate: -1, Duration: time.Second}, "--rate is below 0", whittle.Invalid},
		{"no number", Workload{Plan: u, Rate: math.NaN(), Duration: time.Second}, "--rate is below 0", whittle.Invalid},
		{"an infinite rate", Workload{Plan: yml, Rate: math.Inf(1), Duration: time.Second}, "is above", whittle.Invalid},
		{"negative users", Workload{Plan: yml, Users: -1}, "--users is below 0", whittle.Invalid},
		{"negative loops", Workload{Plan: u, Loops: -1}, "--loops is below 0", whittle.Invalid},
		{"a negative duration", Workload{Plan: u, Rate: 1, Duration: -1}, "--duration is below 0", whittle.Invalid},
		{"a negative ramp", Workload{Plan: u, Users: 1, Ramp: -1}, "--ramp is below 0", whittle.Invalid},
		{"a rate with a ramp", Workload{Plan: yml, Rate: 2, Duration: time.Second, Ramp: time.Second}, "--ramp and --loops go with --users", whittle.Invalid},
		{"a rate with loops", Workload{Plan: yml, Rate: 2, Duration: time.Second, Loops: 2}, "--ramp and --loops go with --users", whittle.Invalid},
		{"variables of a URL", Workload{Plan: u, Variables: "{}"}, "--variables goes with a plan's file", whittle.Invalid},
		{"overrides of a URL", Workload{Plan: u, Overrides: "{}"}, "--overrides goes with a plan's file", whittle.Invalid},
		{"a config of a URL", Workload{Plan: u, Config: yml}, "--config goes with a plan's file", whittle.Invalid},
		{"a scenario of a URL with a login", Workload{Plan: "http://bob:hunter2@h/", Scenario: "x"}, "--scenario-name goes with a plan's file, and http://h/ is", whittle.Invalid},
		{"properties of a URL", Workload{Plan: u, Properties: map[string]string{"a": "b"}}, "--property goes with a plan's file", whittle.Invalid},
		{"overrides of a JMeter plan", Workload{Plan: jmx, Overrides: "{}"}, "--overrides is of Artillery plans", whittle.Invalid},
		{"neither", Workload{}, "neither a plan's file nor a URL", whittle.Invalid},
		{"a scheme in capitals", Workload{Plan: "HTTP://h.example/x"}, "", 0},
		{"a negative timeout", Workload{Plan: u, Request: Request{Timeout: -1}}, "--timeout is below 0", whittle.Invalid},
	} {
		p, err := c.w.Read()
		if c.want == "" {
			if err != nil || p == nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		whittletest.Refused(t, err, c.code, c.name, c.want)
	}
}

// A server that is written without its scheme is no file that is missing.
func TestAMissingPlanMayBeAServer(t *testing.T) {
	for text, hint := range map[string]string{
		"127.0.0.1:3000":       "write its scheme too: http://127.0.0.1:3000",
		"localhost/Count":      "write its scheme too: http://localhost/Count",
		"[::1]:3000/x":         "write its scheme too: http://[::1]:3000/x",
		"shop.example:80/a?b":  "write its scheme too: http://shop.example:80/a?b",
		"none.yml":             "give a file, or a URL",
		"shop.example/a":       "give a file, or a URL",
		"folder/with:colon/a:": "give a file, or a URL",
	} {
		_, err := Workload{Plan: text}.Read()
		e, ok := errors.AsType[*whittle.Error](err)
		if !ok || e.Code != whittle.NotFound || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %v, hint %q; want %q", text, err, e.Hint, hint)
		}
	}
	file := fatal.Write(t, filepath.Join(t.TempDir(), "plan.yml"), "config: {processor: ./none.js}\nscenarios: [{flow: [{get: {url: /}}]}]")
	_, err := Workload{Plan: file}.Read()
	if e, ok := errors.AsType[*whittle.Error](err); !ok || e.Code != whittle.NotFound || e.Hint != "" {
		t.Errorf("a processor that is not there: %v, hint %q", err, e.Hint)
	}
}

// The two plans that came with the seed's services, word for word, run as they
// are: the second has a header where Artillery reads none, and its requests get
// that header from their JSON bodies.
func TestTheSeedsPlansRunAsTheyAre(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct{ base, want, note string }{
		"baseAppLoadTest.yml": {"", `POST /Count application/json {"times":10000000}`, ""},
		"carvedServiceLoadTest.yml": {"/twirp/twirp.carved.Carved", `POST /twirp/twirp.carved.Carved/Count ` +
			`application/json {"times":10000000}`, "config.defaults, which is a list, is left out, as Artillery leaves it out"},
	} {
		p, err := Read("testdata/plans/seed/"+file, plan.Source{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if p.Planned() != 200 || plan.TotalLength(p.Phases) != 10*time.Second {
			t.Errorf("%s: %d users in %v", file, p.Planned(), plan.TotalLength(p.Phases))
		}
		srv := newAsked(t, nil)
		r := run(t, p.WithPhases(plan.Phase{Count: 20, HasCount: true, Duration: 50 * time.Millisecond}), Options{Target: srv.URL + c.base, MaxLate: time.Hour})
		srv.want(t, map[string]int{c.want: 20})
		fatal.Same(t, r.Failed, 0, "failed of %s", file)
		if notes := strings.Join(r.Warnings, "\n"); (c.note == "") != !strings.Contains(notes, "left out") || !strings.Contains(notes, c.note) {
			t.Errorf("%s warns %q", file, notes)
		}
	}
}
