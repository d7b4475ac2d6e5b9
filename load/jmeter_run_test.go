package load

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle/load/jmeter"
	"whittle/load/plan"
	"whittle/load/report"
)

// prop is a stringProp.
func prop(name, text string) string {
	return `<stringProp name="` + name + `">` + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text) + `</stringProp>`
}

func TestFunctionsAndVariablesFillTheirPlaces(t *testing.T) {
	for text, want := range map[string]string{
		`${__P(set)} ${__P(unset)} ${__P(unset,x)} ${__property(set,,y)} ${__property(no,,y)}`: "7 1 x 7 y",
		`${__Random(3,3)}${__RandomString(4,z)}`:                                               "3zzzz",
		`${__threadNum} ${__threadGroupName} ${__TestPlanName}`:                                "1 G p.jmx",
		`${__counter(TRUE)}${__counter(FALSE,)}`:                                               "11",
		`${__intSum(1,2,${__Random(4,4)})} ${__longSum(1,2,s)} ${s}`:                           "7 3 3",
		`${__urlencode(a b&c)}`:                                                                "a b&c",
		`${__Random(5,5,kept)} ${kept}`:                                                        "5 5",
		`${nothing} \${not} ${__jexl3(1 + 2 > 2 && "a" eq "a")}`:                               "${nothing} ${not} true",
		`a\b ${__CSVRead(x.csv,1)}${__CSVRead(x.csv,next)}${__CSVRead(x.csv,0)}`:               `a\b 2` + "3",
		`plain \, text`: `plain \, text`,
	} {
		var got string
		srv := newAsked(t, func(_ http.ResponseWriter, r *http.Request) { got = r.URL.Query().Get("q") })
		argument := `<elementProp name="HTTPsampler.Arguments"><collectionProp name="Arguments.arguments"><elementProp name="q">` +
			`<boolProp name="HTTPArgument.always_encode">true</boolProp>` + prop("Argument.name", "q") + prop("Argument.value", text) + prop("Argument.metadata", "=") + `</elementProp></collectionProp></elementProp>`
		src := jmx(threads(1, 1, `<HTTPSamplerProxy>`+argument+`</HTTPSamplerProxy><hashTree/>`))
		if strings.Contains(text, "urlencode") {
			src = strings.ReplaceAll(src, `always_encode">true`, `always_encode">false`)
		}
		runJMX(t, src, map[string]string{"x.csv": "1,2\n3,4\n"}, Options{Target: srv.URL})
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

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

func TestRandomFunctionsVary(t *testing.T) {
	srv := newAsked(t, nil)
	runJMX(t, jmx(threads(2, 20, get("/${__UUID}/${__Random(1,1000000)}", ""))), nil, Options{Target: srv.URL})
	if len(srv.seen) != 40 {
		t.Errorf("%d different requests of 40", len(srv.seen))
	}
}

func TestDataSetsDealTheirRows(t *testing.T) {
	files := map[string]string{"u.csv": "name,n\nann,1\nbob,2\ncy,3\n"}
	for _, c := range []struct {
		props string
		want  map[string]int
	}{
		{prop("shareMode", "shareMode.all"), map[string]int{"GET /?ann/1": 2, "GET /?bob/2": 2, "GET /?cy/3": 2}},
		{prop("shareMode", "shareMode.thread") + prop("variableNames", "name,n") + prop("ignoreFirstLine", "true"), map[string]int{"GET /?ann/1": 2, "GET /?bob/2": 2, "GET /?cy/3": 2}},
		{prop("shareMode", "shareMode.group") + prop("recycle", "false") + prop("stopThread", "true"), map[string]int{"GET /?ann/1": 1, "GET /?bob/2": 1, "GET /?cy/3": 1}},
		{prop("recycle", "false"), map[string]int{"GET /?ann/1": 1, "GET /?bob/2": 1, "GET /?cy/3": 1, "GET /?%3CEOF%3E/%3CEOF%3E": 3}},
		{prop("quotedData", "true") + prop("variableNames", "name,n"), map[string]int{"GET /?name/n": 2, "GET /?ann/1": 2, "GET /?bob/2": 1, "GET /?cy/3": 1}},
	} {
		srv := newAsked(t, nil)
		set := `<CSVDataSet testname="rows">` + prop("filename", "u.csv") + c.props + `</CSVDataSet><hashTree/>`
		r := runJMX(t, jmx(threads(2, 3, set+get("/?${__urlencode(${name})}/${__urlencode(${n})}", ""))), files, Options{Target: srv.URL})
		srv.want(t, c.want)
		if r.Users.Failed != 0 {
			t.Errorf("%s: %d users failed", c.props, r.Users.Failed)
		}
	}
}

// What the first line of a file names is known before anything that uses it,
// wherever the data set stands, and takes the place of a variable by that name.
func TestTheFirstLineOfAFileNamesVariablesEverywhere(t *testing.T) {
	files := map[string]string{"data/u.csv": "name;n\nann;1\nbob;2\n"}
	variables := `<Arguments><collectionProp name="Arguments.arguments">` +
		`<elementProp name="">` + prop("Argument.name", "dir") + prop("Argument.value", "data") + `</elementProp>` +
		`<elementProp name="">` + prop("Argument.name", "n") + prop("Argument.value", "unset") + `</elementProp></collectionProp></Arguments><hashTree/>`
	headers := `<HeaderManager><collectionProp name="HeaderManager.headers"><elementProp name="">` + prop("Header.name", "cookie") +
		prop("Header.value", "who=${name}") + `</elementProp></collectionProp></HeaderManager><hashTree/>`
	set := `<CSVDataSet testname="rows">` + prop("filename", "${dir}/u.csv") + prop("delimiter", ";") + `</CSVDataSet><hashTree/>`
	for name, flow := range map[string]string{
		"above":   headers + set + get("/${n}", ""),
		"below":   headers + get("/${n}", "") + set,
		"outside": get("/first/${n}", "") + `<GenericController/><hashTree>` + set + `</hashTree>` + headers + get("/${n}", ""),
	} {
		srv := newAsked(t, nil)
		runJMX(t, jmx(variables+threads(1, 2, flow)), files, Options{Target: srv.URL})
		want := map[string]int{"GET /1 [who=ann]": 1, "GET /2 [who=bob]": 1}
		if name == "outside" {
			want["GET /first/unset [who=${name}]"], want["GET /first/1 [who=ann]"] = 1, 1
		}
		srv.want(t, want)
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestSamplersOutsideACookieManagersScopeSendNoCookies(t *testing.T) {
	srv := newAsked(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/login":
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: "1", Path: "/"})
		case "/moved":
			http.Redirect(w, r, "/landed", http.StatusFound)
		}
	})
	within := `<GenericController/><hashTree><CookieManager/><hashTree/>` + get("/login", "") + get("/in", "") + `</hashTree>`
	own := `<HeaderManager><collectionProp name="HeaderManager.headers"><elementProp name="">` + prop("Header.name", "Cookie") +
		prop("Header.value", "own=2") + `</elementProp></collectionProp></HeaderManager><hashTree/>`
	moved := strings.Replace(get("/moved", ""), "<stringProp", `<boolProp name="HTTPSampler.follow_redirects">true</boolProp><stringProp`, 1)
	runJMX(t, jmx(threads(1, 2, within+get("/out", "")+get("/own", own)+moved)), nil, Options{Target: srv.URL})
	srv.want(t, map[string]int{
		"GET /login": 1, "GET /login [sid=1]": 1, "GET /in [sid=1]": 2,
		"GET /out": 2, "GET /own [own=2]": 2, "GET /moved": 2, "GET /landed": 2,
	})
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
	capture := `<RegexExtractor>` + prop("RegexExtractor.refname", "v") + prop("RegexExtractor.regex", "(?s)(.*)") +
		prop("RegexExtractor.template", "$1$") + prop("RegexExtractor.match_number", "1") + `</RegexExtractor><hashTree/>`
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

func TestControllersLeadUsers(t *testing.T) {
	loop := func(n, inner string) string {
		return `<LoopController>` + prop("LoopController.loops", n) + `</LoopController><hashTree>` + inner + `</hashTree>`
	}
	when := func(cond, use, inner string) string {
		return `<IfController>` + prop("IfController.condition", cond) + prop("IfController.useExpression", use) + `</IfController><hashTree>` + inner + `</hashTree>`
	}
	while := func(cond, inner string) string {
		return `<WhileController>` + prop("WhileController.condition", cond) + `</WhileController><hashTree>` + inner + `</hashTree>`
	}
	counter := `<CounterConfig>` + prop("CounterConfig.name", "i") + prop("CounterConfig.start", "1") + prop("CounterConfig.end", "3") + prop("CounterConfig.incr", "1") + `</CounterConfig><hashTree/>`
	variables := `<Arguments><collectionProp name="Arguments.arguments"><elementProp name="">` + prop("Argument.name", "v") + prop("Argument.value", "3") + `</elementProp></collectionProp></Arguments><hashTree/>`
	for _, c := range []struct {
		flow string
		want map[string]int
	}{
		{loop("2", counter+get("/a${i}", "")), map[string]int{"GET /a1": 2, "GET /a2": 1, "GET /a3": 1}},
		{`<OnceOnlyController/><hashTree>` + get("/a", "") + `</hashTree>` + get("/b", ""), map[string]int{"GET /a": 1, "GET /b": 2}},
		{when(`"${v}" == "3"`, "false", get("/yes", "")) + when(`${v} > 3`, "false", get("/no", "")), map[string]int{"GET /yes": 2}},
		{when(`${__jexl3(vars.get("v") ge 3 and not (${v} eq 4),)}`, "true", get("/yes", "")) + when(`${v}`, "true", get("/no", "")), map[string]int{"GET /yes": 2}},
		{`<GenericController/><hashTree>` + loop("${v}", get("/l", "")) + `</hashTree>`, map[string]int{"GET /l": 6}},
		{while(`${__jexl3(${__counter(FALSE,k)} < 3)}`, get("/w", "")) + get("/x", ""), map[string]int{"GET /w": 2, "GET /x": 2}},
		{while("", get("/bad", "")) + get("/x", ""), map[string]int{"GET /bad": 2, "GET /x": 2}},
	} {
		srv := newAsked(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/bad" {
				w.WriteHeader(http.StatusBadRequest)
			}
		})
		runJMX(t, jmx(variables+threads(1, 2, c.flow)), nil, Options{Target: srv.URL})
		srv.want(t, c.want)
		if t.Failed() {
			t.Fatalf("in %s", c.flow)
		}
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
		if r.Errors[report.ErrorExpectation] != int64(want["GET /bad"]) {
			t.Errorf("%s: %v", action, r.Errors)
		}
	}
}

