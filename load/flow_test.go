package load

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/load/artillery"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
	"whittle/load/wire"
)

// diary is a server that writes down what it is asked.
type diary struct {
	*httptest.Server
	mu    sync.Mutex
	lines []string // guarded by mu
}

func newDiary(t *testing.T, response http.HandlerFunc) *diary {
	d := &diary{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		d.mu.Lock()
		d.lines = append(d.lines, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+string(b)))
		d.mu.Unlock()
		if response != nil {
			response(w, r)
		}
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

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
	case "/cookies":
		fmt.Fprint(w, r.Header.Get("Cookie"))
	case "/moved":
		http.Redirect(w, r, "/landed?from=moved", http.StatusFound)
	case "/kept":
		http.Redirect(w, r, "landed", http.StatusTemporaryRedirect)
	case "/round":
		http.Redirect(w, r, "/round", http.StatusFound)
	case "/away":
		http.Redirect(w, r, "ftp://elsewhere/", http.StatusFound)
	case "/auth":
		user, pass, _ := r.BasicAuth()
		fmt.Fprint(w, user, "/", pass)
	case "/broken":
		w.WriteHeader(http.StatusInternalServerError)
	}
}

func TestFlowsAskWhatTheySay(t *testing.T) {
	for _, c := range []struct{ name, config, flow, want string }{
		{
			"what is captured is used", "",
			`[{post: {url: /login, json: {u: me}, capture: [{json: $.token, as: t}, {json: '$.items', as: items}]}},
			  {put: {url: '/x/{{ t }}?n={{ items[1].id }}', json: {all: '{{ items }}', first: '{{ items[0].id }}', gone: '{{ items[7] }}'}}}]`,
			`POST /login {"u":"me"}|PUT /x/t0p?n=5 {"all":[{"id":3},{"id":5}],"first":3}`,
		},
		{
			"a URL may be captured", "",
			"[{get: {url: /login, capture: {json: $.next, as: next}}}, {get: {url: '{{ next }}&y=2', qs: {z: 3}}}]",
			"GET /login|GET /there?z=3",
		},
		{
			"loops go over what was captured", "",
			`[{get: {url: /login, capture: {json: $.items, as: items}}},
			  {loop: [{get: {url: '/{{ $loopCount }}/{{ item.id }}'}}], over: items, loopElement: item}]`,
			"GET /login|GET /0/3|GET /1/5",
		},
		{"loops over what is no list do nothing", "variables: {v: 5},", "[{loop: [{get: {url: /in}}], over: v}, {get: {url: /out}}]", "GET /out"},
		{"a counted loop", "", "[{loop: [{get: {url: '/{{ $loopCount }}'}}], count: 3}]", "GET /0|GET /1|GET /2"},
		{"a loop over a range", "", "[{loop: [{get: {url: '/{{ i }}'}}], count: 2-4, loopValue: i}]", "GET /2|GET /3"},
		{"a loop of a variable's length", "variables: {n: 2},", "[{loop: [{get: {url: '/{{ $loopElement }}{{ $loopCount }}'}}], count: '{{ n }}'}]", "GET /00|GET /01"},
		{"a loop while", "", "[{loop: [{get: {url: '/{{ $loopCount }}'}}], whileTrue: '$loopCount < 2'}]", "GET /0|GET /1"},
		{
			"loops within loops", "",
			"[{loop: [{loop: [{get: {url: '/{{ a }}{{ $loopElement }}'}}], over: [x, y]}, {get: {url: '/{{ a }}'}}], count: 2, loopValue: a}]",
			"GET /0x|GET /0y|GET /0|GET /1x|GET /1y|GET /1",
		},
		{
			"conditions", "variables: {n: 7, who: ann},",
			`[{get: {url: /a, ifTrue: 'n > 6 and who == "ann"'}}, {get: {url: /b, ifTrue: n < 6}}, {get: {url: /c, ifTrue: not who}}, {get: {url: /d, ifTrue: who}}]`,
			"GET /a|GET /d",
		},
		{"probability", "", "[{get: {url: /never, probability: 0}}, {get: {url: /always, probability: 100}}]", "GET /always"},
		{"forms", "", "[{post: {url: /, form: {a: '1 2', b: [x, y]}}}]", "POST / a=1+2&b=x%2Cy"},
		{"keys are templates too", "variables: {k: key},", "[{post: {url: /, json: {'{{ k }}': 1}}}]", `POST / {"key":1}`},
		{"triple braces", "variables: {k: '<'},", "[{post: {url: /, body: '{{{ k }}}'}}]", "POST / <"},
		{"what nothing fills", "", "[{get: {url: /login, capture: {json: $.none, as: v, strict: false}}}, {post: {url: '/{{ v }}', json: {v: '{{ v }}', w: 'x{{ v }}'}}}]", `GET /login|POST /undefined {"w":"xundefined"}`},
		{"redirects", "", "[{post: {url: /moved, json: {a: 1}}}, {get: {url: /after}}]", `POST /moved {"a":1}|POST /landed?from=moved {"a":1}|GET /after`},
		{"redirects that keep the method", "", "[{post: {url: /kept, json: {a: 1}}}]", `POST /kept {"a":1}|POST /landed {"a":1}`},
		{"redirects not followed", "", "[{get: {url: /moved, followRedirect: false, expect: {statusCode: 302}}}, {get: {url: /after}}]", "GET /moved|GET /after"},
		{"variables that are lists of lists and mappings", "variables: {v: [[1, {a: b}]]},", "[{post: {url: '/{{ v[1].a }}', json: '{{ v }}'}}]", `POST /b [1,{"a":"b"}]`},
		{"variables with expressions", "variables: {a: x, b: '{{ a }}-{{ $randomNumber(4, 4) }}'},", "[{get: {url: '/{{ b }}'}}]", "GET /undefined-4"},
		{
			"before gives its captures to all", "", `[{get: {url: '/{{ t }}'}}]}]
before: {flow: [{get: {url: /login, capture: {json: $.token, as: t}}}]}
after: {flow: [{get: {url: '/bye/{{ t }}'}}]}
unused: &x [{a: [1]`,
			"GET /login|GET /t0p|GET /bye/t0p",
		},
		{"parallel on one connection", "", "[{parallel: [{get: {url: /a}}, {get: {url: /b}}]}, {get: {url: /c}}]", "GET /a|GET /b|GET /c"},
		{"a failed expectation ends nobody", "", "[{get: {url: /login, expect: {statusCode: 201}}}, {get: {url: /on}}]", "GET /login|GET /on"},
		{"but where it is to be an error", "plugins: {expect: {reportFailuresAsErrors: true}},", "[{get: {url: /login, expect: {statusCode: 201}}}, {get: {url: /never}}]", "GET /login"},
		{"a failed match does", "", "[{get: {url: /login, match: {json: $.token, value: x}}}, {get: {url: /never}}]", "GET /login"},
		{"a failed capture ends the user", "", "[{get: {url: /login, capture: {json: $.x, as: x}}}, {get: {url: /never}}]", "GET /login"},
		{"a 500 does not", "", "[{get: {url: /broken}}, {get: {url: /on}}]", "GET /broken|GET /on"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDiary(t, shop)
			p := parsed(t, "config: {"+c.config+" target: '"+d.URL+"'}\nscenarios: [{flow: "+c.flow+"}]")
			r := run(t, once(p), Options{})
			if got := strings.Join(d.read(), "|"); got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
			if r.Users.Started != 1 || r.Users.Finished != 1 {
				t.Errorf("%+v", r.Users)
			}
		})
	}
}

