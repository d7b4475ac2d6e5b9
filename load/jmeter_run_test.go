package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/rawtest"
	"whittle/load/jmeter"
	"whittle/load/jmxtest"
	"whittle/load/plan"
	"whittle/load/report"
)

// What a plan of JMeter is made of.
var jmx, threads, get, prop, element, groovyElement = jmxtest.Plan, jmxtest.Group, jmxtest.Get, jmxtest.Prop, jmxtest.Element, jmxtest.Groovy

func TestTimesAreWrittenAsAsked(t *testing.T) {
	now := time.Date(2024, 2, 3, 14, 5, 6, 7e6, time.UTC)
	for pattern, want := range map[string]string{
		"yyyyMMdd": "20240203", "HHmmss": "140506", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX": "2024-02-03T14:05:06.007Z",
		"E, d MMM yy h:m:s a": "Sat, 3 Feb 24 2:5:6 PM", "EEEE MMMM ''": "Saturday February '", "'o''c": "",
		"QQ": "", "yyyyy": "",
	} {
		shape, ok := jmeter.Dated(pattern)
		if ok != (want != "") || ok && shape(now) != want {
			t.Errorf("%s: %v", pattern, ok)
		}
	}
	var got string
	srv := newAsked(t, func(_ http.ResponseWriter, r *http.Request) { got = r.URL.Path })
	before := time.Now()
	runJMX(t, jmx(threads(1, 1, get("/${__time}/${__time(/1000,)}/${__time(YMDHMS,)}", ""))), nil, Options{Target: srv.URL})
	var ms, s int64
	var rest string
	if _, err := fmt.Sscanf(strings.ReplaceAll(got, "/", " "), "%d %d %s", &ms, &s, &rest); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if at := time.UnixMilli(ms); at.Before(before.Add(-time.Millisecond)) || at.After(time.Now()) || s < before.Unix() || len(rest) != len("20240203-140506") {
		t.Errorf("%s", got)
	}
}

// argument is one of a sampler's, encoded only where that is asked for.
func argument(name, value string) string {
	return `<elementProp name="">` + prop("Argument.name", name) + prop("Argument.value", value) + prop("Argument.metadata", "=") + `</elementProp>`
}

func TestArgumentsStayWithinTheirRequestLine(t *testing.T) {
	send := func(method string, arguments ...string) string {
		return `<HTTPSamplerProxy>` + prop("HTTPSampler.path", "/q") + prop("HTTPSampler.method", method) +
			`<elementProp name="HTTPsampler.Arguments"><collectionProp name="Arguments.arguments">` + strings.Join(arguments, "") +
			`</collectionProp></elementProp></HTTPSamplerProxy><hashTree/>`
	}
	capture := element("RegexExtractor", "RegexExtractor.refname", "v", "RegexExtractor.regex", "(?s)(.*)",
		"RegexExtractor.template", "$1$", "RegexExtractor.match_number", "1")
	for value, want := range map[string][2]string{ // in a query and in a form; in a query with a space JMeter sends nothing
		" HTTP/1.1\r\nhost: x\r\n\r\nGET /smuggled":  {"", "+HTTP%2F1.1%0D%0Ahost%3A+x%0D%0A%0D%0AGET+%2Fsmuggled"},
		"\tHTTP/1.1\r\nhost:x\r\n\r\nGET\t/smuggled": {"%09HTTP/1.1%0D%0Ahost:x%0D%0A%0D%0AGET%09/smuggled", "%09HTTP%2F1.1%0D%0Ahost%3Ax%0D%0A%0D%0AGET%09%2Fsmuggled"},
		"a b\u00e9":         {"", "a+b%C3%A9"},
		"ab\u00e9":          {"ab%C3%A9", "ab%C3%A9"},
		"1%2C+2;&c=d/?,'[]": {"1%2C+2;&c=d/?,'[]", "1%2C+2%3B%26c%3Dd%2F%3F%2C%27%5B%5D"}, // as JMeter sends it
	} {
		srv := newAsked(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/value" {
				fmt.Fprint(w, value)
			}
		})
		flow := get("/value", capture) + send("GET", argument("${v}", "a${v}"), argument("end", "")) + send("POST", argument("v", "${v}"))
		runJMX(t, jmx(threads(1, 1, flow)), nil, Options{Target: srv.URL})
		sent := map[string]int{"GET /value": 1, "POST /q application/x-www-form-urlencoded; charset=UTF-8 v=" + want[1]: 1}
		if want[0] != "" {
			sent["GET /q?"+want[0]+"=a"+want[0]+"&end="] = 1
		}
		srv.want(t, sent)
	}
}

