package load

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle"
	"whittle/load/expr"
	"whittle/load/report"
)

// replied makes a response with the given headers and body.
func replied(head, body string) *expr.Response {
	return &expr.Response{
		Status: 200, Head: []byte(head), Body: []byte(body), Size: int64(len(body)),
		Scope: &expr.Scope{RNG: rand.New(rand.NewPCG(1, 1))},
	}
}

func TestWhatIsCapturedIsBounded(t *testing.T) {
	long := strings.Repeat("x", expr.MaxCaptured+1)
	for capture, body := range map[string]string{
		"json: $.a": `{"a":"` + long + `"}`, "regexp: 'x+'": long, "selector: p": "<p>" + long,
	} {
		p := parsed(t, "scenarios: [{flow: [{get: {url: /, capture: {"+capture+", as: v}}}]}]")
		a := replied("", body)
		a.Scope.Values = make([]expr.Value, p.Slots)
		if failure, _ := captureValues(p.Requests()[0], a); failure != report.ErrorCapture {
			t.Errorf("%s took %d bytes", capture, len(a.Scope.Values[0].Text))
		}
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(make([]byte, 8<<20))
	w.Close()
	a := replied("content-encoding: gzip\r\n", z.String())
	if text, whole := a.BodyText(); whole || len(text) > expr.MaxBody {
		t.Errorf("%d bytes of a bomb, whole: %v", len(text), whole)
	}
}

func TestExpectations(t *testing.T) {
	const head = "Content-Type: application/json; charset=utf-8\r\nX-A: 1\r\nX-A: 2\r\n"
	const body = `{"user": {"name": "Ann", "tags": ["x"]}, "n": null}`
	for expect, want := range map[string]bool{
		"statusCode: 200": true, "statusCode: [201, 200]": true, "statusCode: 201": false, "statusCode: '{{ ok }}'": true,
		"notStatusCode: 500": true, "notStatusCode: [200]": false, "notStatusCode: '{{ ok }}'": false,
		"contentType: json": true, "contentType: application/json": true, "contentType: text/html": false,
		"contentType: 'application/json; charset=utf-8'": true,
		"hasHeader: x-a": true, "hasHeader: X-B": false, "headerEquals: [x-a, '1']": true, "headerEquals: [x-a, '2']": false,
		"hasProperty: user.name": true, "hasProperty: 'user.tags[0]'": true, "hasProperty: n": true, "hasProperty: user.age": false,
		"notHasProperty: user.age": true, "notHasProperty: user": false, "hasProperty: 'user.{{ field }}'": true,
		"equals: ['{{ ok }}', 200]": true, "equals: ['{{ ok }}', 201, 200]": false, "equals: [a]": true,
		"matchesRegexp: 'A.n\"'": true, "matchesRegexp: '^Ann'": false,
	} {
		for _, form := range []string{"{" + expect + "}", "[{" + expect + "}]"} {
			p := parsed(t, "config: {variables: {ok: 200, field: name}}\nscenarios: [{flow: [{get: {url: /, expect: "+form+"}}]}]")
			a := replied(head, body)
			a.Scope.Values = make([]expr.Value, p.Slots)
			for i := range p.Variables {
				p.Variables[i].Fill(a.Scope)
			}
			if got := p.Requests()[0].Expect[0].Holds(a); got != want {
				t.Errorf("%s is %v", form, got)
			}
		}
	}
	q := parsed(t, "scenarios: [{flow: [{get: {url: /, expect: {hasProperty: a}}}, {get: {url: /, expect: {notHasProperty: a}}}]}]")
	for _, r := range q.Requests() {
		if r.Expect[0].Holds(replied("", "no json")) {
			t.Error("a body that is not JSON has, or has not, a property")
		}
	}
}

func TestEnsureDecidesTheExitStatus(t *testing.T) {
	srv := newAsked(t, shop)
	const head = "config: {phases: [{duration: 0.1, arrivalCount: 4}], "
	const flow = "}\nscenarios: [{flow: [{get: {url: /}}, {get: {url: /broken}}]}]"
	for _, c := range []struct {
		ensure, says string
		code         whittle.Code
	}{
		{"ensure: {maxErrorRate: 0, p99: 60000, thresholds: [{http.codes.500: 4}, {vusers.failed: 0}]}", "", 0},
		{"ensure: {conditions: [{expression: 'http.codes.500 == 4 and errors.timeout == 0'}, {expression: http.requests < 8, strict: false}]}", "", 0},
		{"ensure: {conditions: [{expression: http.requests < 8}]}", "the condition http.requests < 8 is not met", whittle.FallsShort},
		{"plugins: {expect: {}, ensure: {thresholds: [{http.responses: 7, errors.server_error: 3}]}}", "http.responses is 8, at most 7 is allowed; errors.server_error is 4", whittle.FallsShort},
		{"ensure: {thresholds: [{http.response_time.min: 0}]}", "at most 0 is allowed", whittle.FallsShort},
	} {
		r := run(t, parsed(t, head+c.ensure+flow), Options{Target: srv.URL, MaxLate: 60e9})
		err := r.Err()
		if c.says == "" {
			if err != nil {
				t.Errorf("%s: %v", c.ensure, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.says) || whittle.CodeOf(err) != c.code {
			t.Errorf("%s: %v", c.ensure, err)
		}
	}
	void := &report.Report{Void: "late", Ensure: []report.Check{{Metric: "x"}}}
	if err := void.Err(); whittle.CodeOf(err).ExitStatus() != 3 {
		t.Errorf("a void run: %v", err)
	}
}