func TestAssertionsJudgeByTheirBits(t *testing.T) {
	srv := newAsked(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Kind", "plain")
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprint(w, `{"a": [1, "two"], "n": null}`)
	})
	assert := func(field, kind string, strs ...string) string {
		var b strings.Builder
		for i, s := range strs {
			b.WriteString(prop(fmt.Sprint(i), s))
		}
		return `<ResponseAssertion><collectionProp name="Asserion.test_strings">` + b.String() + `</collectionProp>` +
			prop("Assertion.test_field", "Assertion."+field) + prop("Assertion.test_type", kind) + `</ResponseAssertion><hashTree/>`
	}
	path := func(props ...string) string {
		return `<JSONPathAssertion>` + strings.Join(props, "") + `</JSONPathAssertion><hashTree/>`
	}
	for below, holds := range map[string]bool{
		assert("response_data", "16", "two"):                                                             true,
		assert("response_data", "20", "two"):                                                             false,
		assert("response_data", "16", "two", "three"):                                                    false,
		assert("response_data", "48", "three", "two"):                                                    true,
		assert("response_data", "52", "two", "three"):                                                    true, // or, not: three is not there
		assert("response_data", "2", "tw."):                                                              true,
		assert("response_data", "1", "tw."):                                                              false,
		assert("response_data", "1", `\{.*\}`):                                                           true,
		assert("response_data", "2", "${p}o"):                                                            true,
		assert("response_code", "8", "200"):                                                              true,
		assert("response_code", "8", "20"):                                                               false,
		assert("response_headers", "2", `(?m)^X-Kind: plain$`):                                           true,
		assert("response_headers", "16", "HTTP/1.1 200 OK"):                                              true,
		path(prop("JSON_PATH", "$.a[1]")):                                                                true,
		path(prop("JSON_PATH", "$.b")):                                                                   false,
		path(prop("JSON_PATH", "$.b"), prop("INVERT", "true")):                                           true,
		path(prop("JSON_PATH", "$.a[1]"), prop("JSONVALIDATION", "true"), prop("EXPECTED_VALUE", "two")): true,
		path(prop("JSON_PATH", "$.a[1]"), prop("JSONVALIDATION", "true"), prop("EXPECTED_VALUE", "tw")):  false,
		path(prop("JSON_PATH", "$.a[1]"), prop("JSONVALIDATION", "true"), prop("EXPECTED_VALUE", "t.o"), prop("ISREGEX", "true")): true,
		path(prop("JSON_PATH", "$.n"), prop("JSONVALIDATION", "true"), prop("EXPECT_NULL", "true")):                               true,
	} {
		variables := `<CounterConfig>` + prop("CounterConfig.name", "unused") + `</CounterConfig><hashTree/>` +
			`<CSVDataSet>` + prop("filename", "p.csv") + `</CSVDataSet><hashTree/>`
		r := runJMX(t, jmx(threads(1, 1, variables+get("/", below))), map[string]string{"p.csv": "p\ntw\n"}, Options{Target: srv.URL})
		if (r.Errors[report.ErrorExpectation] == 0) != holds || r.Completed != 1 {
			t.Errorf("%s: %v, want %v", below, r.Errors, holds)
		}
	}
	if r := runJMX(t, jmx(threads(1, 1, get("/bad", ""))), nil, Options{Target: srv.URL}); r.Errors[report.ErrorServer] != 1 {
		t.Errorf("a 500: %v", r.Errors)
	}
	ignoring := strings.Replace(assert("response_code", "8", "500"), "<ResponseAssertion>", `<ResponseAssertion><boolProp name="Assertion.assume_success">true</boolProp>`, 1)
	if r := runJMX(t, jmx(threads(1, 1, get("/bad", ignoring))), nil, Options{Target: srv.URL}); r.Failed != 0 {
		t.Errorf("a 500 that is expected: %v", r.Errors)
	}
}