func TestErrorsDoWhatTheGroupSays(t *testing.T) {
	flow := get("/ok", "") + get("/bad", "") + get("/after", "")
	for action, want := range map[string]map[string]int{
		"continue":      {"GET /ok": 3, "GET /bad": 3, "GET /after": 3},
		"startnextloop": {"GET /ok": 3, "GET /bad": 3},
		"stopthread":    {"GET /ok": 1, "GET /bad": 1},
		"stoptest":      {"GET /ok": 1, "GET /bad": 1},
		"stoptestnow":   {"GET /ok": 1, "GET /bad": 1},
	} {
		srv := newAsked(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/bad" {
				w.WriteHeader(http.StatusNotFound)
			}
		})
		src := jmx(strings.Replace(threads(1, 3, flow), "<elementProp", prop("ThreadGroup.on_sample_error", action)+"<elementProp", 1))
		r := runJMX(t, src, nil, Options{Target: srv.URL})
		srv.want(t, want)
		if r.Early != strings.HasPrefix(action, "stoptest") || (r.Users.Failed == 1) != (action == "stopthread") {
			t.Errorf("%s: early %v, %+v", action, r.Early, r.Users)
		}
		fatal.Same(t, r.Errors[report.ErrorExpectation], int64(want["GET /bad"]), "%s: %v", action, r.Errors)
	}
}

func TestDelayAndDurationBoundAGroup(t *testing.T) {
	srv := newAsked(t, nil)
	scheduled := func(loops int, duration string) string {
		return strings.Replace(threads(2, loops, get("/", element("ConstantTimer", "ConstantTimer.delay", "20"))), "<elementProp",
			prop("ThreadGroup.scheduler", "true")+prop("ThreadGroup.duration", duration)+prop("ThreadGroup.delay", "0.1")+"<elementProp", 1)
	}
	r := runJMX(t, jmx(scheduled(-1, "1")), nil, Options{Target: srv.URL})
	if r.Seconds < 1.1 || r.Requests == 0 || r.Early || r.Failed != 0 {
		t.Errorf("%v s, %d requests, early %v", r.Seconds, r.Requests, r.Early)
	}
	if r := runJMX(t, jmx(scheduled(1, "60")), nil, Options{Target: srv.URL}); r.Requests != 2 || r.Seconds < .12 {
		t.Errorf("%v s, %d requests", r.Seconds, r.Requests)
	}
}

func TestAPlanOfUsersMayArriveAndTheOtherWayRound(t *testing.T) {
	srv := newAsked(t, nil)
	flow := `<OnceOnlyController/><hashTree>` + get("/once", "") + `</hashTree>` + get("/${__threadNum}/${__counter(TRUE)}", "")
	closed, err := readJMX(t, jmx(threads(3, 2, flow)), nil)
	fatal.If(t, err)
	r := run(t, closed.WithPhases(plan.Phase{Count: 2, HasCount: true, Duration: 20 * time.Millisecond}), Options{Target: srv.URL, MaxLate: time.Minute})
	srv.want(t, map[string]int{"GET /once": 2, "GET /1/1": 1, "GET /2/1": 1})
	fatal.Same(t, r.Model, report.ModelOpen, "the model")
	clear(srv.seen)
	open := closed.WithPhases(plan.Constant(9, 9*time.Second))
	back, err := open.WithUsers(plan.Closed{Users: 2, Loops: 2})
	fatal.If(t, err)
	if r := run(t, back, Options{Target: srv.URL, MaxLate: time.Minute}); r.Model != report.ModelClosed {
		t.Errorf("the model is %s", r.Model)
	}
	srv.want(t, map[string]int{"GET /once": 2, "GET /1/1": 1, "GET /1/2": 1, "GET /2/1": 1, "GET /2/2": 1})
}

