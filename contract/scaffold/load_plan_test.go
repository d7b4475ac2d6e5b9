package scaffold

import (
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"whittle/contract"
	"whittle/internal/fatal"
	"whittle/load"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/record/capture"
)

// planOf reads a view's plan as whittle load does.
func planOf(t *testing.T, v *view) (p *plan.Plan, text string) {
	t.Helper()
	path := fatal.Write(t, filepath.Join(t.TempDir(), "load.yaml"), v.loadPlan())
	p, err := load.ReadPlan(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, v.loadPlan())
	}
	return p, string(v.loadPlan())
}

// TestThePlanSendsWhatWasRecorded: braces in a recorded request are no expressions.
func TestThePlanSendsWhatWasRecorded(t *testing.T) {
	for _, odd := range []string{
		"plain", "{}", "{{", "}}", "{{}}", "{{ name }}", "{{name}}", "{{#if x}}yes{{/if}}", "{{{ raw }}}", "{{{{", "a{{b", "}}{{",
		"{{ $randomNumber(1, 2) }}", "{ {", "${HOME} $${", "\\{{", "\"{{\"", "é{{\u0085\x7f{", "{{ brace }}", "{", "\n{{\r\n",
	} {
		body := `{"subject":"Hi ` + odd + `"}`
		target := "/mails?q=" + strings.NewReplacer(" ", "+", "#", "%23", "\n", "%0A", "\r", "%0D").Replace(odd)
		v, err := newView(textContract(contract.Part{Field: "id"}), Options{Dir: t.TempDir(), Module: "odd"})
		fatal.If(t, err)
		v.samples["Ask"] = &samples{asked: 2, exchanges: []exchange{
			{Method: "POST", Target: target, Type: `text/plain; x="{{y}}"`, Body: &body, Response: response{Status: 200}},
			{Method: "POST", Target: "/mails", Type: "text/plain", Body: &odd, Response: response{Status: 200}},
		}}
		p, text := planOf(t, v)
		s := &expr.Scope{Values: make([]expr.Value, p.Slots), RNG: rand.New(rand.NewPCG(1, 2))}
		for i := range p.Variables {
			p.Variables[i].Fill(s)
		}
		requests := p.Requests()
		if len(requests) != 2 {
			t.Fatalf("%d requests", len(requests))
		}
		for i, want := range []string{body, odd} {
			if got := string(requests[i].Body.Render(nil, s)); got != want {
				t.Errorf("the plan sends %q, want %q\n%s", got, want, text)
			}
		}
		wantTarget := string(expr.AppendTarget(nil, target))
		if got := string(requests[0].Path.Render(nil, s)); got != wantTarget {
			t.Errorf("the plan asks for %q, want %q\n%s", got, wantTarget, text)
		}
		for _, h := range requests[0].Headers {
			if got := string(h.Value.Render(nil, s)); h.Name == "content-type" && got != `text/plain; x="{{y}}"` {
				t.Errorf("the plan sends a %q", got)
			}
		}
	}
}

// TestThePlanIsShortEnough: however long the recorded bodies are, the plan can
// be read, has a request of each endpoint that there is room for, and says what
// it left out.
func TestThePlanIsShortEnough(t *testing.T) {
	c := textContract(contract.Part{Field: "id"})
	body, braced := strings.Repeat("\x01", maxSample), strings.Repeat("{", maxBraces+1)
	other := body[1:]
	for _, name := range []string{"Tell", "Show"} {
		m := c.Methods[0]
		m.Name, m.HTTP.Method, m.HTTP.Pattern = name, "POST", "/"+name
		c.Methods = append(c.Methods, m)
	}
	v, err := newView(c, Options{Dir: t.TempDir(), Module: "odd"})
	fatal.If(t, err)
	short := "{}"
	for name, bodies := range map[string][]*string{"Ask": {&body, &other, &short, &braced}, "Tell": {&short, &body}, "Show": {&body}} {
		s := &samples{asked: 1}
		for _, b := range bodies {
			s.exchanges = append(s.exchanges, exchange{Method: "POST", Target: "/" + name, Body: b, Response: response{Status: 200}})
		}
		v.samples[name] = s
	}
	p, text := planOf(t, v)
	if len(p.Requests()) != 3 || len(p.Scenarios) != 2 {
		t.Errorf("%d requests in %d scenarios", len(p.Requests()), len(p.Scenarios))
	}
	for _, want := range []string{
		"  # Ask: left out 2 recorded requests that a plan has no room for (1 MiB for all, 1000 doubled braces in each)\n",
		"  # Tell: left out 1 recorded request that a plan has no room for (1 MiB for all, 1000 doubled braces in each)\n",
		"  # Show: left out 1 recorded request that a plan has no room for (1 MiB for all, 1000 doubled braces in each)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan does not say %q", want)
		}
	}
}