func TestCookiesLastAsLongAsTheirUser(t *testing.T) {
	d := newDiary(t, shop)
	var mu sync.Mutex
	var got []string
	p := parsed(t, `
config:
  target: `+d.URL+`
  phases: [{duration: 0.2, arrivalCount: 2}]
  http: {defaults: {cookie: {lang: en}}}
scenarios:
  - flow:
      - get: {url: /cookies, headers: {cookie: given=1}}
      - get: {url: /login}
      - get: {url: /cookies, cookie: {own: "a b;c"}}
      - get: {url: /cookies}`)
	run(t, p, Options{OnResult: func(a Result) {
		mu.Lock()
		defer mu.Unlock()
		if a.Name == "GET /cookies" {
			got = append(got, fmt.Sprint(a.User, " ", string(a.Body)))
		}
	}})
	slices.Sort(got)
	want := []string{
		"0 lang=en", "0 lang=en; sid=s1; own=a b", "0 lang=en; sid=s1; own=a b",
		"1 lang=en", "1 lang=en; sid=s1; own=a b", "1 lang=en; sid=s1; own=a b",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestRedirectsLeadToOtherServersWithoutWhatIsPrivate(t *testing.T) {
	var far *httptest.Server
	var mu sync.Mutex
	var heard http.Header
	far = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		heard = r.Header
		mu.Unlock()
	}))
	defer far.Close()
	d := newDiary(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, far.URL+"/far", http.StatusSeeOther) })
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