func TestExtractorsTakeFromTheResponse(t *testing.T) {
	var got string
	srv := newAsked(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/got" {
			got = r.URL.Query().Get("q")
			return
		}
		w.Header().Set("X-Id", "h7")
		fmt.Fprint(w, `{"ids": ["i1", "i2"], "k": 5} <a href="x1">one</a> <a href="x2">two</a>`)
	})
	json := newAsked(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/got" {
			got = r.URL.Query().Get("q")
			return
		}
		fmt.Fprint(w, `{"ids": ["i1", "i2"], "k": 5}`)
	})
	rx := func(props ...string) string {
		return `<RegexExtractor>` + prop("RegexExtractor.refname", "x") + strings.Join(append(props, prop("RegexExtractor.match_number", "1")), "") + `</RegexExtractor><hashTree/>`
	}
	const link = `href="(\w+)">(\w+)`
	bounds := func(props ...string) string {
		return `<BoundaryExtractor>` + prop("BoundaryExtractor.refname", "x") + prop("BoundaryExtractor.lboundary", `href="`) + prop("BoundaryExtractor.rboundary", `"`) + strings.Join(append(props, prop("BoundaryExtractor.match_number", "1")), "") + `</BoundaryExtractor><hashTree/>`
	}
	paths := func(names, exprs, numbers, others string) string {
		return `<JSONPostProcessor>` + prop("JSONPostProcessor.referenceNames", names) + prop("JSONPostProcessor.jsonPathExprs", exprs) +
			prop("JSONPostProcessor.match_numbers", numbers) + prop("JSONPostProcessor.defaultValues", others) + `</JSONPostProcessor><hashTree/>`
	}
	for _, c := range []struct{ below, use, want, target string }{
		{rx(prop("RegexExtractor.regex", link), prop("RegexExtractor.template", "$1$")), "${x}", "x1", srv.URL},
		{rx(prop("RegexExtractor.regex", link)), "${x}", "", srv.URL}, // as JMeter: no template, no text
		{rx(prop("RegexExtractor.regex", link), prop("RegexExtractor.match_number", "2"), prop("RegexExtractor.template", "$2$=$1$")), "${x}", "two=x2", srv.URL},
		{rx(prop("RegexExtractor.regex", link)), "${x_g0}-${x_g2}", `href="x1">one-one`, srv.URL},
		{rx(prop("RegexExtractor.regex", "nowhere(.)"), prop("RegexExtractor.default", "none")), "${x}", "none", srv.URL},
		{rx(prop("RegexExtractor.regex", "nowhere(.)")), "${x}", "${x}", srv.URL},
		{rx(prop("RegexExtractor.regex", `X-Id: (\S+)`), prop("RegexExtractor.template", "$1$"), prop("RegexExtractor.useHeaders", "true")), "${x}", "h7", srv.URL},
		{bounds(), "${x}", "x1", srv.URL},
		{bounds(prop("BoundaryExtractor.match_number", "2")), "${x}", "x2", srv.URL},
		{bounds(prop("BoundaryExtractor.match_number", "3"), prop("BoundaryExtractor.default", "no")), "${x}", "no", srv.URL},
		{paths("x;y", "$.ids[1];$.k", ";1", "a;b"), "${x}-${y}", "i2-5", json.URL},
		{paths("x;y", "$.ids[*];$.none", "2;", "a;b"), "${x}-${y}", "i2-b", json.URL},
	} {
		got = ""
		r := runJMX(t, jmx(threads(1, 1, get("/", c.below)+get("/got?q=${__urlencode("+c.use+")}", ""))), nil, Options{Target: c.target})
		if got != c.want || r.Failed != 0 {
			t.Errorf("%s: %q, want %q; %v", c.below, got, c.want, r.Errors)
		}
	}
}