// TestARequestThatClosesItsConnectionIsItsLast: a server that is told to close does so,
// whether its response says so too or not, and a POST could not be sent again.
func TestARequestThatClosesItsConnectionIsItsLast(t *testing.T) {
	var served atomic.Int64
	target := rawtest.Serve(t, func(c net.Conn, _ int) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err == nil && r.Close {
			served.Add(1)
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	send := element("HTTPSamplerProxy", "HTTPSampler.path", "/q", "HTTPSampler.method", "POST")
	r := runJMX(t, jmx(threads(1, 3, send+send)), nil, Options{Target: target})
	if r.Failed != 0 || served.Load() != 6 {
		t.Errorf("%d failed of %d: %v, %d served", r.Failed, r.Requests, r.Errors, served.Load())
	}
}

// A script that fails is told by its element, its line, how often and with what, whether
// or not it ends a request.
func TestScriptsThatFailAreReported(t *testing.T) {
	srv := newAsked(t, func(http.ResponseWriter, *http.Request) {})
	flow := get("/a", groovyElement("JSR223PreProcessor", "early", "int n = 1\nif (n > 0) {\n  vars.put('l', vars.get('none').length().toString())\n}\n")) + "\n" +
		get("/b", groovyElement("JSR223PostProcessor", "late", "vars.put('n', vars.get('none').trim())")) + "\n" +
		get("/c?x=${__groovy(vars.get('none').length())}", "") + groovyElement("JSR223Sampler", "own", "throw new Exception('no')")
	r := runJMX(t, jmx(threads(2, 3, flow)), nil, Options{Target: srv.URL})
	at := func(f report.ScriptFailure, element string, line int, says string) bool {
		return f.Element == element && f.File == "p.jmx" && f.Line == line && f.Count == 6 && strings.Contains(f.Sample, says) && !strings.Contains(f.Sample, "library")
	}
	for _, want := range []struct {
		element string
		line    int
		says    string
	}{
		{`JSR223PreProcessor "early"`, 3, "TypeError: Cannot read property 'length' of"},
		{`JSR223PostProcessor "late"`, 6, "null, where a text is wanted"},
		{"__groovy", 7, "TypeError"},
		{`JSR223Sampler "own"`, 7, "Error: no"},
	} {
		if !slices.ContainsFunc(r.ScriptFailures, func(f report.ScriptFailure) bool { return at(f, want.element, want.line, want.says) }) {
			t.Errorf("no %s in line %d: %+v", want.element, want.line, r.ScriptFailures)
		}
	}
	if len(r.ScriptFailures) != 4 || r.Requests != 18 || r.Failed != 0 {
		t.Errorf("%+v, %d requests, %d failed", r.ScriptFailures, r.Requests, r.Failed)
	}
	var b strings.Builder
	if err := r.WriteSummary(&b); err != nil || !strings.Contains(b.String(), "SCRIPT FAILED: JSR223PreProcessor \"early\" (p.jmx:3) 6 times, such as: ") {
		t.Errorf("%v: %s", err, b.String())
	}
	// The next run counts anew.
	if r := runJMX(t, jmx(threads(1, 1, get("/a", groovyElement("JSR223PreProcessor", "sound", "vars.put('n', '5')")))), nil, Options{Target: srv.URL}); len(r.ScriptFailures) != 0 {
		t.Errorf("%+v", r.ScriptFailures)
	}
}

// asked counts what a server was asked, in words.
type asked struct {
	*httptest.Server
	mu sync.Mutex
	// The following is guarded by mu.
	seen  map[string]int
	order []string
}

func newAsked(t *testing.T, response http.HandlerFunc) *asked {
	t.Helper()
	a := &asked{seen: map[string]int{}}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		line := r.Method + " " + r.RequestURI
		if ct := r.Header.Get("Content-Type"); ct != "" {
			line += " " + ct
		}
		if c := r.Header.Get("Cookie"); c != "" {
			line += " [" + c + "]"
		}
		if len(b) > 0 {
			line += " " + string(b)
		}
		a.mu.Lock()
		a.seen[line]++
		a.order = append(a.order, line)
		a.mu.Unlock()
		if response != nil {
			response(w, r)
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// read gives what was asked so far, in its order.
func (a *asked) read() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.order)
}

func (a *asked) want(t *testing.T, want map[string]int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for line, n := range want {
		fatal.Same(t, a.seen[line], n, "%s", line)
	}
	fatal.Same(t, len(a.seen), len(want), "asked %v", a.seen)
}

func readJMX(t testing.TB, src string, files map[string]string) (*plan.Plan, error) {
	t.Helper()
	return Parse("p.jmx", []byte(src), plan.Source{Open: func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, whittle.Errorf(whittle.NotFound, "no file %s", name)
		}
		return []byte(text), nil
	}, Properties: map[string]string{"set": "7"}})
}

func runJMX(t testing.TB, src string, files map[string]string, o Options) *report.Report {
	t.Helper()
	p, err := readJMX(t, src, files)
	fatal.If(t, err)
	o.MaxLate = time.Minute
	return run(t, p, o)
}

// The ingestion seed's test: the same plan with 1, 50, 500 and 1000 users, who
// come over a tenth as many seconds. The ramp is a hundredth of that here.
func TestTheIngestionPlanRunsWithAnyNumberOfUsers(t *testing.T) {
	t.Parallel()
	srv := newAsked(t, nil)
	for _, users := range []int{1, 50, 500, 1000} {
		p, err := Read("testdata/jmx/ingest.jmx", plan.Source{Properties: map[string]string{"users": fmt.Sprint(users), "ramp": fmt.Sprint(users / 10), "loops": "2"}})
		fatal.If(t, err)
		if g := p.Groups[0]; g.Users != users || g.Ramp != time.Duration(users/10)*time.Second || g.Loops != 2 {
			t.Errorf("%d users: %+v", users, g.Closed)
		}
		quick, err := p.WithUsers(plan.Closed{Users: users, Ramp: time.Duration(users) * time.Millisecond})
		fatal.If(t, err)
		r := run(t, quick, Options{Target: srv.URL, MaxLate: time.Minute})
		if want := int64(2 * users); r.Completed != want || r.Failed != 0 || r.Users.Started != int64(users) {
			t.Errorf("%d users: %d completed, want %d; %v", users, r.Completed, want, r.Errors)
		}
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	for line := range srv.seen {
		if !strings.HasPrefix(line, `POST /import application/json {"type":"track",`) {
			t.Errorf("asked %s", line)
		}
	}
}
