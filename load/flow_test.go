package load

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/load/artillery"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/whittletest"
)

// once has one virtual user come, and nobody wait for the phase's end.
func once(p *plan.Plan) *plan.Plan {
	return p.WithPhases(plan.Phase{Duration: time.Millisecond, Count: 1, HasCount: true})
}

// shop responds as the flows below want it.
func shop(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/login":
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "s1", Path: "/"})
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"token": "t0p", "items": [{"id": 3}, {"id": 5}], "next": "http://`+r.Host+`/there?x=1"}`)
	case "/moved":
		http.Redirect(w, r, "/landed?from=moved", http.StatusFound)
	case "/broken":
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func TestRedirectsLeadToOtherServersWithoutWhatIsPrivate(t *testing.T) {
	var mu sync.Mutex
	var heard http.Header
	far := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		heard = r.Header
		mu.Unlock()
	})
	d := newAsked(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, far+"/far", http.StatusSeeOther) })
	for _, pool := range []int{0, 2} {
		p := parsed(t, "config: {phases: [{duration: 0.1, arrivalCount: 3}]}\nscenarios: [{flow: [{put: {url: /, json: {}, auth: {user: u, pass: p}, headers: {x-a: b, cookie: c=d}}}]}]")
		r := run(t, p, Options{Target: d.URL, Pool: pool})
		if r.Completed != 3 || r.Failed != 0 || r.Codes["200"] != 3 {
			t.Errorf("%d completed, %v, codes %v", r.Completed, r.Errors, r.Codes)
		}
		if heard.Get("X-A") != "b" || heard.Get("Authorization") != "" || heard.Get("Cookie") != "" {
			t.Errorf("%v", heard)
		}
	}
}

func TestFormsCarryFiles(t *testing.T) {
	var mu sync.Mutex
	var got string
	url := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			got = err.Error()
			return
		}
		f := r.MultipartForm.File["doc"][0]
		in, _ := f.Open()
		b, _ := io.ReadAll(in)
		got = fmt.Sprint(r.MultipartForm.Value, f.Filename, f.Header.Get("Content-Type"), string(b))
	})
	open := func(name string) ([]byte, error) {
		return map[string][]byte{"up/a\"b.txt": []byte("text\r\n--of")}[name], nil
	}
	p, err := Parse("p.yml", []byte(`
config: {variables: {who: ann}}
scenarios: [{flow: [{post: {url: /, formData: {who: "{{ who }}", n: [1, 2], doc: {fromFile: 'up/a"b.txt', filename: other.txt, contentType: text/x}}}}]}]`), plan.Source{Open: open})
	fatal.If(t, err)
	if r := run(t, once(p), Options{Target: url}); r.Completed != 1 {
		t.Error(r.Errors)
	}
	fatal.Same(t, got, "map[n:[1 2] who:[ann]]a%22b.txttext/xtext\r\n--of", "")
	for path, says := range map[string]string{"/etc/passwd": "below the plan's folder", "../x": "below the plan's folder"} {
		_, err := Parse("p.yml", []byte("scenarios: [{flow: [{post: {url: /, formData: {f: {fromFile: "+path+"}}}}]}]"), plan.Source{Open: open})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
	large := func(string) ([]byte, error) { return make([]byte, artillery.MaxUploadBytes/2+1), nil }
	_, err = Parse("p.yml", []byte("scenarios: [{flow: [{post: {url: /, formData: {f: {fromFile: x}, g: {fromFile: x}}}}]}]"), plan.Source{Open: large})
	fatal.Same(t, whittle.CodeOf(err), whittle.ResourceExhausted, "two large files: %v", err)
}

func TestAFailureBeforeTheRunIsTheRunsEnd(t *testing.T) {
	d := newAsked(t, shop)
	p := parsed(t, "before: {flow: [{get: {url: /login, expect: {statusCode: 204}}}]}\n"+small)
	_, err := Run(t.Context(), once(p), Options{Target: d.URL})
	whittletest.Refused(t, err, whittle.Unavailable, "", "before the run failed: expectation (1): expect statusCode of line 1 (status 200)")
	p = parsed(t, "after: {flow: [{get: {url: /broken}}]}\n"+small)
	r := run(t, once(p), Options{Target: d.URL})
	fatal.Has(t, strings.Join(r.Warnings, "\n"), "after the run failed: server_error")
	if r.Requests != 1 || len(r.Names) != 1 {
		t.Errorf("the flow after the run is in the report: %d requests, %v", r.Requests, r.Names)
	}
}

func TestLogLinesReachWhoListens(t *testing.T) {
	d := newAsked(t, nil)
	var mu sync.Mutex
	var got []string
	p := parsed(t, "config: {variables: {v: 5}}\nscenarios: [{flow: [{log: 'v is {{ v }}'}, {get: {url: /}}]}]")
	run(t, once(p), Options{Target: d.URL, OnLog: func(user int64, line string) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprint(user, " ", line))
	}})
	fatal.Same(t, got, []string{"0 v is 5"}, "")
}

func TestPluginsLeaveTheirMark(t *testing.T) {
	d := newAsked(t, shop)
	p := parsed(t, `