func TestTimersDelayAndPace(t *testing.T) {
	t.Parallel()
	timer := func(kind string, props ...string) string {
		return "<" + kind + ">" + strings.Join(props, "") + "</" + kind + "><hashTree/>"
	}
	per := func(n string, mode string) string {
		return timer("ConstantThroughputTimer", "<doubleProp><name>throughput</name><value>"+n+"</value><savedValue>0.0</savedValue></doubleProp>", prop("calcMode", mode))
	}
	for _, c := range []struct {
		timers string
		users  int
		least  time.Duration // of three loops of one request each
	}{
		{timer("ConstantTimer", prop("ConstantTimer.delay", "30")) + timer("ConstantTimer", prop("ConstantTimer.delay", "10")), 1, 120 * time.Millisecond},
		{timer("UniformRandomTimer", prop("ConstantTimer.delay", "40"), prop("RandomTimer.range", "1")), 1, 120 * time.Millisecond},
		{timer("GaussianRandomTimer", prop("ConstantTimer.delay", "40"), prop("RandomTimer.range", "0")), 1, 120 * time.Millisecond},
		{timer("PoissonRandomTimer", prop("ConstantTimer.delay", "40"), prop("RandomTimer.range", "1")), 1, 120 * time.Millisecond},
		{per("600", "0"), 2, 200 * time.Millisecond},  // each user every 100 ms: two gaps
		{per("2400", "1"), 2, 90 * time.Millisecond},  // every 25 ms among two: 50 ms each, once both are there
		{per("2400", "2"), 2, 90 * time.Millisecond},  // the same
		{per("1200", "3"), 2, 250 * time.Millisecond}, // six requests, 50 ms apart
		{per("1200", "4"), 2, 250 * time.Millisecond}, // the same
	} {
		srv := newAsked(t, nil)
		r := runJMX(t, jmx(threads(c.users, 3, c.timers+get("/", ""))), nil, Options{Target: srv.URL})
		if took := time.Duration(r.Seconds * float64(time.Second)); took < c.least || r.Requests != int64(3*c.users) {
			t.Errorf("%s: %d requests in %v, want at least %v", c.timers, r.Requests, took, c.least)
		}
	}
}

