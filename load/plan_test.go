package load

import (
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
)

const small = "scenarios: [{flow: [{get: {url: /}}]}]\n"

func TestReadPlanFindsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yml")
	if _, err := ReadPlan(path); whittle.CodeOf(err) != whittle.NotFound {
		t.Errorf("no file: %v", err)
	}
	fatal.If(t, os.WriteFile(path, []byte(small), 0o600))
	if p, err := ReadPlan(path); err != nil || p.Name != path {
		t.Errorf("%v %v", p, err)
	}
	fatal.If(t, os.WriteFile(path, make([]byte, plan.MaxBytes+1), 0o600))
	if _, err := ReadPlan(path); whittle.CodeOf(err) != whittle.ResourceExhausted {
		t.Errorf("a huge file: %v", err)
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
		fatal.If(f, err)
		f.Add(string(src))
	}
	f.Add("config: {ensure: {conditions: [{expression: http.requests > 1 and max(1, 2) in (2)}]}}\nscenarios: [{flow: [{parallel: [{get: {url: '{{ a " +
		"}}', ifTrue: a.b ~= \"x\", cookie: {c: d}, auth: {user: u, pass: p}, formData: {f: '{{ a }}'}, capture: {regexp: '(x)', group: 1, as: a}}}], limit: 2}]}]")
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
