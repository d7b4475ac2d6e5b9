package scaffold

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whittle/contract"
	"whittle/load"
	"whittle/load/expr"
	"whittle/load/plan"
)

// planOf reads a view's plan as whittle load does.
func planOf(t *testing.T, v *view) (p *plan.Plan, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "load.yaml")
	if err := os.WriteFile(path, v.loadPlan(), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := load.ReadPlan(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, v.loadPlan())
	}
	return p, string(v.loadPlan())
}

// TestThePlanSendsWhatWasRecorded: braces in a recorded request are no
// expressions, wherever they stand.
func TestThePlanSendsWhatWasRecorded(t *testing.T) {
	for _, odd := range []string{
		"plain", "{}", "{{", "}}", "{{}}", "{{ name }}", "{{name}}", "{{#if x}}yes{{/if}}", "{{{ raw }}}", "{{{{", "a{{b", "}}{{",
		"{{ $randomNumber(1, 2) }}", "{ {", "${HOME} $${", "\\{{", "\"{{\"", "é{{\u0085\x7f{", "{{ brace }}", "{", "\n{{\r\n",
	} {
		body := `{"subject":"Hi ` + odd + `"}`
		target := "/mails?q=" + strings.NewReplacer(" ", "+", "#", "%23", "\n", "%0A", "\r", "%0D").Replace(odd)
		v, err := newView(textContract(contract.Part{Field: "id"}), Options{Dir: t.TempDir(), Module: "odd"})
		if err != nil {
			t.Fatal(err)
		}
		v.samples["Ask"] = &samples{asked: 2, exchanges: []exchange{
			{Method: "POST", Target: target, Type: `text/plain; x="{{y}}"`, Body: &body, Answer: answer{Status: 200}},
			{Method: "POST", Target: "/mails", Type: "text/plain", Body: &odd, Answer: answer{Status: 200}},
		}}
		p, text := planOf(t, v)
		s := &expr.Scope{Values: make([]expr.Value, p.Slots), RNG: rand.New(rand.NewPCG(1, 2))}
		for i := range p.Variables {
			p.Variables[i].Pick(s)
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