func TestSerialGroupsFollowEachOther(t *testing.T) {
	srv := newAsked(t, nil)
	src := jmx(threads(2, 3, get("/a", "")) + threads(2, 3, get("/b", "")))
	src = strings.Replace(src, `<TestPlan testname="P"/>`, `<TestPlan><boolProp name="TestPlan.serialize_threadgroups">true</boolProp></TestPlan>`, 1)
	runJMX(t, src, nil, Options{Target: srv.URL})
	srv.want(t, map[string]int{"GET /a": 6, "GET /b": 6})
	if i := slices.Index(srv.order, "GET /b"); i != 6 {
		t.Errorf("the second group began at request %d: %v", i, srv.order)
	}
}

func TestDelayAndDurationBoundAGroup(t *testing.T) {
	srv := newAsked(t, nil)
	scheduled := func(loops int, duration string) string {
		return strings.Replace(threads(2, loops, get("/", `<ConstantTimer>`+prop("ConstantTimer.delay", "20")+`</ConstantTimer><hashTree/>`)), "<elementProp",
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

func TestAnOpenModelGroupArrives(t *testing.T) {
	srv := newAsked(t, nil)
	src := jmx(`<OpenModelThreadGroup testname="G">` + prop("OpenModelThreadGroup.schedule", "rate(100/sec) random_arrivals(200 ms) pause(50 ms) rate(0) even_arrivals(100 ms) rate(100/sec)") +
		`</OpenModelThreadGroup><hashTree>` + get("/${__threadGroupName}", "") + get("/b", "") + `</hashTree>`)
	r := runJMX(t, src, nil, Options{Target: srv.URL})
	srv.want(t, map[string]int{"GET /G": 25, "GET /b": 25})
	if r.Model != report.ModelOpen || r.Users.Planned != 25 || r.Latency.Corrected != nil {
		t.Errorf("%s, %+v", r.Model, r.Users)
	}
}

func TestAddressesArePutTogether(t *testing.T) {
	srv := newAsked(t, nil)
	host, port, _ := strings.Cut(strings.TrimPrefix(srv.URL, "http://"), ":")
	sampler := func(props ...string) string {
		return "<HTTPSamplerProxy>" + strings.Join(props, "") + "</HTTPSamplerProxy><hashTree/>"
	}
	domain, at := prop("HTTPSampler.domain", host), prop("HTTPSampler.port", port)
	rows := `<CSVDataSet>` + prop("filename", "h.csv") + `</CSVDataSet><hashTree/>`
	files := map[string]string{"h.csv": "host,path\n" + host + ",rows\n"}
	for _, c := range []struct{ flow, want string }{
		{sampler(domain, at), "GET /"},
		{sampler(domain, at, prop("HTTPSampler.path", "a b?c=d")), "GET /a%20b?c=d"},
		{sampler(prop("HTTPSampler.path", srv.URL+"/whole?x")), "GET /whole?x"},
		{sampler(prop("HTTPSampler.domain", "${host}"), at, prop("HTTPSampler.path", "/x")), "GET /x"},
		{sampler(domain, at, prop("HTTPSampler.path", "${path}")), "GET /rows"},
		{sampler(domain, at, prop("HTTPSampler.method", "delete"), prop("HTTPSampler.path", "/${path}")), "delete /rows application/x-www-form-urlencoded; charset=UTF-8"},
	} {
		clear(srv.seen)
		r := runJMX(t, jmx(threads(1, 1, rows+c.flow)), files, Options{})
		srv.want(t, map[string]int{c.want: 1})
		if r.Failed != 0 {
			t.Errorf("%s: %v", c.flow, r.Errors)
		}
	}
	// Another target stands in for the plan's, and for no other server.
	other := newAsked(t, nil)
	runJMX(t, jmx(threads(1, 1, sampler(domain, at)+sampler(prop("HTTPSampler.path", srv.URL+"/same")))), nil, Options{Target: other.URL})
	other.want(t, map[string]int{"GET /": 1, "GET /same": 1})
}

func TestKeepAliveAndFreshUsers(t *testing.T) {
	srv := newAsked(t, func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "c", Value: "1"})
	})
	sampler := `<HTTPSamplerProxy>` + prop("HTTPSampler.use_keepalive", "false") + `</HTTPSamplerProxy><hashTree/>`
	if r := runJMX(t, jmx(threads(1, 3, sampler)), nil, Options{Target: srv.URL}); r.Latency.Connect.Count != 3 || r.Failed != 0 {
		t.Errorf("without keep-alive: %d connections for 3 requests", r.Latency.Connect.Count)
	}
	cookies := func(each string) string {
		return `<CookieManager><collectionProp name="CookieManager.cookies"><elementProp name="own">` + prop("Cookie.value", "o") + prop("Cookie.domain", "127.0.0.1") + `</elementProp></collectionProp>` +
			prop("CookieManager.clearEachIteration", each) + `</CookieManager><hashTree/>`
	}
	for each, want := range map[string]map[string]int{
		"false": {"GET / [own=o]": 1, "GET / [own=o; c=1]": 2},
		"true":  {"GET / [own=o]": 3},
	} {
		clear(srv.seen)
		runJMX(t, jmx(threads(1, 3, cookies(each)+get("/", ""))), nil, Options{Target: srv.URL})
		srv.want(t, want)
	}
	fresh := strings.Replace(threads(1, 3, get("/", "")), "<elementProp", prop("ThreadGroup.same_user_on_next_iteration", "false")+"<elementProp", 1)
	if r := runJMX(t, jmx(fresh), nil, Options{Target: srv.URL}); r.Latency.Connect.Count != 3 {
		t.Errorf("fresh users: %d connections for 3 loops", r.Latency.Connect.Count)
	}
}

