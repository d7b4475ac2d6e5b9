package load

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/load/artillery"
	"whittle/load/plan"
	"whittle/load/report"
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
		return map[string][]byte{"up/a.txt": []byte("text\r\n--of")}[name], nil
	}
	p, err := Parse("p.yml", []byte(`
config: {variables: {who: ann}}
scenarios: [{flow: [{post: {url: /, formData: {who: "{{ who }}", n: [1, 2], doc: {fromFile: up/a.txt, filename: 'a"b.txt', contentType: text/x}}}}]}]`), plan.Source{Open: open})
	fatal.If(t, err)
	if r := run(t, once(p), Options{Target: url}); r.Completed != 1 {
		t.Error(r.Errors)
	}
	if want := "map[n:[1 2] who:[ann]]a%22b.txttext/xtext\r\n--of"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for path, says := range map[string]string{"/etc/passwd": "below the plan's folder", "../x": "below the plan's folder"} {
		_, err := Parse("p.yml", []byte("scenarios: [{flow: [{post: {url: /, formData: {f: {fromFile: "+path+"}}}}]}]"), plan.Source{Open: open})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
	large := func(string) ([]byte, error) { return make([]byte, artillery.MaxUploadBytes/2+1), nil }
	_, err = Parse("p.yml", []byte("scenarios: [{flow: [{post: {url: /, formData: {f: {fromFile: x}, g: {fromFile: x}}}}]}]"), plan.Source{Open: large})
	if whittle.CodeOf(err) != whittle.ResourceExhausted {
		t.Errorf("two large files: %v", err)
	}
}

func TestAFailureBeforeTheRunIsTheRunsEnd(t *testing.T) {
	d := newAsked(t, shop)
	p := parsed(t, "before: {flow: [{get: {url: /login, expect: {statusCode: 204}}}]}\n"+small)
	_, err := Run(t.Context(), once(p), Options{Target: d.URL})
	if whittle.CodeOf(err) != whittle.Unavailable || !strings.Contains(err.Error(), "before the run failed: expectation (1): expect statusCode of line 1 (status 200)") {
		t.Errorf("%v", err)
	}
	p = parsed(t, "after: {flow: [{get: {url: /broken}}]}\n"+small)
	r := run(t, once(p), Options{Target: d.URL})
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "after the run failed: server_error") {
		t.Errorf("%q", r.Warnings)
	}
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
	if !slices.Equal(got, []string{"0 v is 5"}) {
		t.Errorf("%q", got)
	}
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
		if !strings.Contains(strings.Join(r.Warnings, "\n"), name+" is left out") {
			t.Errorf("%q", r.Warnings)
		}
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
