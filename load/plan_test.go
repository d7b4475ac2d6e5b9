package load

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"whittle"
)

const small = "scenarios: [{flow: [{get: {url: /}}]}]\n"

func TestPhasesAndSettingsAreRead(t *testing.T) {
	p := plan(t, small+`
config:
  target: "http://localhost:3000/base/"
  mode: poisson
  http: {timeout: "2.5s", pool: 8, maxSockets: 1, extendedMetrics: true}
  tls: {rejectUnauthorized: false}
  phases:
    - {duration: 10, arrivalRate: 20, name: seed}
    - {duration: "5m", arrivalRate: "1", rampTo: 50, maxVusers: 30}
    - {duration: 1 hour, arrivalCount: 12}
    - pause: 500ms
`)
	want := []Phase{
		{Name: "seed", Duration: 10 * time.Second, Rate: 20, Poisson: true},
		{Duration: 5 * time.Minute, Rate: 1, Ramp: true, RampTo: 50, MaxUsers: 30, Poisson: true},
		{Duration: time.Hour, Count: 12, HasCount: true, Poisson: true},
		{Duration: 500 * time.Millisecond, Poisson: true},
	}
	if !reflect.DeepEqual(p.Phases, want) {
		t.Errorf("phases %+v", p.Phases)
	}
	if p.HTTP.Timeout != 2500*time.Millisecond || p.HTTP.Pool != 8 || !p.HTTP.Insecure || p.Target != "http://localhost:3000/base/" {
		t.Errorf("settings %+v, target %s", p.HTTP, p.Target)
	}
	q := plan(t, small)
	if q.HTTP.Timeout != 10*time.Second || len(q.Phases) != 1 || q.Phases[0].Planned() != 1 {
		t.Errorf("defaults: %+v %+v", q.HTTP, q.Phases)
	}
}

// rendered gives the bytes of the plan's first request.
func rendered(t *testing.T, p *Plan) string {
	t.Helper()
	prepared, _, err := prepare(p, "http://h.example:81/base", HTTP1)
	if err != nil {
		t.Fatal(err)
	}
	s := scope{rng: rand.New(rand.NewPCG(1, 1)), values: make([]value, p.slots)}
	for _, v := range p.variables {
		s.values[v.slot] = v.choices[0]
	}
	out, _ := prepared[p.requests()[0]].render(nil, nil, &s, nil, nil, time.Time{})
	return string(out)
}