func TestAPlanOfUsersMayArriveAndTheOtherWayRound(t *testing.T) {
	srv := newAsked(t, nil)
	flow := `<OnceOnlyController/><hashTree>` + get("/once", "") + `</hashTree>` + get("/${__threadNum}/${__counter(TRUE)}", "")
	closed, err := readJMX(t, jmx(threads(3, 2, flow)), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, closed.WithPhases(plan.Phase{Count: 2, HasCount: true, Duration: 20 * time.Millisecond}), Options{Target: srv.URL, MaxLate: time.Minute})
	srv.want(t, map[string]int{"GET /once": 2, "GET /1/1": 1, "GET /2/1": 1})
	if r.Model != report.ModelOpen {
		t.Errorf("the model is %s", r.Model)
	}
	clear(srv.seen)
	open, err := readJMX(t, jmx(`<OpenModelThreadGroup testname="G">`+prop("OpenModelThreadGroup.schedule", "rate(9/s) even_arrivals(9 s)")+`</OpenModelThreadGroup><hashTree>`+flow+`</hashTree>`), nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := open.WithUsers(plan.Closed{Users: 2, Loops: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r := run(t, back, Options{Target: srv.URL, MaxLate: time.Minute}); r.Model != report.ModelClosed {
		t.Errorf("the model is %s", r.Model)
	}
	srv.want(t, map[string]int{"GET /once": 2, "GET /1/1": 1, "GET /1/2": 1, "GET /2/1": 1, "GET /2/2": 1})
}

// TestARequestThatClosesItsConnectionIsItsLast: a server that is told to close does so,
// whether its response says so too or not, and a POST could not be sent again.
func TestARequestThatClosesItsConnectionIsItsLast(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served atomic.Int64
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(c))
			if err == nil && r.Close {
				served.Add(1)
				fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
			}
			_ = c.Close()
		}
	})
	defer serving.Wait()
	defer l.Close()
	send := `<HTTPSamplerProxy>` + prop("HTTPSampler.path", "/q") + prop("HTTPSampler.method", "POST") + `</HTTPSamplerProxy><hashTree/>`
	r := runJMX(t, jmx(threads(1, 3, send+send)), nil, Options{Target: "http://" + l.Addr().String()})
	if r.Failed != 0 || served.Load() != 6 {
		t.Errorf("%d failed of %d: %v, %d served", r.Failed, r.Requests, r.Errors, served.Load())
	}
}
