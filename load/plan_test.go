package load

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/wire"
)

const small = "scenarios: [{flow: [{get: {url: /}}]}]\n"

// rendered returns the bytes of the plan's first request.
func rendered(t *testing.T, p *plan.Plan) string {
	t.Helper()
	c, s := newClient(t, p, "http://h.example:81/base")
	out, err := c.Render(p.Requests()[0], s)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// newClient makes a client of a plan, and a scope with the first of each variable's
// values.
func newClient(t *testing.T, p *plan.Plan, target string) (*wire.Client, *expr.Scope) {
	t.Helper()
	n, err := wire.NewNetwork(wire.Config{Plan: p, Target: target, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	s := &expr.Scope{RNG: rand.New(rand.NewPCG(1, 1)), Values: make([]expr.Value, p.Slots)}
	for _, v := range p.Variables {
		s.Values[v.Slot] = v.Choices[0]
	}
	return n.NewClient(), s
}

func TestRequestsAreRendered(t *testing.T) {
	const common = "accept-encoding: gzip, deflate, br, zstd\r\nuser-agent: whittle\r\naccept: */*\r\n"
	for _, c := range []struct{ name, yaml, want string }{
		{"get", "get: {url: /a}", "GET /base/a HTTP/1.1\r\nhost: h.example:81\r\n" + common + "\r\n"},
		{
			"another host", "get: {url: 'https://other.example?x=1#part'}",
			"GET /?x=1 HTTP/1.1\r\nhost: other.example\r\n" + common + "\r\n",
		},
		{"an empty post", "post: {url: /}", "POST /base/ HTTP/1.1\r\nhost: h.example:81\r\n" + common + "content-length: 0\r\n\r\n"},
		{
			"json keeps order and types", `post: {url: /, json: {z: 1, a: [true, null, "{{ n }}", "{{ s }}", "n={{ n }}{{ s }}"], e: 1.50, big: 12345678901234567890}}`,
			"POST /base/ HTTP/1.1\r\nhost: h.example:81\r\ncontent-type: application/json\r\n" + common +
				"content-length: 79\r\n\r\n" + `{"z":1,"a":[true,null,7,"q\"\n","n=7q\"\n"],"e":1.5,"big":12345678901234567000}`,
		},
		{
			"form", `put: {url: /, form: {a b: "{{ s }}", n: [1, 2]}}`,
			"PUT /base/ HTTP/1.1\r\nhost: h.example:81\r\ncontent-type: application/x-www-form-urlencoded\r\n" + common +
				"content-length: 19\r\n\r\na+b=q%22%0A&n=1%2C2",
		},
		{
			"headers", `delete: {url: "/{{ s }}/é", headers: {X-A: "{{ s }}!", User-Agent: me, Accept: a/b, Host: elsewhere}}`,
			"DELETE /base/q%22%0A/%C3%A9 HTTP/1.1\r\nx-a: q\" !\r\nuser-agent: me\r\naccept: a/b\r\nhost: elsewhere\r\naccept-encoding: gzip, deflate, br, zstd\r\n\r\n",
		},
		{"patch", "patch: {url: '/', body: '{{ n }}'}", "PATCH /base/ HTTP/1.1\r\nhost: h.example:81\r\n" + common + "content-length: 1\r\n\r\n7"},
		{"environment", "get: {url: '/{{ $env.ROOM }}{{ $environment }}'}", "GET /base/kitchenstaging HTTP/1.1\r\nhost: h.example:81\r\n" + common + "\r\n"},
	} {
		src := plan.Source{Environment: "staging", Getenv: func(string) string { return "kitchen" }}
		p, err := Parse("p.yml", []byte("config: {environments: {staging: {}}, variables: {n: 7, s: \"q\\\"\\n\"}}\nscenarios: [{flow: [{"+c.yaml+"}]}]"), src)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := rendered(t, p); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

func TestRandomTemplates(t *testing.T) {
	p := parsed(t, `scenarios: [{flow: [{get: {url: "/{{ $randomNumber(5, 5) }}/{{ $randomNumber(-2,2) }}/{{ $randomString(4) }}"}}]}]`)
	got := strings.Split(strings.Fields(rendered(t, p))[1], "/")
	if len(got) != 5 || got[2] != "5" || len(got[4]) != 4 {
		t.Errorf("%q", got)
	}
}

func TestAnchorsAndMergesAreResolved(t *testing.T) {
	p := parsed(t, `
base: &base {x-a: "1", x-b: "2"}
scenarios:
  - flow: [{get: {url: /, headers: {<<: *base, x-b: "3"}}}]
`[1:])
	if got := rendered(t, p); !strings.Contains(got, "x-a: 1\r\nx-b: 3\r\n") {
		t.Errorf("%q", got)
	}
}

func TestReadPlanFindsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yml")
	if _, err := ReadPlan(path); whittle.CodeOf(err) != whittle.NotFound {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(path, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadPlan(path); err != nil || p.Name != path {
		t.Errorf("%v %v", p, err)
	}
	if err := os.WriteFile(path, make([]byte, plan.MaxBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPlan(path); whittle.CodeOf(err) != whittle.ResourceExhausted {
		t.Errorf("a huge file: %v", err)
	}
}

func TestWeightsDecideHowOftenAScenarioRuns(t *testing.T) {
	p := parsed(t, `scenarios:
  - {name: a, weight: 1, flow: [{get: {url: /}}]}
  - {name: b, weight: 3, flow: [{get: {url: /}}]}
  - {name: c, weight: 0, flow: [{get: {url: /}}]}`)
	rng, n := rand.New(rand.NewPCG(1, 2)), map[string]int{}
	for range 10_000 {
		n[p.Choose(rng).Name]++
	}
	if n["a"] < 2350 || n["a"] > 2650 || n["c"] != 0 {
		t.Errorf("%v", n)
	}
}

// FuzzPlan checks that no text makes the reader crash, and that what it
// accepts can be prepared and rendered as one well-formed request.
func FuzzPlan(f *testing.F) {
	f.Add("config: {target: 'http://x', phases: [{duration: 1, arrivalRate: 2, rampTo: 3}], variables: {a: [1, b]}}\n" + small)
	f.Add("scenarios: [{weight: 2, flow: [{loop: [{post: {url: '/{{ $uuid }}', json: {a: '{{ $loopCount }}'}}}, {think: 1s}], count: 2}]}]")
	f.Add("a: &x {url: /, qs: {q: '{{ $randomString(3) }}'}}\nscenarios: [{flow: [{get: *x}]}]")
	for _, file := range []string{"shop.yml", "api.yml", "legacy.yml"} {
		src, err := os.ReadFile("testdata/plans/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Add("config: {ensure: {conditions: [{expression: http.requests > 1 and max(1, 2) in (2)}]}}\nscenarios: [{flow: [{parallel: [{get: {url: '{{ a }}', ifTrue: a.b ~= \"x\", cookie: {c: d}, auth: {user: u, pass: p}, formData: {f: '{{ a }}'}, capture: {regexp: '(x)', group: 1, as: a}}}], limit: 2}]}]")
	f.Fuzz(func(t *testing.T, src string) {
		p, err := Parse("p", []byte(src), plan.Source{Getenv: func(string) string { return "" }})
		if err != nil {
			if c := whittle.CodeOf(err); c == whittle.Internal {
				t.Fatalf("an error of no kind: %v", err)
			}
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
			if err != nil {
				t.Fatal(err)
			}
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