func TestRequestsAreRendered(t *testing.T) {
	const common = "user-agent: whittle\r\naccept: */*\r\n"
	for _, c := range []struct{ name, yaml, want string }{
		{"get", "get: {url: /a}", "GET /base/a HTTP/1.1\r\nhost: h.example:81\r\n" + common + "\r\n"},
		{"no slash", "get: {url: a}", "GET /base/a HTTP/1.1\r\nhost: h.example:81\r\n" + common + "\r\n"},
		{
			"another host", "get: {url: 'https://other.example?x=1#part'}",
			"GET /?x=1 HTTP/1.1\r\nhost: other.example\r\n" + common + "\r\n",
		},
		{"an empty post", "post: {url: /}", "POST /base/ HTTP/1.1\r\nhost: h.example:81\r\n" + common + "content-length: 0\r\n\r\n"},
		{
			"json keeps order and types", `post: {url: /, json: {z: 1, a: [true, null, "{{ n }}", "{{ s }}", "n={{ n }}{{ s }}"], e: 1.50, big: 12345678901234567890}}`,
			"POST /base/ HTTP/1.1\r\nhost: h.example:81\r\ncontent-type: application/json\r\n" + common +
				"content-length: 79\r\n\r\n" + `{"z":1,"a":[true,null,7,"q\"\n","n=7q\"\n"],"e":1.5,"big":12345678901234567890}`,
		},
		{
			"form", `put: {url: /, form: {a b: "{{ s }}", n: [1, 2]}}`,
			"PUT /base/ HTTP/1.1\r\nhost: h.example:81\r\ncontent-type: application/x-www-form-urlencoded\r\n" + common +
				"content-length: 21\r\n\r\na%20b=q%22%0A&n=1&n=2",
		},
		{
			"headers", `delete: {url: "/{{ s }}/é", headers: {X-A: "{{ s }}!", User-Agent: me, Accept: a/b, Host: elsewhere}}`,
			"DELETE /base/q%22%0A/%C3%A9 HTTP/1.1\r\nx-a: q\" !\r\nuser-agent: me\r\naccept: a/b\r\nhost: elsewhere\r\n\r\n",
		},
		{"patch", "patch: {url: '/', body: '{{ n }}'}", "PATCH /base/ HTTP/1.1\r\nhost: h.example:81\r\n" + common + "content-length: 1\r\n\r\n7"},
		{"environment", "get: {url: '/{{ $env.ROOM }}{{ $environment }}'}", "GET /base/kitchenstaging HTTP/1.1\r\nhost: h.example:81\r\n" + common + "\r\n"},
	} {
		src := Source{Environment: "staging", Getenv: func(string) string { return "kitchen" }}
		p, err := src.ParsePlan("p.yml", []byte("config: {environments: {staging: {}}, variables: {n: 7, s: \"q\\\"\\n\"}}\nscenarios: [{flow: [{"+c.yaml+"}]}]"))
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
	p := plan(t, `scenarios: [{flow: [{get: {url: "/{{ $randomNumber(5, 5) }}/{{ $randomNumber(-2,2) }}/{{ $randomString(4) }}/{{ $uuid }}"}}]}]`)
	got := strings.Split(strings.Fields(rendered(t, p))[1], "/")
	if len(got) != 6 || got[2] != "5" || len(got[4]) != 4 || len(got[5]) != 36 || got[5][14] != '4' {
		t.Errorf("%q", got)
	}
}

func TestAnchorsAndMergesAreResolved(t *testing.T) {
	p := plan(t, `
base: &base {x-a: "1", x-b: "2"}
scenarios:
  - flow: [{get: {url: /, headers: {<<: *base, x-b: "3"}}}]
`[1:])
	if got := rendered(t, p); !strings.Contains(got, "x-b: 3\r\nx-a: 1\r\n") {
		t.Errorf("%q", got)
	}
}

func TestErrorsPointAtTheirPlace(t *testing.T) {
	for _, c := range []struct {
		yaml, at, says string
		code           whittle.Code
	}{
		{"", "1:1", "empty", whittle.Invalid},
		{"a: [1", "", "not YAML", whittle.Invalid},
		{"config: {}", "1:1", "no scenarios", whittle.Invalid},
		{"config:\n  processor: ./f.js\n" + small, "2:3", "processor is not supported: it is JavaScript", whittle.Unsupported},
		{"config:\n  plugins:\n    fake-data: {}\n" + small, "3:5", "fake-data is not supported: it is a JavaScript package", whittle.Unsupported},
		{"config:\n  ensure:\n    thresholds: [{http.response_time.p98: 5}]\n" + small, "3:19", "a threshold on http.response_time.p98 is not supported", whittle.Unsupported},
		{"config:\n  ensure:\n    conditions:\n    - expression: http.nothing < 5\n" + small, "4:7", "http.nothing is not supported: known are", whittle.Invalid},
		{"config:\n  phasess: []\n" + small, "2:3", "phasess is not known in config; known are", whittle.Invalid},
		{"config:\n  phases:\n    - duration: 10\n      arrivalRate: fast\n" + small, "4:20", `a number is wanted here, not "fast"`, whittle.Invalid},
		{"config:\n  phases:\n    - duration: 5 parsecs\n" + small, "3:17", "a duration is wanted", whittle.Invalid},
		{"config: {phases: [{duration: -1, arrivalRate: 1}]}\n" + small, "1:30", "not within", whittle.Invalid},
		{"config: {phases: [{arrivalRate: 1}]}\n" + small, "1:20", "has a duration above 0", whittle.Invalid},
		{"config: {phases: [{duration: 1, rampTo: 4}]}\n" + small, "1:20", "rampTo needs the arrivalRate", whittle.Invalid},
		{"config: {phases: [{duration: 1, arrivalRate: 4, arrivalCount: 4}]}\n" + small, "1:20", "either arrivalRate or", whittle.Invalid},
		{"config: {phases: [{pause: 1, duration: 4}]}\n" + small, "1:20", "pause has no duration", whittle.Invalid},
		{"config: {mode: burst}\n" + small, "1:16", `uniform or poisson is wanted here, not "burst"`, whittle.Invalid},
		{"config: {target: 'ftp://x'}\n" + small, "1:18", "not of the form", whittle.Invalid},
		{"scenarios:\n  - flow:\n      - post:\n          url: /\n          beforeRequest: f\n", "5:11", "beforeRequest is not supported", whittle.Unsupported},
		{"scenarios: [{engine: ws, flow: []}]", "1:22", "http is wanted", whittle.Invalid},
		{"scenarios: [{flow: [{think: 1}]}]", "1:12", "no scenario sends a request", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: '/{{ who }}'}}]}]", "1:33", "nothing in the plan defines who", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: '/{{ a + b }}'}}]}]", "1:33", "{{ a + b }} is not supported", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: '/{{ $randomNumber(9,1) }}'}}]}]", "1:33", "lower one first", whittle.Invalid},
		{"scenarios: [{flow: [{get: {url: '/{{ x'}}]}]", "1:33", "{{ without }}", whittle.Invalid},
		{"scenarios: [{flow: [{get: {json: {}}}]}]", "1:28", "has a url", whittle.Invalid},
		{"scenarios: [{flow: [{post: {url: /, json: {}, body: x}}]}]", "1:29", "one of json, body, form and formData", whittle.Invalid},
		{"scenarios: [{flow: [{post: {url: /, headers: {Content-Length: 5}}}]}]", "1:47", "frames the message", whittle.Unsupported},
		{"scenarios: [{flow: [{loop: [{get: {url: /}}]}]}]", "1:22", "never end", whittle.Unsupported},
		{"scenarios: [{weight: 0, flow: [{get: {url: /}}]}]", "1:12", "weights add up to 0", whittle.Invalid},
		{"a: &a [*a]\n" + small, "", "contains itself", whittle.Invalid},
		{"config: {}\nconfig: {}\n" + small, "", "", whittle.Invalid},
	} {
		_, err := Source{}.ParsePlan("p.yml", []byte(c.yaml))
		e, ok := errors.AsType[*whittle.Error](err)
		if !ok || e.Code != c.code || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "p.yml:"+c.at) {
			t.Errorf("%q: %v\nwant %s at %s: %s", c.yaml, err, c.code, c.at, c.says)
		}
	}
}