// TestThePlanHasEachInput: every distinct request is sent, failures and redirects
// too, none of them twice, and the load that a user makes stays what it was.
func TestThePlanHasEachInput(t *testing.T) {
	v, err := newView(textContract(contract.Part{Field: "id"}), Options{Dir: t.TempDir(), Module: "odd"})
	fatal.If(t, err)
	s := &samples{asked: 500, coverage: capture.Coverage{Inputs: 23, Covered: 20, Kinds: 4, KindsCovered: 4}}
	for i := range 20 {
		x := exchange{Method: "POST", Target: "/mails?n=" + strconv.Itoa(i), Response: response{Status: 200}}
		switch i {
		case 7:
			x.Response.Status = 422
		case 8:
			x.Response.Status = 302
		case 9:
			x.Response.Status = 500
		}
		s.exchanges = append(s.exchanges, x)
		if i == 3 { // the same request got another response, too
			x.Response.Status = 404
			s.exchanges = append(s.exchanges, x)
		}
	}
	v.samples["Ask"] = s
	p, text := planOf(t, v)
	if requests := p.Requests(); len(requests) != 20 || len(p.Scenarios) != 3 {
		t.Errorf("%d requests in %d scenarios\n%s", len(requests), len(p.Scenarios), text)
	}
	for i := range p.Scenarios {
		if s := &p.Scenarios[i]; s.Weight != 25 || len(s.Steps) < 6 {
			t.Errorf("a scenario of %d requests weighs %g, want 6 or 7 and 500 / 20", len(s.Steps), s.Weight)
		}
	}
	for _, want := range []string{
		"  # Ask: 20 of 23 distinct recorded inputs\n", `url: "/mails?n=7"`, "expect: {statusCode: 422}", `url: "/mails?n=19"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan has no %q\n%s", want, text)
		}
	}
	_, redirect, _ := strings.Cut(text, `url: "/mails?n=8"`)
	redirect, rest, _ := strings.Cut(redirect, "- post:")
	if !strings.Contains(redirect, "followRedirect: false") || !strings.Contains(redirect, "expect: {statusCode: 302}") {
		t.Errorf("a redirect is asked for by %s", redirect)
	}
	if failure, _, _ := strings.Cut(rest, "- post:"); strings.Contains(failure, "expect") {
		t.Errorf("a failure of the server is expected again: %s", failure)
	}
	if twice, _, _ := strings.Cut(text[strings.Index(text, "n=3\""):], "- post:"); strings.Contains(twice, "expect") {
		t.Errorf("one of two statuses is expected: %s", twice)
	}
}

// TestAPlanSaysWhoseRequestsItHas: those of a document are nobody's.
func TestAPlanSaysWhoseRequestsItHas(t *testing.T) {
	v, err := newView(textContract(contract.Part{Field: "id"}), Options{Dir: t.TempDir(), Module: "odd"})
	fatal.If(t, err)
	if plan := string(v.loadPlan()); !strings.HasPrefix(plan, "# A made-up request of each method") {
		t.Errorf("%.80s", plan)
	}
	v.samples["other"] = &samples{}
	if plan := string(v.loadPlan()); !strings.HasPrefix(plan, "# Users as they were recorded") {
		t.Errorf("%.80s", plan)
	}
}