func TestRedirectsWithoutAnEndAreErrors(t *testing.T) {
	for _, path := range []string{"/round", "/away"} {
		d := newDiary(t, shop)
		r := run(t, once(parsed(t, "scenarios: [{flow: [{get: {url: "+path+"}}]}]")), Options{Target: d.URL})
		if r.Errors[report.ErrorRedirect] != 1 || len(d.read()) > wire.MaxRedirects+1 {
			t.Errorf("%s: %v after %d requests", path, r.Errors, len(d.read()))
		}
	}
}

func TestBasicAuthentication(t *testing.T) {
	for _, auth := range []string{"{user: me, pass: 'p:w'}", "{user: '{{ u }}', pass: '{{ p }}'}"} {
		d := newDiary(t, shop)
		p := parsed(t, "config: {variables: {u: me, p: 'p:w'}}\nscenarios: [{flow: [{get: {url: /auth, auth: "+auth+", match: {regexp: .*, value: me/p:w}}}]}]")
		if r := run(t, once(p), Options{Target: d.URL}); r.Failed != 0 {
			t.Errorf("%s: %v", auth, r.Errors)
		}
	}
}

func TestFormsCarryFiles(t *testing.T) {
	var mu sync.Mutex
	var got string
	d := newDiary(t, nil)
	d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, once(p), Options{Target: d.URL}); r.Completed != 1 {
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

// Branches are only done when all of them are under way at once.
func TestParallelStepsAreUnderWayTogether(t *testing.T) {
	const branches = 3
	for _, c := range []struct {
		http string
		pool int
	}{{"maxSockets: 3", 0}, {"maxSockets: 1", 3}} {
		var met sync.WaitGroup
		met.Add(branches)
		d := newDiary(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/p") {
				met.Done()
				met.Wait()
				http.SetCookie(w, &http.Cookie{Name: r.URL.Path[1:], Value: "1"})
				fmt.Fprintf(w, `{"v": "%s"}`, r.URL.Path)
			}
			if r.URL.Path == "/cookies" {
				fmt.Fprint(w, len(r.Cookies()))
			}
		})
		p := parsed(t, `
config: {http: {`+c.http+`}}
scenarios:
  - flow:
      - parallel:
          - get: {url: /p1, capture: {json: $.v, as: a}}
          - get: {url: /p2, capture: {json: $.v, as: b}}
          - get: {url: /p3, capture: {json: $.v, as: c}}
      - get: {url: "/cookies?{{ a }}{{ b }}{{ c }}", match: {regexp: ".*", value: "3"}}`)
		r := run(t, once(p), Options{Target: d.URL, Pool: c.pool})
		if r.Failed != 0 || r.Completed != 4 || r.Users.Failed != 0 {
			t.Errorf("%+v: %v, %d completed", c, r.Errors, r.Completed)
		}
		if got := d.read(); got[3] != "GET /cookies?/p1/p2/p3" {
			t.Errorf("%q", got)
		}
	}
}

func TestAFailureBeforeTheRunIsTheRunsEnd(t *testing.T) {
	d := newDiary(t, shop)
	p := parsed(t, "before: {flow: [{get: {url: /login, expect: {statusCode: 204}}}]}\n"+small)
	_, err := Run(t.Context(), once(p), Options{Target: d.URL})
	if whittle.CodeOf(err) != whittle.Unavailable || !strings.Contains(err.Error(), "before the run failed: expectation") {
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

func TestCompressedResponsesAreReadByCaptures(t *testing.T) {
	d := newDiary(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, `{"a":1}`)
			z.Close()
		}
	})
	p := parsed(t, "scenarios: [{flow: [{get: {url: /, gzip: true, expect: {hasProperty: a}}}]}]")
	if r := run(t, once(p), Options{Target: d.URL}); r.Failed != 0 {
		t.Error(r.Errors)
	}
}