func TestAliasesCannotExplode(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		b.WriteString(strings.NewReplacer("N", string(rune('0'+i)), "M", string(rune('1'+i))).
			Replace("aM: &aM [*aN, *aN, *aN, *aN, *aN, *aN, *aN, *aN, *aN, *aN]\n"))
	}
	if _, err := (Source{}).ParsePlan("p.yml", []byte(b.String()+small)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a billion values: %v", err)
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
	if err := os.WriteFile(path, make([]byte, maxPlanBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPlan(path); whittle.CodeOf(err) != whittle.ResourceExhausted {
		t.Errorf("a huge file: %v", err)
	}
}

func TestWeightsDecideHowOftenAScenarioRuns(t *testing.T) {
	p := plan(t, `scenarios:
  - {name: a, weight: 1, flow: [{get: {url: /}}]}
  - {name: b, weight: 3, flow: [{get: {url: /}}]}
  - {name: c, weight: 0, flow: [{get: {url: /}}]}`)
	rng, n := rand.New(rand.NewPCG(1, 2)), map[string]int{}
	for range 10_000 {
		n[p.choose(rng).name]++
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
		p, err := Source{Getenv: func(string) string { return "" }}.ParsePlan("p", []byte(src))
		if err != nil {
			if c := whittle.CodeOf(err); c == whittle.Internal {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		prepared, _, err := prepare(p, "http://h", HTTP1)
		if err != nil {
			return
		}
		s := scope{rng: rand.New(rand.NewPCG(1, 1)), values: make([]value, p.slots)}
		for _, v := range p.variables {
			s.values[v.slot] = v.choices[0]
		}
		for _, q := range prepared {
			if q.address != nil {
				continue // written when its URL is known
			}
			out, _ := q.render(nil, nil, &s, nil, nil, time.Time{})
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