config:
  plugins: {expect: {expectDefault200: true, outputFormat: silent}, publish-metrics: [{type: x}], apdex: {threshold: 60000}}
scenarios: [{flow: [{get: {url: /login}}, {get: {url: /moved, followRedirect: false, expect: {statusCode: 302}}}, {get: {url: /broken}}]}]`)
	r := run(t, once(p), Options{Target: d.URL, MaxLate: time.Minute})
	if r.Errors[report.ErrorExpectation] != 1 || whittle.CodeOf(r.Err()) != whittle.FallsShort {
		t.Errorf("%v, %v", r.Errors, r.Err())
	}
	for _, name := range []string{"publish-metrics", "apdex"} {
		fatal.Has(t, strings.Join(r.Warnings, "\n"), name+" is left out")
	}
}

// TestAFormWhoseHooksChangeItSendsItsFileEachTime: the bound on files is on those of the
// plan, however often a request of them is made anew.
func TestAFormWhoseHooksChangeItSendsItsFileEachTime(t *testing.T) {
	s := serving(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	p, err := planOf(t, map[string]string{
		"plan.yml": `config: {target: 'http://x', processor: p.js}
scenarios: [{flow: [{post: {url: /, beforeRequest: mark, formData: {f: {fromFile: big.bin}}}}]}]`,
		"p.js":    "let n = 0; exports.mark = (p, c, e, done) => { p.headers = {'x-n': String(++n)}; done(); }",
		"big.bin": strings.Repeat("x", 5<<20),
	}).WithUsers(plan.Closed{Users: 1, Loops: 5})
	fatal.If(t, err)
	if r := run(t, p, Options{Target: s}); r.Completed != 5 || r.Failed != 0 {
		t.Errorf("%d responses, %v: %v", r.Completed, r.Errors, r.ErrorSamples)
	}
}

// TestAHookThatMakesNoRequestIsAFailure of its request, and of nothing else.
func TestAHookThatMakesNoRequestIsAFailure(t *testing.T) {
	p, err := planOf(t, map[string]string{
		"plan.yml": "config: {target: 'http://127.0.0.1:1', processor: p.js}\nscenarios: [{flow: [{get: {url: /, beforeRequest: spoil}}]}]",
		"p.js":     "exports.spoil = (p, c, e, done) => { p.headers = {'no name': 'x'}; done(); }",
	}).WithUsers(plan.Closed{Users: 1})
	fatal.If(t, err)
	r := run(t, p, Options{})
	if r.Errors[report.ErrorScript] != 1 || !strings.Contains(r.ErrorSamples[report.ErrorScript], "no name") {
		t.Errorf("%v: %v", r.Errors, r.ErrorSamples)
	}
}

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
		"json: $.a": `{"a":"` + long + `"}`, "regexp: 'x+'": long, "selector: p, attr: id": "<p id=" + long + ">",
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
		"matchesRegexp: 'A.n\"'": true, "matchesRegexp: '^Ann'": false, "matchesRegexp: '{{ field }}.: .A'": true,
	} {
		for _, form := range []string{"{" + expect + "}", "[{" + expect + "}]"} {
			p := parsed(t, "config: {variables: {ok: 200, field: name}}\nscenarios: [{flow: [{get: {url: /, expect: "+form+"}}]}]")
			a := replied(head, body)
			a.Scope.Values = make([]expr.Value, p.Slots)
			for i := range p.Variables {
				p.Variables[i].Fill(a.Scope)
			}
			fatal.Same(t, p.Requests()[0].Expect[0].Holds(a), want, "%s", form)
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
		whittletest.Refused(t, err, c.code, c.ensure, c.says)
	}
	void := &report.Report{Void: "late", Ensure: []report.Check{{Metric: "x"}}}
	if err := void.Err(); whittle.CodeOf(err).ExitStatus() != 3 {
		t.Errorf("a void run: %v", err)
	}
}