func TestLogLinesReachWhoListens(t *testing.T) {
	d := newDiary(t, nil)
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

func TestThinkTimesVary(t *testing.T) {
	p := parsed(t, `
config: {variables: {s: 2, odd: x}, http: {defaults: {think: {jitter: "50%"}}}}
scenarios: [{flow: [{think: 2}, {think: 1s, jitter: 250}, {think: '{{ s }}', jitter: 0}, {think: '{{ odd }}'}, {get: {url: /}}]}]`)
	s := replied("", "").Scope
	s.Values = make([]expr.Value, p.Slots)
	for i := range p.Variables {
		p.Variables[i].Fill(s)
	}
	var low, high [4]time.Duration
	for i := range low {
		low[i] = time.Hour
		for range 2000 {
			d := p.Scenarios[0].Steps[i].Think.Length(s)
			low[i], high[i] = min(low[i], d), max(high[i], d)
		}
	}
	near := func(d, want time.Duration) bool { return (d - want).Abs() < want/50+1 }
	for i, want := range [4][2]time.Duration{{time.Second, 3 * time.Second}, {750 * time.Millisecond, 1250 * time.Millisecond}, {2 * time.Second, 2 * time.Second}, {0, 0}} {
		if !near(low[i], want[0]) || !near(high[i], want[1]) {
			t.Errorf("think %d: %v to %v, want %v", i, low[i], high[i], want)
		}
	}
}

func TestEnvironmentsAreMergedDeeply(t *testing.T) {
	src := small + `
config:
  target: "http://{{ $env.HOST }}:81"
  http: {timeout: 4, defaults: {headers: {x-a: one, x-b: two}}}
  variables: {a: 1, b: [2, 3]}
  environments:
    dev: {http: {pool: 3, defaults: {headers: {x-b: three}}}, variables: {b: 9}}`
	p, err := Parse("p.yml", []byte(src), plan.Source{Environment: "dev", Getenv: func(string) string { return "h" }})
	if err != nil {
		t.Fatal(err)
	}
	if p.Target != "http://h:81" || p.HTTP.Pool != 3 || p.HTTP.Timeout != 4*time.Second || len(p.Variables) != 2 || p.Variables[1].Choices[0].Text != "9" {
		t.Errorf("%+v", p)
	}
	if got := rendered(t, p); !strings.Contains(got, "x-a: one\r\nx-b: three\r\n") {
		t.Errorf("%q", got)
	}
}

func TestAllRowsAreOneVariable(t *testing.T) {
	d := newDiary(t, nil)
	p, err := Parse("p.yml", []byte(`
config: {payload: {path: rows.csv, fields: [id, name], skipHeader: true, loadAll: true, name: rows}}
scenarios: [{flow: [{loop: [{get: {url: "/{{ $loopElement.id }}/{{ $loopElement.name }}"}}], over: rows}, {post: {url: /, json: "{{ rows }}"}}]}]`), plan.Source{Open: openText("id,name\n1,ann\n2,\"b\"\"b\"\n")})
	if err != nil {
		t.Fatal(err)
	}
	run(t, once(p), Options{Target: d.URL})
	want := `GET /1/ann|GET /2/b%22b|POST / [{"id":1,"name":"ann"},{"id":2,"name":"b\"b"}]`
	if got := strings.Join(d.read(), "|"); got != want {
		t.Errorf("%s", got)
	}
}

func TestPluginsLeaveTheirMark(t *testing.T) {
	d := newDiary(t, shop)
	p := parsed(t, `
config:
  plugins: {expect: {expectDefault200: true, outputFormat: silent}, publish-metrics: [{type: x}], apdex: {threshold: 60000}}
scenarios: [{flow: [{get: {url: /login}}, {get: {url: /moved, followRedirect: false, expect: {statusCode: 302}}}, {get: {url: /broken}}]}]`)
	r := run(t, once(p), Options{Target: d.URL, MaxLate: time.Minute})
	if r.Errors[report.ErrorExpectation] != 1 || whittle.CodeOf(r.Err()) != whittle.FallsShort {
		t.Errorf("%v, %v", r.Errors, r.Err())
	}
	if r.Apdex == nil || *r.Apdex != 1 || !strings.Contains(strings.Join(r.Warnings, "\n"), "publish-metrics is left out") {
		t.Errorf("apdex %v, %q", r.Apdex, r.Warnings)
	}
	if b, err := json.Marshal(r); err != nil || !strings.Contains(string(b), `"apdex":1`) {
		t.Error(err)
	}
}
